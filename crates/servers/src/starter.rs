//! Starting a server: folders, initial data, the process, and the wait until it is ready.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::family::{self, Launch, ServerFiles};
use crate::folder::OwnedFolder;
use crate::install::{Installation, Runs};
use crate::life::{LOG, Life};
use crate::port::Listener;
use crate::source::container;
use crate::user::OtherUser;
use crate::{Endpoint, Error, Options, cache, copy, limits, template, tool, work};

/// One attempt's result.
enum Attempt {
    Ready(String),
    PortTaken,
    Failed(String),
}

/// Everything needed for one start.
pub(crate) struct Starter<'a> {
    /// What to start.
    pub installation: &'a Installation,
    /// Where.
    pub folder: &'a OwnedFolder,
    /// How.
    pub options: &'a Options<'a>,
    /// Whether the server is to outlive us.
    pub keep: bool,
    /// Proposes a port for each attempt.
    pub next_port: &'a dyn Fn() -> io::Result<u16>,
}

impl Starter<'_> {
    /// Prepares the data and starts the server, on another port if the first one was taken.
    pub(crate) fn start(&self) -> Result<(Endpoint, String, Life), Error> {
        if let Runs::Program(program) = &self.installation.runs {
            self.prepare(program)?;
        }
        let Installation { product, version, .. } = self.installation;
        self.options.progress.step(&format!("starting {product} {version}"));
        self.run()
    }

    /// Starts the server, without preparing anything: on another port if the first one was taken.
    pub(crate) fn run(&self) -> Result<(Endpoint, String, Life), Error> {
        let Installation { product, version, .. } = self.installation;
        let mut failure = String::new();
        for _ in 0..limits::PORT_TRIES {
            let port =
                (self.next_port)().map_err(Error::io("find a port for", self.folder.path()))?;
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
                    failure = format!("another process took port {port}");
                    if let Life::Process { group, .. } = life {
                        self.folder.end_process(group);
                    }
                }
                Attempt::Failed(reason) => {
                    return Err(Error::Start {
                        server: format!("{product} {version}"),
                        reason,
                        log: life.log_tail(self.folder.path(), endpoint.log.as_deref()),
                    });
                }
            }
        }
        let server = format!("{product} {version}");
        Err(Error::Start { server, reason: failure, log: String::new() })
    }

    fn server_files<'p>(&'p self, program: &'p Path) -> ServerFiles<'p> {
        let Installation { product, version, .. } = self.installation;
        let as_root =
            rustix::process::geteuid().is_root() && family::other_user(*product).is_none();
        ServerFiles { program, version, folder: self.folder.path(), as_root }
    }

    /// Makes the folders and the initial data.
    fn prepare(&self, program: &Path) -> Result<(), Error> {
        let server_files = self.server_files(program);
        let product = self.installation.product;
        let user = family::other_user(product);
        let run = server_files.run();
        for folder in [run.clone(), run.join("tmp"), run.join("files")] {
            fs::create_dir(&folder).map_err(Error::io("create", &folder))?;
            copy::give(&folder, user).map_err(Error::io("hand over", &folder))?;
        }
        let key = template::key(self.installation);
        let steps = family::init(product, &server_files);
        let template = match key.filter(|_| !steps.is_empty()) {
            Some(key) => Some((cache::Cache::of(product)?, key)),
            None => None,
        };
        if let Some((cache, key)) = &template
            && template::take(cache, key, &server_files.data(), user)?
        {
            return Ok(());
        }
        if !steps.is_empty() {
            self.options.progress.step(&format!("initialising {product} {}", server_files.version));
        }
        fs::create_dir(server_files.data()).map_err(Error::io("create", &server_files.data()))?;
        copy::give(&server_files.data(), user)
            .map_err(Error::io("hand over", &server_files.data()))?;
        for step in steps {
            self.initialise(step, &server_files, user)?;
        }
        match &template {
            Some((cache, key)) => {
                template::save(cache, key, &server_files.data(), self.options.progress)
            }
            None => Ok(()),
        }
    }

    fn initialise(
        &self,
        step: family::InitStep,
        server_files: &ServerFiles<'_>,
        user: Option<OtherUser>,
    ) -> Result<(), Error> {
        let mut command = Command::new(&step.program);
        command.args(&step.args).envs(step.env).current_dir(server_files.run());
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
        work::run(self.folder, command, &what, limits::INITIALISE, self.options.progress)
    }

    fn run_program(&self, program: &Path, port: u16) -> Result<(Endpoint, Life), Error> {
        let server_files = self.server_files(program);
        let product = self.installation.product;
        let Launch { args, env, files, socket, log } = family::launch(product, &server_files, port);
        for (path, text) in files {
            fs::write(&path, text).map_err(Error::io("write", &path))?;
        }
        let output = self.folder.path().join(LOG);
        // What a server said before it was killed stays.
        let writer = File::options().create(true).append(true).open(&output);
        let writer = writer.map_err(Error::io("create", &output))?;
        let second = writer.try_clone().map_err(Error::io("write", &output))?;
        let mut command = Command::new(program);
        command.args(args).args(&self.options.extra_args).envs(env).current_dir(server_files.run());
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
        let watch = self.folder.spawn(container.waiting(), None)?.watch;
        Ok((self.endpoint(port, None, None), Life::Container { container, watch }))
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
                return Ok(Attempt::Failed("it exited by itself".to_owned()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::Source;
    use crate::source::testing::write_script;
    use crate::{Silent, handshake, port};
    use anchorite_model::Product;
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpListener};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Tells the pretended server its port.
    const PORT: &str = "ANCHORITE_TEST_PORT";

    /// A script that becomes the pretended server below.
    fn greeting_script() -> String {
        let us = std::env::current_exe().unwrap();
        format!(
            "#!/bin/sh\nfor arg; do case $arg in --initialize*) exit;; \
             --port=*) export {PORT}=${{arg#--port=}};; esac; done\n\
             exec '{}' --exact starter::tests::pretended_server --nocapture\n",
            us.display()
        )
    }

    /// Not a test by itself: greets like MySQL when the script above has started it.
    #[test]
    fn pretended_server() {
        let Ok(port) = std::env::var(PORT) else { return };
        let Ok(socket) = TcpListener::bind((Ipv4Addr::LOCALHOST, port.parse().unwrap())) else {
            return;
        };
        for mut client in socket.incoming().flatten() {
            let _ = client.write_all(b"\x09\0\0\0\x0a9.7.4-x\0");
        }
    }

    fn installation(program: &Path) -> Installation {
        Installation {
            product: Product::named("mysql"),
            version: "9.7.4".to_owned(),
            source: Source::Binary,
            runs: Runs::Program(program.to_owned()),
        }
    }

    fn try_start(
        script: &str,
        next_port: &dyn Fn() -> io::Result<u16>,
    ) -> Result<(Endpoint, String), Error> {
        let parent = tempfile::tempdir().unwrap();
        let program = parent.path().join("server");
        write_script(&program, script);
        let folder = OwnedFolder::create(parent.path()).unwrap();
        let options =
            Options { extra_args: Vec::new(), ready: &handshake::greets, progress: &Silent };
        let installation = installation(&program);
        let starter = Starter {
            installation: &installation,
            folder: &folder,
            options: &options,
            keep: false,
            next_port,
        };
        starter.start().map(|(endpoint, version, _)| (endpoint, version))
    }

    #[test]
    fn a_port_that_somebody_else_took_is_given_up() {
        let stranger = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let taken = stranger.local_addr().unwrap().port();
        let asked = AtomicUsize::new(0);
        let next_port = || match asked.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(taken),
            _ => port::free(),
        };
        let (endpoint, version) = try_start(&greeting_script(), &next_port).unwrap();
        assert_ne!(endpoint.port, taken);
        assert_eq!((version.as_str(), asked.into_inner()), ("9.7.4-x", 2));
    }

    #[test]
    fn when_every_port_is_taken_the_error_says_so() {
        let stranger = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let taken = stranger.local_addr().unwrap().port();
        let script = "#!/bin/sh\ncase \"$*\" in *--initialize*) exit;; esac\nexec sleep 600\n";
        let error = try_start(script, &|| Ok(taken)).unwrap_err().to_string();
        assert!(error.contains(&format!("another process took port {taken}")), "{error}");
    }

    #[test]
    fn a_server_that_dies_shows_its_last_words() {
        let script =
            "#!/bin/sh\ncase \"$*\" in *--initialize*) exit;; esac\necho no room left\nexit 1\n";
        let error = try_start(script, &port::free).unwrap_err().to_string();
        assert!(error.contains("mysql 9.7.4 did not start: it exited by itself"), "{error}");
        assert!(error.contains("\n  no room left"), "{error}");
    }
}
