//! `anchorite shell`: several sessions in one terminal, one statement at a time.
//!
//! Idea: the prompt (`editor`, or `pipe` for scripts) reads lines, `input` finds out what they ask for, and a thread of
//! its own (`desk`) has the sessions and does it, so that a statement that resumes while the user types can be told at
//! once.
//!
//! Source: the notation `t1>` of ReplBug and of isolationtester's steps.

mod again;
mod client;
mod commands;
mod desk;
mod editor;
mod history;
mod input;
mod pipe;
mod script;
mod status;
mod words;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use anchorite_stage::{Limits, RunOptions};
use clap::Args;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use self::again::Again;
use self::desk::{Desk, Order, Show};
use self::editor::Prompt;
use self::input::{Input, Request};
use self::pipe::Pipe;
use crate::exit::{BadInput, Exit};
use crate::interrupt::Interrupt;
use crate::levels::{LevelChoice, chosen};
use crate::login::LoginArgs;
use crate::oracles::{self, OracleChoice};
use crate::output::print;
use crate::targets::{self, OpenTarget};

/// A statement that takes longer is left running, and the prompt comes back.
const PATIENCE: Duration = Duration::from_secs(2);
/// Nobody's statement is cancelled for taking long: there is Ctrl-C.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// A statement that waits for a connection of somebody else is told as blocked after this time.
const OUTSIDER: Duration = Duration::from_millis(500);

/// Arguments of `shell`.
#[derive(Debug, Args)]
#[command(after_help = "\
A line `t2` goes on in session t2; `t2> SQL;` also runs a statement there. `.help` lists the
commands: .waits, .levels, .save FILE, .replay, .judge, .reduce and others. Lines from a pipe work
too; then the exit code is 1 if .judge or .reduce found a violation, 2 after a line that could not
be understood, 3 if the server was lost.

Examples:
  anchorite shell mariadb@10.11 --sessions 3
  anchorite shell postgres://postgres@127.0.0.1:5432 --level ser
  anchorite shell mysql@9.7 --client
  printf 'CREATE TABLE t (a INT);\\nt2> SELECT * FROM t;\\n.judge\\n' | anchorite shell sqlite")]
pub struct ShellArgs {
    /// Where: sqlite[:wal|:shared-cache], PRODUCT or PRODUCT@VERSION (private server), or a URL
    #[arg(value_name = "TARGET", default_value = targets::DEFAULT)]
    on: String,
    /// How many sessions there are at first: t1, t2 and so on
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    sessions: u8,
    /// The level of all sessions: ru, rc, rr, si, ser or default; default: that of the target
    #[arg(long, value_name = "LEVEL")]
    level: Option<LevelChoice>,
    #[arg(long = "oracle", value_name = "ORACLE", help = oracles::help("Which oracles .judge and .reduce ask"),
          long_help = oracles::long_help("Which oracles .judge and .reduce ask"))]
    oracle: Vec<OracleChoice>,
    /// Count documented exceptions as violations
    #[arg(long)]
    strict: bool,
    /// Start the vendor's own clients instead, side by side in panes of tmux, in a schema of their own
    #[arg(long)]
    client: bool,
    #[command(flatten)]
    login: LoginArgs,
}

/// Something that lines come from.
trait Lines {
    /// The next line.
    fn next(&mut self, prompt: &str) -> Typed;

    /// Takes notice of a request, for completion and history.
    fn notice(&mut self, request: &Request);
}

/// What came.
enum Typed {
    /// A line, or several that were pasted.
    Line(String),
    /// Ctrl-C.
    Cancel,
    /// No more.
    End,
}

/// Runs the shell.
pub fn run(arguments: &ShellArgs) -> anyhow::Result<ExitCode> {
    let interrupt = Interrupt::listen()?;
    let login = arguments.login.read(&interrupt)?;
    let open = OpenTarget::open(&arguments.on, &login)?;
    let level = match arguments.level {
        Some(LevelChoice::All) => {
            return Err(BadInput("--level all: expected one level".to_owned()).into());
        }
        Some(choice) => chosen(&[choice], open.target.as_ref())?[0],
        None => None,
    };
    if arguments.client {
        let sessions = arguments.sessions.into();
        return interrupt.attend(|| client::run(&open, sessions, level)).map(Into::into);
    }
    let is_script = !(io::stdin().is_terminal() && io::stdout().is_terminal());
    let dialect = open.target.info().product.dialect();
    let (mut lines, show): (Box<dyn Lines>, Show) = match is_script {
        true => (Box::new(Pipe), Box::new(print)),
        false => {
            let (prompt, show) = Prompt::new(dialect)?;
            (Box::new(prompt), show)
        }
    };
    let flag = || Arc::clone(&interrupt.flag);
    let limits = Limits { statement: A_DAY, outsider: OUTSIDER, ..Limits::default() };
    let desk = Desk {
        on: &arguments.on,
        login: &login,
        sessions: arguments.sessions.into(),
        options: RunOptions { level, limits, interrupt: flag(), ..RunOptions::default() },
        patience: (!is_script).then_some(PATIENCE),
        again: Again {
            oracles: arguments.oracle.clone(),
            strict: arguments.strict,
            options: RunOptions { interrupt: flag(), ..RunOptions::default() },
        },
        interrupt: &interrupt,
        show,
        is_script,
        exit: Exit::Fine,
    };
    interrupt.attend(|| converse(desk, open, lines.as_mut(), Input::new(dialect, "t1")))
}

/// Passes what is typed to the desk, in a thread of its own, until either has ended.
fn converse(
    mut desk: Desk<'_>,
    open: OpenTarget,
    lines: &mut dyn Lines,
    input: Input,
) -> anyhow::Result<ExitCode> {
    let is_script = desk.is_script;
    let terminal = tcgetattr(io::stdin()).ok();
    let (to_desk, orders) = channel();
    let (done, acknowledged) = channel();
    let ended = std::thread::scope(|scope| {
        let desk = scope.spawn(move || {
            let ended = desk.work(open, &orders, &done);
            match ended {
                Ok(Some(code)) => leave(terminal.as_ref(), code),
                ended => ended.map(|_| desk.exit),
            }
        });
        read_all(lines, input, &to_desk, &acknowledged);
        drop(to_desk);
        desk.join()
    });
    match ended {
        Ok(Ok(exit)) => Ok(if is_script { exit } else { Exit::Fine }.into()),
        Ok(Err(error)) => Err(error),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Ends the process because of a signal. Everything that was started has been stopped; but the prompt may still be
/// reading, and what it changed about the terminal is put back.
fn leave(terminal: Option<&Termios>, code: i32) -> ! {
    if let Some(before) = terminal {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
    }
    std::process::exit(code)
}

/// Reads lines until there are no more, or the desk has ended.
fn read_all(
    lines: &mut dyn Lines,
    mut input: Input,
    to_desk: &Sender<Order>,
    acknowledged: &Receiver<()>,
) {
    let tell = |order: Order| to_desk.send(order).is_ok() && acknowledged.recv().is_ok();
    if acknowledged.recv().is_err() {
        return;
    }
    loop {
        let prompt = match input.is_open() {
            true => format!("{:>width$}> ", "", width = input.current().len()),
            false => format!("{}> ", input.current()),
        };
        let mut orders = Vec::new();
        let mut is_over = false;
        match lines.next(&prompt) {
            Typed::Line(line) => {
                let requests = input.take(&line);
                requests.iter().for_each(|request| lines.notice(request));
                orders.extend(requests.into_iter().map(Order::Do));
            }
            Typed::Cancel if input.discard() => {}
            Typed::Cancel => orders.push(Order::Cancel(input.current().to_owned())),
            Typed::End => {
                orders.extend(input.finish().map(Order::Do));
                orders.push(Order::End);
                is_over = true;
            }
        }
        if !orders.into_iter().all(&tell) || is_over {
            return;
        }
    }
}
