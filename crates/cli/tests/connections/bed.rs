//! Private servers for these tests, with certificates where they need some, and the command in clean surroundings.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anchorite_drivers::{SessionOptions, execute, open};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::Value;

/// Longest wait for anything here.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The servers that the test run demands.
#[allow(clippy::print_stdout, reason = "tests tell what they skip")]
pub fn servers() -> Vec<String> {
    let named = std::env::var("ANCHORITE_TEST_SERVERS").unwrap_or_default();
    let known = |name: &&str| ["mariadb", "mysql", "postgres"].iter().any(|p| name.starts_with(p));
    let servers: Vec<String> = named.split_whitespace().filter(known).map(str::to_owned).collect();
    if servers.is_empty() {
        println!("skipped: ANCHORITE_TEST_SERVERS names no server");
    }
    servers
}

/// A server that ends with this value.
pub struct Server {
    /// Its address, with the account that may do everything.
    pub url: String,
    pub product: String,
    folder: PathBuf,
}

impl Server {
    pub fn start(name: &str, arguments: &[String]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
        command.args(["server", "start", name, "--keep", "--format", "json"]);
        arguments.iter().for_each(|argument| _ = command.args(["--arg", argument]));
        let output = command.output().expect("the command starts");
        let told = String::from_utf8_lossy(&output.stderr);
        let document: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{name}: {told}"));
        let running = &document["servers"][0]["running"];
        Self {
            url: running["url"].as_str().expect("a URL").to_owned(),
            product: name.split('@').next().expect("a product").to_owned(),
            folder: PathBuf::from(running["folder"].as_str().expect("a folder")),
        }
    }

    pub fn is_postgres(&self) -> bool {
        self.product == "postgres"
    }

    /// The address for another account, and perhaps another host, with these parameters.
    pub fn url_for(&self, user: &str, host: &str, parameters: &str) -> String {
        let port = self.url.rsplit(':').next().expect("a port");
        format!("{}://{user}@{host}:{port}{parameters}", self.product)
    }

    /// Runs statements with the account that may do everything.
    pub fn execute(&self, statements: &[&str]) {
        for sql in statements {
            ask(&self.url, sql);
        }
    }

    /// Replaces who may come in how, and waits until it holds.
    pub fn set_rules(&self, rules: &str) {
        fs::write(self.folder.join("data/pg_hba.conf"), rules).expect("the rules can be written");
        ask(&self.url, "SELECT pg_reload_conf()");
        let loaded = "SELECT count(*) FROM pg_hba_file_rules WHERE error IS NULL";
        let lines = rules.lines().count().to_string();
        wait_until("the rules hold", || ask(&self.url, loaded).contains(&lines));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let stopped = Command::new(env!("CARGO_BIN_EXE_anchorite"))
            .args(["server", "stop", &self.url])
            .output();
        assert!(
            stopped.is_ok_and(|output| output.status.success()),
            "{} was not stopped",
            self.url
        );
    }
}

/// The answer of a statement, as text.
pub fn ask(url: &str, sql: &str) -> String {
    let target = open(url).unwrap_or_else(|error| panic!("{error}"));
    let schema = target.create_schema().unwrap_or_else(|error| panic!("{error}"));
    let options = SessionOptions { name: "test".into(), level: None, lock_wait: LIMIT };
    let mut session = schema.open(&options).unwrap_or_else(|error| panic!("{error}")).session;
    let reply = execute(session.as_mut(), sql, LIMIT);
    let answer = reply.unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    format!("{:?}", answer.results.first().map(|rows| &rows.rows))
}

/// Asks again and again; the condition itself waits for an answer.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LIMIT, "waited too long until {what}");
    }
}

/// A CA, another one, and a server's certificate for 127.0.0.1 of the first.
pub struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    pub fn make() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // The server may run as somebody else.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
        let made = Self { folder };
        let [ours, _] = ["ca", "other"].map(|name| made.make_ca(name));
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
        let certificate = params.signed_by(&key, &ours).expect("a certificate");
        made.write("server.pem", &certificate.pem());
        made.write("server.key", &key.serialize_pem());
        made
    }

    fn make_ca(&self, name: &str) -> Issuer<'static, KeyPair> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        self.write(&format!("{name}.pem"), &certificate.pem());
        Issuer::new(params, key)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).expect("it can be written");
    }

    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// A server that refuses connections without TLS.
    pub fn demanding_server(&self, name: &str) -> Server {
        if !name.starts_with("postgres") {
            let file = |option: &str, file| format!("--ssl-{option}={}", self.path(file));
            let files = [("ca", "ca.pem"), ("cert", "server.pem"), ("key", "server.key")];
            let mut arguments: Vec<String> = files.map(|(option, name)| file(option, name)).into();
            arguments.push("--require-secure-transport=ON".to_owned());
            return Server::start(name, &arguments);
        }
        let server = Server::start(name, &[]);
        let data = server.folder.join("data");
        let owner = fs::metadata(&data).expect("the data are there");
        for file in ["server.pem", "server.key"] {
            let copy = data.join(file);
            fs::copy(self.path(file), &copy).expect("it can be copied");
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).expect("it is ours");
            chown(&copy, Some(owner.uid()), Some(owner.gid())).expect("it can be handed over");
        }
        server.execute(&[
            "ALTER SYSTEM SET ssl_cert_file = 'server.pem'",
            "ALTER SYSTEM SET ssl_key_file = 'server.key'",
            "ALTER SYSTEM SET ssl = on",
        ]);
        // Both are read at once; nobody can come in without TLS from then on, not even through the Unix socket.
        server.set_rules(
            "hostssl all tester 127.0.0.1/32 scram-sha-256\nhostssl all all 127.0.0.1/32 trust\n",
        );
        server
    }
}

/// The command with nothing in its surroundings that it could take a password from.
pub fn anchorite(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    let ours = |name: &str| name.starts_with("PG") || name == "MYSQL_PWD";
    let inherited = std::env::vars_os().map(|(name, _)| name);
    inherited
        .filter(|name| ours(&name.to_string_lossy()))
        .for_each(|name| _ = command.env_remove(name));
    command.env("HOME", home).args(arguments);
    command
}

/// What a command printed, both ways.
pub fn words(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// Whether a text contains these words, wherever its lines break.
pub fn says(text: &str, words: &str) -> bool {
    text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words)
}

/// The document that a command printed, if it ended well.
pub fn document(command: &mut Command, codes: &[i32]) -> Value {
    let output = command.output().expect("the command starts");
    let code = output.status.code().unwrap_or(-1);
    assert!(codes.contains(&code), "{command:?}: {code}\n{}", words(&output));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}
