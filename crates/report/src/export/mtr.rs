//! A test for MariaDB's and MySQL's own runner (`mtr`, and its interpreter `mysqltest`).
//!
//! Idea: a connection per session; a statement that blocked is sent with `send`, the test waits until the server itself
//! shows it waiting, and `reap` fetches its answer where it resumed. Errors that were observed are expected
//! (`--error`). Source: the test language's chapters of the MariaDB and MySQL manuals; the include files are those that
//! both suites use. Assumption: without a run it is not known what blocks. Then every statement is sent, gets a short
//! time, and is reaped before its session's next one, and conflict errors are accepted. `export --on` runs it first.
//! Blind spot: over TCP the sessions only find a server on this machine. The short time in the form without a run is a
//! guess; the form after a run contains no guesses.

use anchorite_model::product::Scripts;
use anchorite_model::sql::{Dialect, TokenKind, Tokens};
use anchorite_model::{ErrorClass, Outcome};

use super::moves::{Move, Wait, plan, told, waits_for};
use super::setup::{
    created_tables, final_tables, identifiers, opening, rows_told, session_settings,
    without_comments,
};
use super::{Form, Script};
use crate::escape::visible;

/// The seconds that a statement gets in such a test before the next one is sent.
const MOMENT: &str = "0.2";

/// `localhost` means the socket, whatever host and port the interpreter was started with. So the sessions connect as
/// the test itself does: a client that came over TCP has a port.
const HOST: &str = "# Through the socket, as in mtr, or over TCP, where mysqltest is started with --host and --port:\n\
let $host = `SELECT IF(HOST LIKE '%:%', '127.0.0.1', 'localhost')\n             \
FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()`;";

/// The test.
pub(super) fn mtr(script: &Script<'_>) -> String {
    let usual = Form::Mtr.usual_product();
    let product = script.product().or(usual);
    let native = product.filter(|product| Form::native_to(*product) == Some(Form::Mtr)).or(usual);
    let form = native.map(|product| &product.descriptor().scripts);
    let names = identifiers(script);
    let mut test = Test { script, form, names, out: String::new(), at: None };
    opening(script).iter().for_each(|line| test.line(&format!("# {line}")));
    test.line("");
    form.iter().flat_map(|form| &form.mtr_opening).for_each(|line| test.line(line));
    test.line(HOST);
    script.case.setup.iter().for_each(|setup| test.statement("", &setup.sql));
    for session in 0..test.names.len() {
        let name = test.names[session].clone();
        test.line("");
        test.line(&format!("connect ({name},$host,root,,);"));
        let settings = session_settings(product, script.level(session));
        settings.iter().for_each(|setting| test.statement("", setting));
        test.line(&format!("let ${name}_id = `SELECT CONNECTION_ID()`;"));
        test.at = Some(session);
    }
    let moves = plan(script);
    for (i, step) in moves.iter().enumerate() {
        let answered_next = matches!(moves.get(i + 1), Some(Move::Return { .. }));
        test.step(step, answered_next);
    }
    test.ending();
    test.out
}

struct Test<'a> {
    script: &'a Script<'a>,
    /// What tests for the product look like.
    form: Option<&'a Scripts>,
    names: Vec<String>,
    out: String,
    /// The connection that is in use; `None` is the default one.
    at: Option<usize>,
}

impl Test<'_> {
    fn line(&mut self, line: &str) {
        self.out += line;
        self.out.push('\n');
    }

    fn connection(&mut self, session: Option<usize>) {
        if self.at != session {
            let name = session.map_or("default", |session| &self.names[session]).to_owned();
            self.line(&format!("connection {name};"));
            self.at = session;
        }
    }

    /// A statement, or a command with a statement (`send `); with another delimiter if it contains a `;`.
    fn statement(&mut self, command: &str, sql: &str) {
        let sql = without_comments(sql, Dialect::Mysql);
        let mut tokens = Tokens::new(&sql, 0, Dialect::Mysql).map_while(Result::ok);
        if tokens.any(|token| token.kind == TokenKind::Semicolon) {
            self.line(&format!("delimiter //;\n{command}{sql}//\ndelimiter ;//"));
        } else {
            self.line(&format!("{command}{sql};"));
        }
    }

    fn step(&mut self, step: &Move<'_>, answered_next: bool) {
        self.line("");
        match step {
            Move::Send { n, session, sql, wait, outcome } => {
                self.connection(Some(*session));
                self.line(&format!("# {n}"));
                match wait {
                    Wait::No => {
                        outcome.iter().for_each(|outcome| self.expect(outcome));
                        self.statement("", sql);
                        outcome.iter().for_each(|outcome| self.told(sql, outcome));
                    }
                    Wait::For(by) => {
                        self.statement("send ", sql);
                        let waits = visible(&waits_for(self.script, by));
                        self.line(&format!("# waits{waits}"));
                        if !answered_next {
                            self.wait_until_blocked(*session);
                        }
                    }
                    Wait::Unknown => {
                        self.statement("send ", sql);
                        self.line(&format!("--sleep {MOMENT}"));
                    }
                }
            }
            Move::Return { n, session, sql, outcome } => {
                self.connection(Some(*session));
                self.line(&format!("# {n} is answered"));
                match outcome {
                    Some(outcome) => self.expect(outcome),
                    None => self.expect_conflicts(),
                }
                self.line("reap;");
                outcome.iter().for_each(|outcome| self.told(sql, outcome));
            }
            Move::Cancel { session } => {
                let name = self.names[*session].clone();
                self.connection(None);
                self.line(&format!("# {name} still waits: cancelled\neval KILL QUERY ${name}_id;"));
            }
            Move::RollBack { session } => {
                self.connection(Some(*session));
                self.line("# still in its transaction\nROLLBACK;");
            }
        }
    }

    fn expect(&mut self, outcome: &Outcome) {
        let Outcome::Error(error) = outcome else { return };
        let number = !error.code.is_empty() && error.code.chars().all(|c| c.is_ascii_digit());
        if error.class == ErrorClass::ConnectionLost {
            self.line("--error 2006,2013");
        } else if number {
            self.line(&format!("--error {}", error.code));
        }
    }

    /// What a statement may answer in a test that was written without a run: success, conflicts of transactions, and
    /// broken constraints.
    fn expect_conflicts(&mut self) {
        let errors = self.form.map_or(&[][..], |form| &form.conflict_errors);
        self.line(&format!("--error 0,{}", errors.join(",")));
    }

    fn told(&mut self, sql: &str, outcome: &Outcome) {
        let told = told(sql, outcome);
        if told != "ok" {
            self.line(&format!("# {}", visible(&told)));
        }
    }

    /// Waits until the server shows the session waiting for a row, a table, or a named lock.
    fn wait_until_blocked(&mut self, session: usize) {
        let id = format!("${}_id", self.names[session]);
        self.connection(None);
        let waits = self.form.map_or("", |form| &form.mtr_waits).replace("{id}", &id);
        self.line(&format!(
            "let $wait_condition =\n  \
             SELECT EXISTS ({waits})\n      \
             OR EXISTS (SELECT * FROM information_schema.PROCESSLIST\n                 \
             WHERE ID = {id} AND (STATE LIKE 'Waiting%' OR STATE = 'User lock'));\n\
             --source include/wait_condition.inc"
        ));
    }

    fn ending(&mut self) {
        self.line("");
        self.connection(None);
        for name in self.names.clone() {
            self.line(&format!("disconnect {name};"));
        }
        let tables = final_tables(self.script);
        for (table, rows) in &tables {
            self.line("--sorted_result");
            self.statement("", &format!("SELECT * FROM {table}"));
            rows.iter().for_each(|rows| self.line(&format!("# {}", rows_told(rows))));
        }
        let script = self.script;
        script.case.check.iter().for_each(|check| self.statement("", &check.sql));
        if script.case.teardown.is_empty() {
            for table in created_tables(script) {
                self.statement("", &format!("DROP TABLE {table}"));
            }
        }
        script.case.teardown.iter().for_each(|teardown| self.statement("", &teardown.sql));
    }
}
