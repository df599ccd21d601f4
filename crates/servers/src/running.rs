//! Starting a server, knowing that it is ready, and ending it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anchorite_model::Product;

use crate::family::{self, Launch, Plan};
use crate::folder::OwnedFolder;
use crate::install::{Installation, Runs};
use crate::kept::Kept;
use crate::port::{self, Listener};
use crate::process::Watch;
use crate::source::container::{self, Container};
use crate::user::OtherUser;
use crate::{Error, Progress, Request, cache, copy, limits, obtain, owner, place, template, tool};

/// Lines of a log that an error message shows.
const LOG_LINES: usize = 15;
/// The file that takes what the server prints.
const LOG: &str = "log";

/// How to reach a server. There is no password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The product.
    pub product: Product,
    /// The address: always loopback.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The account with all rights.
    pub user: String,
    /// The Unix socket, if the server has one that we can reach.
    pub socket: Option<PathBuf>,
    /// The server's log. For TiDB the debug log, whose "blocked by" lines tell who waits for whom; it is
    /// rotated by renaming.
    pub log: Option<PathBuf>,
}

impl Endpoint {
    /// The address as a target.
    pub fn url(&self) -> String {
        format!("{}://{}@{}:{}", self.product, self.user, self.host, self.port)
    }
}

/// Asks whether a server is ready: its version, or why not. Called again and again until it says yes, so an
/// attempt should fail soon rather than wait long.
pub type Ready<'a> = dyn Fn(&Endpoint) -> Result<String, String> + 'a;

/// How a server is to be started.
pub struct Options<'a> {
    /// Further arguments of the server program, after ours.
    pub extra_args: Vec<String>,
    /// Asks whether it is ready.
    pub ready: &'a Ready<'a>,
    /// Hears what is going on.
    pub progress: &'a dyn Progress,
}

/// A throw-away server. It ends, and its folder goes, with this value.
#[derive(Debug)]
pub struct RunningServer {
    /// How to reach it.
    pub endpoint: Endpoint,
    /// The version, as the readiness check learnt it; where that learnt nothing, as the program says.
    pub version: String,
    /// What was started.
    pub installation: Installation,
    /// The number of the server's process; `None` if a container engine does not tell.
    pub pid: Option<u32>,
    life: Life,
    folder: OwnedFolder,
}

/// What shows whether the server lives.
#[derive(Debug)]
enum Life {
    Process { group: u32, watch: Watch },
    Container(Container),
}

impl Life {
    fn ended_within(&self, limit: std::time::Duration) -> bool {
        match self {
            Self::Process { watch, .. } => watch.ended_within(limit),
            Self::Container(container) => !container.runs(),
        }
    }

    /// Who listens on the port. A container's port is held by the engine, which has told us of a clash.
    fn listener(&self, port: u16) -> Listener {
        match self {
            Self::Process { group, .. } => port::listener(port, *group),
            Self::Container(_) => Listener::Ours,
        }
    }
}

impl RunningServer {
    /// The address as a target.
    pub fn url(&self) -> String {
        self.endpoint.url()
    }

    /// The folder with its data and log.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        log_tail(&self.life, self.folder.path(), self.endpoint.log.as_deref())
    }

    /// Waits until the server has ended by itself or by [`crate::stop_all`]; false if the limit came first.
    pub fn ended_within(&self, limit: std::time::Duration) -> bool {
        self.life.ended_within(limit)
    }

    /// Whether [`crate::stop_all`] ended it, as opposed to an end of its own.
    pub fn was_stopped(&self) -> bool {
        self.folder.has_ended()
    }

    /// Ends the server and removes its folder. Dropping the value does the same.
    pub fn stop(self) {
        self.folder.end();
    }
}

/// Finds or fetches a server and starts it.
pub fn start(request: &Request, options: &Options<'_>) -> Result<RunningServer, Error> {
    start_with(request, options, false)
}

/// Like [`start`], but the server outlives this process until [`crate::stop_kept`] stops it.
pub fn keep(request: &Request, options: &Options<'_>) -> Result<Kept, Error> {
    let server = start_with(request, options, true)?;
    let kept = Kept::record(request, &server)?;
    server.folder.release();
    Ok(kept)
}

fn start_with(
    request: &Request,
    options: &Options<'_>,
    keep: bool,
) -> Result<RunningServer, Error> {
    let installation = obtain(request, options.progress)?;
    for parent in place::all_parents() {
        owner::sweep(&parent);
    }
    let parent = place::parent();
    let folder =
        if keep { OwnedFolder::create_kept(&parent)? } else { OwnedFolder::create(&parent)? };
    let starter = Starter { installation: &installation, folder: &folder, options, keep };
    let (endpoint, version, life) = starter.start()?;
    let pid = match &life {
        Life::Process { group, .. } => Some(*group),
        Life::Container(container) => container.pid(),
    };
    Ok(RunningServer { endpoint, version, installation, pid, life, folder })
}

/// One attempt's result.
enum Attempt {
    Ready(String),
    PortTaken,
    Failed(String),
}

struct Starter<'a> {
    installation: &'a Installation,
    folder: &'a OwnedFolder,
    options: &'a Options<'a>,
    keep: bool,
}

impl Starter<'_> {
    fn start(&self) -> Result<(Endpoint, String, Life), Error> {
        if let Runs::Program(program) = &self.installation.runs {
            self.prepare(program)?;
        }
        let Installation { product, version, .. } = self.installation;
        self.options.progress.step(&format!("starting {product} {version}"));
        let mut failure = String::new();
        for _ in 0..limits::PORT_TRIES {
            let port = port::free().map_err(Error::io("find a port for", self.folder.path()))?;
            let (endpoint, life) = match &self.installation.runs {
                Runs::Program(program) => self.run_program(program, port)?,
                Runs::Image { engine, image } => self.run_image(engine, image, port)?,
            };
            match self.wait_until_ready(&endpoint, &life)? {
                Attempt::Ready(answer) => {
                    let version = if answer.is_empty() { version.clone() } else { answer };
                    return Ok((endpoint, version, life));
                }
                Attempt::PortTaken => {
                    failure = format!("somebody else took port {port}");
                    if let Life::Process { group, .. } = life {
                        self.folder.end_process(group);
                    }
                }
                Attempt::Failed(reason) => {
                    return Err(Error::Start {
                        server: format!("{product} {version}"),
                        reason,
                        log: log_tail(&life, self.folder.path(), endpoint.log.as_deref()),
                    });
                }
            }
        }
        let server = format!("{product} {version}");
        Err(Error::Start { server, reason: failure, log: String::new() })
    }

    fn plan<'p>(&'p self, program: &'p Path) -> Plan<'p> {
        let Installation { product, version, .. } = self.installation;
        let as_root =
            rustix::process::geteuid().is_root() && family::other_user(*product).is_none();
        Plan { program, version, folder: self.folder.path(), as_root }
    }

    /// Makes the folders and the initial data.
    fn prepare(&self, program: &Path) -> Result<(), Error> {
        let plan = self.plan(program);
        let product = self.installation.product;
        let user = family::other_user(product);
        let run = plan.run();
        for folder in [run.clone(), run.join("tmp"), run.join("files")] {
            fs::create_dir(&folder).map_err(Error::io("create", &folder))?;
            copy::give(&folder, user).map_err(Error::io("hand over", &folder))?;
        }
        let key = template::key(self.installation);
        let steps = family::init(product, &plan);
        let template = match key.filter(|_| !steps.is_empty()) {
            Some(key) => Some((cache::Cache::of(product)?, key)),
            None => None,
        };
        if let Some((cache, key)) = &template
            && template::take(cache, key, &plan.data(), user)?
        {
            return Ok(());
        }
        self.options.progress.step(&format!("initialising {product} {}", plan.version));
        fs::create_dir(plan.data()).map_err(Error::io("create", &plan.data()))?;
        copy::give(&plan.data(), user).map_err(Error::io("hand over", &plan.data()))?;
        for step in steps {
            self.initialise(step, &plan, user)?;
        }
        match &template {
            Some((cache, key)) => template::save(cache, key, &plan.data(), self.options.progress),
            None => Ok(()),
        }
    }

    fn initialise(
        &self,
        step: family::InitStep,
        plan: &Plan<'_>,
        user: Option<OtherUser>,
    ) -> Result<(), Error> {
        let mut command = Command::new(&step.program);
        command.args(&step.args).envs(step.env).current_dir(plan.run());
        run_as(&mut command, user);
        let input = self.folder.path().join("input");
        if step.input.is_empty() {
            tool::feed(&mut command, None)?;
        } else {
            let mut text = Vec::new();
            for piece in &step.input {
                match piece {
                    family::Piece::Text(piece) => text.extend_from_slice(piece.as_bytes()),
                    family::Piece::File(file) => {
                        text.extend(fs::read(file).map_err(Error::io("read", file))?);
                    }
                }
                text.push(b'\n');
            }
            fs::write(&input, text).map_err(Error::io("write", &input))?;
            tool::feed(&mut command, Some(&input))?;
        }
        let what = format!("initialising with {}", step.program.display());
        tool::run(self.folder, command, &what, limits::INITIALISE, self.options.progress)
    }

    fn run_program(&self, program: &Path, port: u16) -> Result<(Endpoint, Life), Error> {
        let plan = self.plan(program);
        let product = self.installation.product;
        let Launch { args, env, files, socket, log } = family::launch(product, &plan, port);
        for (path, text) in files {
            fs::write(&path, text).map_err(Error::io("write", &path))?;
        }
        let output = self.folder.path().join(LOG);
        let writer = File::create(&output).map_err(Error::io("create", &output))?;
        let second = writer.try_clone().map_err(Error::io("write", &output))?;
        let mut command = Command::new(program);
        command.args(args).args(&self.options.extra_args).envs(env).current_dir(plan.run());
        command.stdin(Stdio::null()).stdout(writer).stderr(second);
        run_as(&mut command, family::other_user(product));
        let polite = family::polite_signal(product);
        let spawned = match self.keep {
            true => self.folder.spawn_detached(command, polite)?,
            false => self.folder.spawn(command, polite)?,
        };
        let endpoint = self.endpoint(port, socket, Some(log.unwrap_or(output)));
        Ok((endpoint, Life::Process { group: spawned.pid, watch: spawned.watch }))
    }

    fn run_image(&self, engine: &Path, image: &str, port: u16) -> Result<(Endpoint, Life), Error> {
        let Installation { product, version, .. } = self.installation;
        let Options { extra_args, progress, .. } = self.options;
        let what = (*product, version.as_str());
        let container =
            container::start(self.folder, what, (engine, image), port, extra_args, *progress)?;
        Ok((self.endpoint(port, None, None), Life::Container(container)))
    }

    fn endpoint(&self, port: u16, socket: Option<PathBuf>, log: Option<PathBuf>) -> Endpoint {
        let product = self.installation.product;
        let user = family::login(product).to_owned();
        Endpoint { product, host: "127.0.0.1".to_owned(), port, user, socket, log }
    }

    fn wait_until_ready(&self, endpoint: &Endpoint, life: &Life) -> Result<Attempt, Error> {
        let start = Instant::now();
        let mut answer = "it does not listen".to_owned();
        while start.elapsed() < limits::READY {
            let ended = life.ended_within(limits::READY_SLICE);
            if self.folder.has_ended() {
                return Err(Error::Interrupted);
            }
            let listener = life.listener(endpoint.port);
            if listener == Listener::Stranger {
                return Ok(Attempt::PortTaken);
            }
            if ended {
                return Ok(Attempt::Failed("it ended by itself".to_owned()));
            }
            if listener == Listener::Ours {
                match (self.options.ready)(endpoint) {
                    Ok(version) => return Ok(Attempt::Ready(version)),
                    Err(reason) => answer = reason,
                }
            }
        }
        let limit = limits::READY.as_secs();
        Ok(Attempt::Failed(format!("it was not ready within {limit} s: {answer}")))
    }
}

fn run_as(command: &mut Command, user: Option<OtherUser>) {
    use std::os::unix::process::CommandExt;
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
}

/// The last lines of what the server printed; if it printed nothing, of the log that it wrote.
fn log_tail(life: &Life, folder: &Path, own_log: Option<&Path>) -> String {
    if let Life::Container(container) = life {
        return container.log();
    }
    let read = |path: &Path| {
        let text = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let mut lines = read(&folder.join(LOG));
    if lines.is_empty() {
        lines = own_log.map(read).unwrap_or_default();
    }
    let from = lines.len().saturating_sub(LOG_LINES);
    if lines.is_empty() {
        "its log is empty".to_owned()
    } else {
        format!("the last lines of its log:\n  {}", lines[from..].join("\n  "))
    }
}
