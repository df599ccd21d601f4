//! What every test needs: the servers, a schema of its own on each, and sessions in it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anchorite_drivers::endpoint::Endpoint;
use anchorite_drivers::mysql_family::connect;
use anchorite_drivers::{
    Reply, Schema, Session, SessionOptions, Target, Wait, Watcher, execute, wait_readable,
};
use anchorite_model::{Answer, DbError, Level, Product};

/// How long anything may take that is expected to happen.
pub const LIMIT: Duration = Duration::from_secs(20);
/// How long a lock may be waited for, unless a test says otherwise.
const LOCK_WAIT: Duration = Duration::from_secs(100);

/// One server with a fresh schema.
pub struct Bed {
    pub target: Box<dyn Target>,
    pub schema: Box<dyn Schema>,
}

/// Runs the test on every server, one test at a time: some of them stop the whole server's writes.
pub fn on_each_server(test: impl Fn(&Bed)) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for url in server_urls() {
        let target = open_target(&url);
        let schema = target.create_schema().unwrap_or_else(|error| panic!("{error}"));
        test(&Bed { target, schema });
    }
}

/// The same for tests that have to ask who waits for whom.
#[allow(clippy::print_stderr)]
pub fn on_each_server_that_can_be_asked(test: impl Fn(&Bed)) {
    on_each_server(|bed| match bed.schema.watcher() {
        Ok(_) => test(bed),
        Err(error) => eprintln!("skipped: {error}"),
    });
}

/// The URLs of the servers to test with.
#[allow(clippy::print_stderr)]
pub fn server_urls() -> Vec<String> {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    let urls: Vec<_> = urls
        .split_whitespace()
        .filter(|url| ["mysql:", "mariadb:", "tidb:"].iter().any(|scheme| url.starts_with(scheme)))
        .map(str::to_owned)
        .collect();
    if urls.is_empty() {
        eprintln!("skipped: ANCHORITE_TEST_URLS names no server of the MySQL family");
    }
    urls
}

pub fn endpoint(url: &str) -> Endpoint {
    Endpoint::parse(url).unwrap_or_else(|error| panic!("{error}"))
}

pub fn open_target(url: &str) -> Box<dyn Target> {
    connect(&endpoint(url)).unwrap_or_else(|error| panic!("{error}"))
}

impl Bed {
    pub fn product(&self) -> Product {
        self.target.info().product
    }

    pub fn is(&self, product: Product) -> bool {
        self.product() == product
    }

    /// The first number of the version: 5, 8, 9, 10, 11.
    pub fn major(&self) -> u32 {
        let version = &self.target.info().version;
        version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0)
    }

    pub fn session(&self) -> Box<dyn Session> {
        self.session_at(None)
    }

    pub fn session_at(&self, level: Option<Level>) -> Box<dyn Session> {
        self.session_with(level, LOCK_WAIT)
    }

    pub fn session_with(&self, level: Option<Level>, lock_wait: Duration) -> Box<dyn Session> {
        let options = SessionOptions { name: "t".to_owned(), level, lock_wait };
        self.schema.open(&options).unwrap_or_else(|error| panic!("{error}")).session
    }

    pub fn watcher(&self) -> Box<dyn Watcher> {
        self.schema.watcher().unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Executes a statement that succeeds.
pub fn run(session: &mut dyn Session, sql: &str) -> Answer {
    execute(session, sql, LIMIT).unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

pub fn run_all(session: &mut dyn Session, statements: &[&str]) {
    for sql in statements {
        run(session, sql);
    }
}

/// Executes a statement that fails.
pub fn fail(session: &mut dyn Session, sql: &str) -> DbError {
    match execute(session, sql, LIMIT) {
        Ok(answer) => panic!("{sql} succeeded: {answer:?}"),
        Err(error) => error,
    }
}

/// Waits for the answer of a submitted statement.
pub fn answer_of(session: &mut dyn Session) -> Reply {
    let start = Instant::now();
    loop {
        if let Some(reply) = session.poll() {
            return reply;
        }
        assert!(start.elapsed() < LIMIT, "no answer");
        wait_readable(&[session.fd().expect("a socket")], LIMIT);
    }
}

/// Asks until the session is seen waiting; `others` are the other sessions of the test.
pub fn wait_of(watcher: &mut dyn Watcher, session: &mut dyn Session, others: &[u64]) -> Wait {
    let start = Instant::now();
    let all = [&[session.id()], others].concat();
    loop {
        assert_eq!(session.poll(), None, "answered instead of waiting");
        assert!(start.elapsed() < LIMIT, "never seen waiting");
        let waits = watcher.waits(&[session.id()], &all).unwrap_or_else(|error| panic!("{error}"));
        if let Some(wait) = waits.into_iter().next() {
            assert_eq!(wait.waiter, session.id());
            return wait;
        }
    }
}
