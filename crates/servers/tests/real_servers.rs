//! Starts real servers and ends them in every way that there is.
//!
//! What is installed on this machine is tested; what is not is reported as skipped. The variable
//! `ANCHORITE_TEST_SERVERS` lists servers that this run demands (`mariadb@10.11 mysql@9.7`): they are fetched if
//! necessary, and their absence is a failure.

use std::fs;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anchorite_servers::{
    Error, Options, Request, RunningServer, Silent, Source, handshake, obtain, offers, start,
    stop_all,
};

/// For a process that was killed to vanish from `/proc`.
const GONE: Duration = Duration::from_secs(20);

/// Tells the helper process which server to own.
const OWNER: &str = "ANCHORITE_TEST_OWNER";

/// `stop_all` means all servers of this process, so tests that use it must not run beside others.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// The servers to test: what is demanded and what is installed.
fn servers() -> Vec<Request> {
    let demanded = std::env::var("ANCHORITE_TEST_SERVERS").unwrap_or_default();
    let mut requests: Vec<Request> =
        demanded.split_whitespace().map(|text| text.parse().expect("a server name")).collect();
    let installed = offers().expect("offers can be listed");
    for product in ["mariadb", "postgres"] {
        let wanted: Request = product.parse().expect("a product");
        let known = requests.iter().any(|request| request.product == wanted.product);
        let here = installed
            .iter()
            .any(|offer| offer.source == Source::Path && offer.target.starts_with(product));
        if here && !known {
            requests.push(wanted);
        } else if !known {
            skipped(product);
        }
    }
    requests
}

#[expect(clippy::print_stderr, reason = "a test that does nothing must say so")]
fn skipped(what: &str) {
    eprintln!("skipped: no {what} is installed, and ANCHORITE_TEST_SERVERS does not demand it");
}

fn start_with(request: &Request, extra: &[&str]) -> Result<RunningServer, Error> {
    let extra_args = extra.iter().map(|arg| (*arg).to_owned()).collect();
    start(request, &Options { extra_args, ready: &handshake::greets, progress: &Silent })
}

fn started(request: &Request) -> RunningServer {
    start_with(request, &[]).unwrap_or_else(|error| panic!("{request}: {error}"))
}

fn is_gone(pid: u32, folder: &Path) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let dead = stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'));
    dead && !folder.exists()
}

/// The number of the server's process and its folder.
fn traces(server: &RunningServer) -> (u32, PathBuf) {
    (server.pid.expect("a process"), server.folder().to_owned())
}

#[test]
fn servers_start_answer_and_vanish() {
    let _alone = alone();
    for request in servers() {
        let server = started(&request);
        let (pid, folder) = traces(&server);
        assert!(folder.exists());
        assert!(!server.ended_within(Duration::ZERO));
        let version = handshake::greets(&server.endpoint).expect("it still answers");
        assert_eq!(version, server.version, "{request}");
        // An engine is not in the scheme: `mariadb:rocksdb` is at `mariadb://…?engine=rocksdb`.
        let scheme = request.product.name().split(':').next().expect("a name");
        assert!(server.url().starts_with(&format!("{scheme}://")));
        assert!(server.endpoint.log.as_ref().is_some_and(|log| log.exists()), "{request}");
        if let Some(socket) = &server.endpoint.socket {
            assert!(socket.exists(), "{request}: {}", socket.display());
        }
        server.stop();
        assert!(is_gone(pid, &folder), "{request} is still there");
    }
}

#[test]
fn two_servers_run_side_by_side() {
    let _alone = alone();
    for request in servers() {
        let (one, other) = (started(&request), started(&request));
        assert_ne!(one.endpoint.port, other.endpoint.port);
        assert_ne!(one.folder(), other.folder());
        for server in [&one, &other] {
            handshake::greets(&server.endpoint).expect("both answer");
        }
    }
}

#[test]
fn a_panic_leaves_nothing() {
    let _alone = alone();
    for request in servers() {
        let mut left = None;
        let result = catch_unwind(AssertUnwindSafe(|| {
            let server = started(&request);
            left = Some(traces(&server));
            panic!("on purpose");
        }));
        assert!(result.is_err());
        let (pid, folder) = left.expect("it was started");
        assert!(is_gone(pid, &folder), "{request} is still there");
    }
}

#[test]
fn stop_all_leaves_nothing() {
    let _alone = alone();
    let running: Vec<RunningServer> = servers().iter().map(started).collect();
    stop_all();
    for server in &running {
        let (pid, folder) = traces(server);
        assert!(server.was_stopped() && server.ended_within(Duration::ZERO));
        assert!(is_gone(pid, &folder), "{} is still there", server.url());
    }
}

#[test]
fn a_bad_argument_is_an_error_with_the_servers_own_words() {
    let _alone = alone();
    for request in servers() {
        let error = start_with(&request, &["--no-such-option=1"]).expect_err("it cannot start");
        let text = error.to_string();
        assert!(text.contains("did not start: it exited by itself"), "{request}: {text}");
        // All of them spell the name of the option in the complaint, some with other dashes.
        let complaint = text.replace('_', "-");
        assert!(complaint.contains("no-such-option"), "{request}: {text}");
    }
}

#[test]
fn a_program_of_another_version_is_refused() {
    for request in servers() {
        let installation = obtain(&request, &Silent).expect("it was just used");
        let anchorite_servers::Runs::Program(program) = installation.runs else { continue };
        let wrong = Request { version: Some("1.2".to_owned()), binary: Some(program), ..request };
        let error = obtain(&wrong, &Silent).expect_err("it is not 1.2");
        assert!(error.is_usage() && error.to_string().contains("not 1.2"), "{error}");
    }
}

/// Not a test by itself: what the next one starts as a process of its own.
#[test]
#[expect(clippy::print_stdout, reason = "the other process reads it")]
fn owner_process() {
    let Ok(text) = std::env::var(OWNER) else { return };
    let server = started(&text.parse().expect("a server name"));
    let (pid, folder) = traces(&server);
    println!("\nowns {pid} {}", folder.display());
    while !server.ended_within(GONE) {}
}

#[test]
fn killing_the_owner_leaves_no_server_and_the_next_start_removes_the_folder() {
    let _alone = alone();
    for request in servers() {
        let mut owner = Command::new(std::env::current_exe().expect("our own program"))
            .args(["--exact", "owner_process", "--nocapture"])
            .env(OWNER, request.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the owner starts");
        let output = BufReader::new(owner.stdout.take().expect("a pipe"));
        let lines = output.lines().map_while(Result::ok);
        let line = lines.into_iter().find(|line| line.starts_with("owns ")).expect("it started");
        let words: Vec<&str> = line.split_whitespace().collect();
        let (pid, folder) = (words[1].parse().expect("a number"), PathBuf::from(words[2]));
        owner.kill().expect("it is alive");
        owner.wait().expect("it is ours");
        let start = Instant::now();
        while !is_gone(pid, Path::new("/no/such/folder")) {
            assert!(start.elapsed() < GONE, "{request} outlived its owner");
            std::thread::yield_now();
        }
        assert!(folder.exists(), "nobody has removed it yet");
        started(&request).stop();
        assert!(!folder.exists(), "the next start removes it");
    }
}

#[test]
fn a_server_that_is_killed_starts_again_where_it_was() {
    let _alone = alone();
    for request in servers() {
        let mut server = started(&request);
        let (pid, folder) = traces(&server);
        let url = server.url();
        drop(server.pause().expect("it can be stopped"));
        handshake::greets(&server.endpoint).expect("it goes on");
        server.kill().expect("it can be killed");
        assert!(server.ended_within(Duration::ZERO), "{request}");
        let options =
            Options { extra_args: Vec::new(), ready: &handshake::greets, progress: &Silent };
        server.start_again(&options).unwrap_or_else(|error| panic!("{request}: {error}"));
        assert_eq!(server.url(), url);
        assert_ne!(server.pid, Some(pid));
        let again = traces(&server).0;
        server.stop();
        assert!(is_gone(again, &folder), "{request} is still there");
    }
}
