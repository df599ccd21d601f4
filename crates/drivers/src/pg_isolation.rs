//! The database in which PostgreSQL isolation specs run, set up the way PostgreSQL's own harness does.
//!
//! Specs show dates, database names and locks, so the expected outputs hold only in a database named
//! `isolation_regression` with fixed date, time zone, interval and message settings, and with sessions named
//! `isolation/SPEC/SESSION`. The database is created and dropped by us; if the URL itself names `isolation_regression`,
//! that is used as it is; if one that is not ours already exists, another name is chosen and the caller is told.

use std::time::Duration;

use crate::endpoint::Endpoint;
use crate::mark::Mark;
use crate::pg_common::dial;
use crate::pg_marked::{drop_database, roll_back_prepared};
use crate::pg_session::PgSession;
use crate::pg_wire::PgConnection;
use crate::postgres::{PgWatcher, Postgres};
use crate::{TargetError, execute, heed};

const NAME: &str = "isolation_regression";

/// Longest time for creating or dropping the database.
const HOUSEKEEPING_LIMIT: Duration = Duration::from_secs(60);

/// What PostgreSQL's harness sets for every session.
const SETTINGS: [(&str, &str); 5] = [
    ("datestyle", "Postgres, MDY"),
    ("timezone", "PST8PDT"),
    ("intervalstyle", "postgres_verbose"),
    ("bytea_output", "hex"),
    ("client_encoding", "UTF8"),
];

/// Settings that only a superuser may change: the harness's servers have them anyway.
const SUPERUSER_SETTINGS: &str = "SET lc_messages = 'C'; SET deadlock_timeout = '1s'";

/// Our own database for specs.
pub struct IsolationDatabase {
    admin: Endpoint,
    database: Endpoint,
    created: bool,
    /// Something the user should know, for instance that the usual name was in use.
    pub remark: Option<String>,
}

impl IsolationDatabase {
    /// Creates the database on this server.
    pub fn create(server: &Postgres) -> Result<Self, TargetError> {
        let admin = server.endpoint().clone();
        if admin.database == NAME {
            return Ok(Self { database: admin.clone(), admin, created: false, remark: None });
        }
        let mut database = Endpoint { database: NAME.to_owned(), ..admin.clone() };
        let mut session = PgSession::new(dial(&admin, &[])?);
        let mut create = |name: &str| {
            let sql = format!("CREATE DATABASE {name} TEMPLATE template0");
            // Copying files is three times faster; versions before 15 know no other way.
            let copying = format!("{sql} STRATEGY file_copy");
            match execute(&mut session, &copying, HOUSEKEEPING_LIMIT) {
                Err(error) if error.code == "42601" || error.code == "22023" => {
                    execute(&mut session, &sql, HOUSEKEEPING_LIMIT)
                }
                reply => reply,
            }
        };
        let mut remark = None;
        let mut created = create(NAME);
        if created.as_ref().is_err_and(|error| error.code == "42P04") {
            database.database = Mark::next().to_string();
            remark = Some(format!(
                "a database {NAME} exists already and is left alone: using {}",
                database.database
            ));
            created = create(&database.database);
        }
        created.map_err(|error| TargetError::Prepare {
            target: admin.to_string(),
            reason: format!("CREATE DATABASE: {}", error.message),
        })?;
        let (name, mark) = (&database.database, Mark::next());
        // If we are killed, this shows whose database it was.
        let comment = format!("COMMENT ON DATABASE {name} IS '{mark}'");
        let _ = execute(&mut session, &comment, HOUSEKEEPING_LIMIT);
        Ok(Self { admin, database, created: true, remark })
    }

    /// Opens a session; `application` is its `application_name`.
    pub fn open(&self, application: &str) -> Result<PgConnection, TargetError> {
        let mut parameters = vec![("application_name", application)];
        parameters.extend(SETTINGS);
        let mut session = PgSession::new(dial(&self.database, &parameters)?);
        let _ = execute(&mut session, SUPERUSER_SETTINGS, HOUSEKEEPING_LIMIT);
        Ok(session.into_connection())
    }

    /// The control session: it runs set-up and teardown and asks who waits for whom.
    pub fn control(&self, application: &str) -> Result<PgWatcher, TargetError> {
        Ok(PgWatcher::over(self.open(application)?, "isolation_regression"))
    }
}

impl Drop for IsolationDatabase {
    fn drop(&mut self) {
        if !self.created {
            return;
        }
        let _unheeded = heed(None);
        if let Ok(connection) = dial(&self.database, &[]) {
            roll_back_prepared(&mut PgSession::new(connection));
        }
        if let Ok(connection) = dial(&self.admin, &[]) {
            let _ = drop_database(&mut PgSession::new(connection), &self.database.database);
        }
    }
}
