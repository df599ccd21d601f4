//! What each vendor's own clients would use from the environment and from files in the home folder.
//!
//! PostgreSQL and CockroachDB, as libpq does: `PGPASSWORD`, else the matching line of `PGPASSFILE` or `~/.pgpass`;
//! `PGUSER`; `PGSSLMODE`, `PGSSLROOTCERT`, `PGSSLCERT`, `PGSSLKEY`; for verifying also `~/.postgresql/root.crt`. MySQL,
//! MariaDB and TiDB, as their clients do: `~/.my.cnf` first, then `MYSQL_PWD` (measured with MariaDB's client: the file
//! wins). A file that others could read (PostgreSQL) or change (MySQL) is ignored with a warning, as by those clients.
//! The URL always takes precedence.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use anchorite_drivers::endpoint::Endpoint;
use anchorite_drivers::login::{my_cnf, pgpass};
use anchorite_drivers::tls::SslMode;
use anchorite_model::Product;

use crate::exit::BadInput;

/// Permissions of group and others.
const OTHERS: u32 = 0o077;
/// Others may write.
const WORLD_WRITABLE: u32 = 0o002;

/// The parameters that libpq takes from the environment.
const LIBPQ_TLS: [(&str, &str); 4] = [
    ("PGSSLMODE", "sslmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
];

/// Environment variables and the home folder.
pub struct Environment<'a> {
    /// A variable's value; empty ones count as not set.
    variable: &'a dyn Fn(&str) -> Option<OsString>,
    home: Option<PathBuf>,
}

impl Environment<'static> {
    /// Those of this process.
    pub fn of_this_process() -> Self {
        Self { variable: &|name| std::env::var_os(name), home: std::env::home_dir() }
    }
}

impl Environment<'_> {
    /// Adds to an endpoint what its URL leaves out. Remarks are about files that were ignored.
    pub fn complete(&self, endpoint: &mut Endpoint, remark: &dyn Fn(&str)) -> Result<(), BadInput> {
        match endpoint.product() {
            Some(product) if product.descriptor().connection.option_groups.is_empty() => {
                self.libpq(endpoint, remark)
            }
            Some(product) => self.option_file(endpoint, product, remark),
            None => Ok(()),
        }
    }

    fn text(&self, name: &str) -> Result<Option<String>, BadInput> {
        let value = (self.variable)(name).filter(|value| !value.is_empty());
        let text = value.map(OsString::into_string).transpose();
        text.map_err(|_| BadInput(format!("the environment variable {name} is not UTF-8")))
    }

    fn libpq(&self, endpoint: &mut Endpoint, remark: &dyn Fn(&str)) -> Result<(), BadInput> {
        if endpoint.user.is_empty() {
            endpoint.user = self.text("PGUSER")?.unwrap_or_default();
        }
        let mut parameters = Vec::new();
        for (variable, parameter) in LIBPQ_TLS {
            parameters
                .extend(self.text(variable)?.map(|value| (variable, parameter.to_owned(), value)));
        }
        add_tls(endpoint, parameters)?;
        let root = self.home.as_ref().map(|home| home.join(".postgresql/root.crt"));
        if let Some(root) = root.filter(|root| root.exists())
            && endpoint.tls.root.is_none()
            && endpoint.tls.mode >= Some(SslMode::VerifyCa)
        {
            endpoint.tls.root = Some(root);
        }
        if endpoint.password.is_none() {
            endpoint.password = self.text("PGPASSWORD")?;
        }
        if endpoint.password.is_none() {
            let named = (self.variable)("PGPASSFILE").filter(|path| !path.is_empty());
            let usual = || self.home.as_ref().map(|home| home.join(".pgpass"));
            let file = named.map(PathBuf::from).or_else(usual);
            let mut whole = endpoint.clone();
            whole.fill_in();
            let text = file.and_then(|file| read_unless(&file, OTHERS, "read", remark));
            endpoint.password = text.and_then(|text| pgpass::find(&text, &whole));
        }
        Ok(())
    }

    fn option_file(
        &self,
        endpoint: &mut Endpoint,
        product: Product,
        remark: &dyn Fn(&str),
    ) -> Result<(), BadInput> {
        let file = self.home.as_ref().map(|home| home.join(".my.cnf"));
        let text = file.and_then(|file| read_unless(&file, WORLD_WRITABLE, "change", remark));
        let options = my_cnf::read(&text.unwrap_or_default(), product);
        if endpoint.user.is_empty() {
            endpoint.user = options.user.unwrap_or_default();
        }
        endpoint.port = endpoint.port.or(options.port);
        let parameters = options.tls.into_iter().map(|(name, value)| ("~/.my.cnf", name, value));
        add_tls(endpoint, parameters.collect())?;
        if endpoint.password.is_none() {
            endpoint.password = options.password;
        }
        if endpoint.password.is_none() {
            endpoint.password = self.text("MYSQL_PWD")?;
        }
        Ok(())
    }
}

/// Adds TLS settings that are not in the URL. Each parameter is its origin, name and value.
fn add_tls(
    endpoint: &mut Endpoint,
    parameters: Vec<(&str, String, String)>,
) -> Result<(), BadInput> {
    let url = endpoint.tls.clone();
    for (origin, name, value) in parameters {
        let set = endpoint.tls.set(&name, &value);
        set.map_err(|reason| BadInput(format!("{origin}: {reason}")))?;
    }
    let tls = &mut endpoint.tls;
    tls.mode = url.mode.or(tls.mode);
    tls.root = url.root.or(tls.root.take());
    tls.certificate = url.certificate.or(tls.certificate.take());
    tls.key = url.key.or(tls.key.take());
    Ok(())
}

/// A file's text, unless others may read or change it (`forbidden`). A missing file is no error.
fn read_unless(path: &Path, forbidden: u32, what: &str, remark: &dyn Fn(&str)) -> Option<String> {
    let shown = path.display();
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            remark(&format!("{shown} is ignored: {error}"));
            return None;
        }
    };
    let kind = metadata.file_type();
    if kind.is_dir() || kind.is_fifo() || kind.is_socket() || kind.is_block_device() {
        remark(&format!("{shown} is ignored: it is not a plain file"));
        return None;
    }
    // Users switch the file off with an empty device (`PGPASSFILE=/dev/null`).
    if kind.is_file() && metadata.mode() & forbidden != 0 {
        remark(&format!("{shown} is ignored: others may {what} it; chmod 0600 {shown}"));
        return None;
    }
    match fs::read(path) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => {
            remark(&format!("{shown} is ignored: {error}"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::os::unix::fs::PermissionsExt;

    struct Home {
        folder: tempfile::TempDir,
        variables: Vec<(&'static str, String)>,
        remarks: RefCell<Vec<String>>,
    }

    impl Home {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            Self { folder, variables: Vec::new(), remarks: RefCell::default() }
        }

        fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
            let path = self.folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        }

        fn complete(&self, url: &str) -> Result<Endpoint, BadInput> {
            let variable = |name: &str| {
                let found = self.variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            let home = Some(self.folder.path().to_owned());
            let environment = Environment { variable: &variable, home };
            let mut endpoint = Endpoint::parse(url).unwrap();
            let remark = |text: &str| self.remarks.borrow_mut().push(text.to_owned());
            environment.complete(&mut endpoint, &remark).map(|()| endpoint)
        }

        fn password(&self, url: &str) -> Option<String> {
            self.complete(url).ok().unwrap().password
        }
    }

    #[test]
    fn postgres_takes_the_url_then_the_variable_then_the_file() {
        let mut home = Home::new();
        home.file(".pgpass", "db:5432:postgres:me:from home\n*:26257:*:root:roach\n", 0o600);
        assert_eq!(home.password("postgres://me@db").as_deref(), Some("from home"));
        assert_eq!(home.password("postgres://me@db/other"), None);
        assert_eq!(home.password("cockroach://db").as_deref(), Some("roach"));
        let other = home.file("passes", "*:*:*:me:from elsewhere\n", 0o600);
        home.variables.push(("PGPASSFILE", other.display().to_string()));
        assert_eq!(home.password("postgres://me@db").as_deref(), Some("from elsewhere"));
        home.variables.push(("PGUSER", "me".to_owned()));
        assert_eq!(home.password("postgres://db").as_deref(), Some("from elsewhere"));
        home.variables.push(("PGPASSWORD", "from a variable".to_owned()));
        assert_eq!(home.password("postgres://me@db").as_deref(), Some("from a variable"));
        assert_eq!(home.password("postgres://me:url@db").as_deref(), Some("url"));
        assert_eq!(home.password("postgres://me:@db").as_deref(), Some(""));
        assert_eq!(home.password("mysql://me@db"), None);
        assert_eq!(home.remarks.into_inner(), [""; 0]);
    }

    #[test]
    fn a_password_file_that_others_can_read_is_passed_over() {
        let home = Home::new();
        home.file(".pgpass", "*:*:*:*:secret\n", 0o640);
        assert_eq!(home.password("postgres://db"), None);
        let remark = home.remarks.borrow().join("\n");
        assert!(remark.contains(".pgpass is ignored") && !remark.contains("secret"), "{remark}");
    }

    #[test]
    fn mysql_takes_the_url_then_the_file_then_the_variable() {
        let mut home = Home::new();
        home.variables.push(("MYSQL_PWD", "from a variable".to_owned()));
        assert_eq!(home.password("mysql://db").as_deref(), Some("from a variable"));
        assert_eq!(home.password("postgres://db"), None);
        home.file(".my.cnf", "[client]\nuser=me\npassword=from file\nport=3307\n", 0o644);
        let endpoint = home.complete("mariadb://db").ok().unwrap();
        assert_eq!((endpoint.user.as_str(), endpoint.port), ("me", Some(3307)));
        assert_eq!(endpoint.password.as_deref(), Some("from file"));
        let endpoint = home.complete("tidb://you:url@db:1").ok().unwrap();
        assert_eq!((endpoint.user.as_str(), endpoint.port), ("you", Some(1)));
        assert_eq!(endpoint.password.as_deref(), Some("url"));
        home.file(".my.cnf", "[client]\npassword=from file\n", 0o666);
        assert_eq!(home.password("mysql://db").as_deref(), Some("from a variable"));
        assert_eq!(home.remarks.borrow().len(), 1);
    }

    #[test]
    fn encryption_comes_from_the_same_places() {
        let mut home = Home::new();
        home.variables.push(("PGSSLMODE", "verify-full".to_owned()));
        let root = home.file(".postgresql/root.crt", "", 0o644);
        let endpoint = home.complete("postgres://db").ok().unwrap();
        assert_eq!((endpoint.tls.mode, endpoint.tls.root), (Some(SslMode::VerifyFull), Some(root)));
        let endpoint = home.complete("postgres://db?sslmode=require&sslrootcert=x").ok().unwrap();
        assert_eq!(endpoint.tls.mode, Some(SslMode::Require));
        assert_eq!(endpoint.tls.root, Some(PathBuf::from("x")));
        home.file(".my.cnf", "[client]\nssl-ca=ca.pem\nssl-mode=REQUIRED\n", 0o600);
        let endpoint = home.complete("mysql://db?ssl-mode=VERIFY_CA").ok().unwrap();
        assert_eq!(endpoint.tls.mode, Some(SslMode::VerifyCa));
        assert_eq!(endpoint.tls.root, Some(PathBuf::from("ca.pem")));
        home.variables[0].1 = "yes".to_owned();
        let error = home.complete("postgres://db").err().unwrap().to_string();
        assert!(error.contains("PGSSLMODE: sslmode: expected one of disable"), "{error}");
    }
}
