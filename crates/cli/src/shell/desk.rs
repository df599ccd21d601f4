//! What the shell does with a request: the one thread that owns the sessions.
//!
//! Idea: statements are answered or found to wait by the same rules as those of a case
//! ([`anchorite_stage::OneByOne`]). Between two requests the thread looks at what still waits, so that a statement that
//! resumes while the user types is told at once.
//!
//! Assumption: whoever sends requests waits until each is done, so there is nothing to put in order.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use anchorite_drivers::Schema;
use anchorite_model::{Case, ErrorClass, Outcome, SessionIndex};
use anchorite_report::{event_text, rows_text};
use anchorite_stage::{OneByOne, RunOptions, SessionState, StageError};
use signal_hook::consts::SIGINT;

use super::again::Again;
use super::commands::{self, ShellCommand};
use super::input::Request;
use super::script::typed_case;
use super::status;
use crate::exit::{self, Exit};
use crate::interrupt::Interrupt;
use crate::login::Login;
use crate::output::{complain, is_quiet, tell, text_options};
use crate::targets::OpenTarget;

/// Between two requests what waits is looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What the shell is told.
pub enum Order {
    /// What was typed.
    Do(Request),
    /// Ctrl-C at the prompt of this session.
    Cancel(String),
    /// There is no more.
    End,
}

/// Shows text, whatever the user is typing meanwhile.
pub type Show = Box<dyn FnMut(&str) + Send>;

/// The shell, apart from its prompt.
pub struct Desk<'a> {
    /// The target as it was named.
    pub on: &'a str,
    /// Passwords, in case it is opened again.
    pub login: &'a Login,
    /// How many sessions there are at first.
    pub sessions: usize,
    /// How statements run.
    pub options: RunOptions,
    /// A statement that takes longer is left running. `None`: it is waited for, which scripts need.
    pub patience: Option<Duration>,
    /// Replays and judges.
    pub again: Again,
    /// Ctrl-C.
    pub interrupt: &'a Interrupt,
    /// Where everything is shown.
    pub show: Show,
    /// Nobody types: statements are shown with their results, and mistakes count.
    pub is_script: bool,
    /// What the exit code is to say.
    pub exit: Exit,
}

/// How it went on.
enum Next {
    /// On fresh tables, of a target that was opened again.
    New(Option<Box<OpenTarget>>),
    /// Not at all. With the exit code, if a signal ended it.
    Quit(Option<i32>),
}

/// What has been shown of the present sessions.
#[derive(Default)]
struct Shown {
    events: usize,
    notes: usize,
    /// The statement that was just typed.
    own: Option<usize>,
    /// It was told that the server is gone.
    is_lost: bool,
}

impl Desk<'_> {
    /// Carries out orders until the end; each is acknowledged. Returns the exit code if a signal ended it.
    pub fn work(
        &mut self,
        mut open: OpenTarget,
        orders: &Receiver<Order>,
        done: &Sender<()>,
    ) -> anyhow::Result<Option<i32>> {
        loop {
            let schema = open.target.create_schema()?;
            match self.serve(&open, schema.as_ref(), orders, done)? {
                Next::New(None) => {}
                Next::New(Some(opened)) => {
                    drop(schema);
                    open = *opened;
                }
                Next::Quit(code) => return Ok(code),
            }
        }
    }

    /// The same on one set of tables.
    fn serve(
        &mut self,
        open: &OpenTarget,
        schema: &dyn Schema,
        orders: &Receiver<Order>,
        done: &Sender<()>,
    ) -> anyhow::Result<Next> {
        let options = self.options.clone();
        let names: Vec<String> = (1..=self.sessions).map(|number| format!("t{number}")).collect();
        let info = open.target.info();
        let mut live = OneByOne::open(info, schema, &names, &options, self.patience)?;
        let mut shown = Shown::default();
        let first = live.run().sessions[0].level_read_back.clone();
        self.remark(&format!(
            "{info} at {first}; sessions {}; .help lists the commands",
            names.join(", ")
        ));
        loop {
            // Fails when the one who sends orders has ended: then there is no next order either.
            let _ = done.send(());
            let order = match self.next_order(open, &mut live, &mut shown, orders) {
                Ok(order) => order,
                Err(code) => return Ok(Next::Quit(code)),
            };
            let next = match order {
                Order::End => Some(Next::Quit(None)),
                Order::Cancel(session) => {
                    self.cancel(&mut live, &session);
                    None
                }
                Order::Do(Request::Command(ShellCommand::New)) => self.renew(open, &shown),
                Order::Do(request) => self.carry_out(open, &mut live, &mut shown, request),
            };
            self.news(open, &mut live, &mut shown);
            shown.own = None;
            if let Some(next) = next {
                return Ok(next);
            }
        }
    }

    /// The next order; what happens before it comes is shown. An error is the end, with the exit code of a signal.
    fn next_order(
        &mut self,
        open: &OpenTarget,
        live: &mut OneByOne<'_>,
        shown: &mut Shown,
        orders: &Receiver<Order>,
    ) -> Result<Order, Option<i32>> {
        loop {
            if self.interrupt.flag.swap(false, Ordering::SeqCst)
                && let Some(code) = self.code_of_signal()
            {
                return Err(Some(code));
            }
            match orders.recv_timeout(LOOK_EVERY) {
                Ok(order) => return Ok(order),
                Err(RecvTimeoutError::Disconnected) => return Err(None),
                Err(RecvTimeoutError::Timeout) => {
                    // An interrupt is looked at above.
                    let _ = live.look_again();
                    self.news(open, live, shown);
                }
            }
        }
    }

    /// Shows what is new.
    fn news(&mut self, open: &OpenTarget, live: &mut OneByOne<'_>, shown: &mut Shown) {
        let mut may_be_lost = false;
        let run = live.run();
        for event in &run.events[shown.events..] {
            let is_own = shown.own == Some(event.n) && !self.is_script;
            (self.show)(&event_text(run, event, !is_own, &text_options()));
            may_be_lost |= matches!(&event.outcome, Outcome::Error(e) if e.class == ErrorClass::ConnectionLost);
        }
        for note in &run.notes[shown.notes..] {
            (self.show)(&format!("note: {note}\n"));
        }
        (shown.events, shown.notes) = (run.events.len(), run.notes.len());
        let ended = open.server.as_ref().and_then(|server| server.ended());
        if !shown.is_lost && (ended.is_some() || (may_be_lost && live.is_lost())) {
            shown.is_lost = true;
            let mut told = format!("the server has gone away: {}", open.target.info());
            if let Some(server) = &open.server {
                told += &format!("; the end of its log:\n{}\n", server.log_tail().trim_end());
            }
            let what =
                if open.server.is_some() { "starts it again" } else { "tries to reach it again" };
            self.object(&format!("{told}; .new {what}, .save keeps what was typed"), Exit::Target);
        }
    }

    fn carry_out(
        &mut self,
        open: &OpenTarget,
        live: &mut OneByOne<'_>,
        shown: &mut Shown,
        request: Request,
    ) -> Option<Next> {
        match request {
            Request::Select(name) => {
                self.session(live, &name);
            }
            Request::Statement { session, sql } => {
                if let Some(index) = self.session(live, &session) {
                    self.statement(live, shown, index, &sql);
                }
            }
            Request::SetUp(sql) => self.set_up(live, &sql),
            Request::Mistake(told) => self.object(&told, Exit::BadInput),
            Request::Command(ShellCommand::Quit) => return Some(Next::Quit(None)),
            Request::Command(command) => self.command(open, live, command),
        }
        None
    }

    /// The session of this name, opened if it is new.
    fn session(&mut self, live: &mut OneByOne<'_>, name: &str) -> Option<SessionIndex> {
        let known = live.run().case.sessions.iter().position(|known| known == name);
        if known.is_some() {
            return known;
        }
        match live.add(name) {
            Ok(index) => {
                let level = live.run().sessions[index].level_read_back.clone();
                self.remark(&format!("{name} is open, at {level}"));
                Some(index)
            }
            Err(error) => {
                self.object(&format!("{name} could not be opened: {error}"), Exit::Target);
                None
            }
        }
    }

    fn statement(
        &mut self,
        live: &mut OneByOne<'_>,
        shown: &mut Shown,
        session: SessionIndex,
        sql: &str,
    ) {
        shown.own = Some(live.run().case.steps.len() + 1);
        let name = live.run().sessions[session].name.clone();
        match live.submit(session, sql) {
            Ok(true) if live.state(session) == SessionState::Running => {
                self.remark(&format!(
                    "{name}: still running; Ctrl-C cancels it, and other sessions can go on"
                ));
            }
            Ok(true) => {}
            Ok(false) => {
                self.remark(&format!("{name}: queued until its statement before is answered"))
            }
            // The next look at the flag is the end.
            Err(StageError::Interrupted) if self.code_of_signal().is_some() => {}
            Err(StageError::Interrupted) => self.cancel(live, &name),
            Err(error) => self.object(&error.to_string(), Exit::Target),
        }
    }

    /// The exit code, if the last signal ends the shell: in an editor Ctrl-C only ends a statement.
    fn code_of_signal(&self) -> Option<i32> {
        let signal = self.interrupt.signal.load(Ordering::SeqCst);
        (self.is_script || signal != SIGINT).then_some(128 + signal)
    }

    fn cancel(&mut self, live: &mut OneByOne<'_>, name: &str) {
        self.interrupt.flag.store(false, Ordering::SeqCst);
        let index = live.run().case.sessions.iter().position(|known| known == name);
        match index.map(|index| live.cancel(index)) {
            Some(Ok(true)) => {}
            Some(Err(StageError::Interrupted)) => {
                self.interrupt.flag.store(false, Ordering::SeqCst);
                self.remark(&format!("{name}: asked to cancel; the server has not answered yet"));
            }
            Some(Err(error)) => self.object(&error.to_string(), Exit::Target),
            Some(Ok(false)) | None => {
                self.remark(&format!(
                    "{name} has nothing to cancel; .quit or Ctrl-D ends the shell"
                ));
            }
        }
    }

    fn set_up(&mut self, live: &mut OneByOne<'_>, sql: &str) {
        if !live.run().case.steps.is_empty() {
            let told = "the set-up comes before the statements of all sessions; .new begins anew";
            return self.object(told, Exit::BadInput);
        }
        match live.set_up(sql) {
            Ok(Ok(_)) => self.remark("setup: ok"),
            Ok(Err(error)) => {
                let told = format!("setup failed: {} ({}): {sql}", error.message, error.code);
                self.object(&told, Exit::Target);
            }
            Err(error) => self.object(&error.to_string(), Exit::Target),
        }
    }

    /// Fresh tables; a server that has gone away is opened again first, and nothing changes if that fails.
    fn renew(&mut self, open: &OpenTarget, shown: &Shown) -> Option<Next> {
        if !shown.is_lost {
            return Some(Next::New(None));
        }
        match OpenTarget::open(self.on, self.login) {
            Ok(opened) => Some(Next::New(Some(Box::new(opened)))),
            Err(error) => {
                let info = open.target.info();
                self.object(&format!("{info} is still gone: {}", exit::told(&error)), Exit::Target);
                None
            }
        }
    }

    fn command(&mut self, open: &OpenTarget, live: &mut OneByOne<'_>, command: ShellCommand) {
        match command {
            ShellCommand::Levels => (self.show)(&status::levels(open.target.as_ref(), live.run())),
            ShellCommand::Waits => match status::waits(live) {
                Some(table) => (self.show)(&rows_text(&table, &text_options())),
                None => self.object("the server cannot be asked who waits", Exit::Target),
            },
            ShellCommand::Help => (self.show)(&commands::help()),
            ShellCommand::Quit | ShellCommand::New => {}
            ShellCommand::Case
            | ShellCommand::Save(_)
            | ShellCommand::Replay
            | ShellCommand::Judge
            | ShellCommand::Reduce => {
                let Some(case) = typed_case(live.run()) else {
                    return self.object("nothing was typed yet", Exit::BadInput);
                };
                if let ShellCommand::Save(file) = &command {
                    return self.save(file, &case.to_text());
                }
                if command == ShellCommand::Case {
                    return (self.show)(&case.to_text());
                }
                let takes_turns = open.target.turn().is_some();
                if takes_turns && live.is_waiting() {
                    let told = "this server only counts who waits: a replay is possible once nothing waits here";
                    return self.object(told, Exit::BadInput);
                }
                self.run_again(open, live, &command, &case);
            }
        }
    }

    fn run_again(
        &mut self,
        open: &OpenTarget,
        live: &OneByOne<'_>,
        command: &ShellCommand,
        case: &Case,
    ) {
        let target = (self.on, open.target.as_ref());
        let told = match command {
            ShellCommand::Replay => self.again.replay(target.1, case, live.run()),
            ShellCommand::Judge => self.again.judge(target.1, case),
            _ => self.again.reduce(target, case),
        };
        match told {
            Ok((text, exit)) => {
                (self.show)(&text);
                self.note_exit(exit);
            }
            Err(error) => {
                let was_interrupted = self.interrupt.flag.load(Ordering::SeqCst);
                if !was_interrupted {
                    self.object(&exit::told(&error), exit::code_of(&error));
                } else if self.code_of_signal().is_none() {
                    self.interrupt.flag.store(false, Ordering::SeqCst);
                    self.remark("interrupted");
                }
            }
        }
    }

    fn save(&mut self, file: &Path, text: &str) {
        match std::fs::write(file, text) {
            Ok(()) => self.remark(&format!("written: {}", file.display())),
            Err(error) => self.object(&format!("{}: {error}", file.display()), Exit::BadInput),
        }
    }

    /// Something worth knowing.
    fn remark(&mut self, text: &str) {
        match self.is_script {
            true => tell(text),
            false if is_quiet() => {}
            false => (self.show)(&format!("{text}\n")),
        }
    }

    /// Something that is wrong; in a script it decides the exit code.
    fn object(&mut self, text: &str, exit: Exit) {
        match self.is_script {
            true => complain(text),
            false => (self.show)(&format!("anchorite: {text}\n")),
        }
        self.note_exit(exit);
    }

    fn note_exit(&mut self, exit: Exit) {
        // What is worse comes first.
        const ORDER: [Exit; 5] =
            [Exit::Target, Exit::Violation, Exit::BadInput, Exit::DiskFull, Exit::NothingJudged];
        let place =
            |exit: Exit| ORDER.iter().position(|known| *known == exit).unwrap_or(ORDER.len());
        if place(exit) < place(self.exit) {
            self.exit = exit;
        }
    }
}
