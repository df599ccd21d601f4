//! The commands of the shell: lines that begin with a dot.

use std::path::PathBuf;

use anchorite_model::nearest::did_you_mean;

/// What can be asked of the shell itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellCommand {
    /// The levels of the target, and those of the sessions.
    Levels,
    /// What each session does, and who waits for whom.
    Waits,
    /// What was typed, as the text of a case.
    Case,
    /// The same, written to a file.
    Save(PathBuf),
    /// What was typed runs anew.
    Replay,
    /// The same, judged.
    Judge,
    /// The same, made as small as possible.
    Reduce,
    /// Fresh tables and sessions.
    New,
    /// The commands.
    Help,
    /// The end.
    Quit,
}

/// Each command: the line, what it does, and the command itself.
const COMMANDS: [(&str, &str, ShellCommand); 9] = [
    (
        ".levels",
        "the isolation levels of the target, and that of each session",
        ShellCommand::Levels,
    ),
    (
        ".waits",
        "what each session does and who waits for whom, asked of the server now",
        ShellCommand::Waits,
    ),
    (".case", "show what was typed as a .case file", ShellCommand::Case),
    (
        ".replay",
        "run what was typed anew, on fresh tables and in fresh sessions",
        ShellCommand::Replay,
    ),
    (".judge", "the same, and let the oracles judge it", ShellCommand::Judge),
    (
        ".reduce",
        "make what was typed as small as possible while an oracle still objects",
        ShellCommand::Reduce,
    ),
    (
        ".new",
        "begin anew: fresh tables and sessions; starts a private server again that has ended",
        ShellCommand::New,
    ),
    (".help", "this list", ShellCommand::Help),
    (".quit", "end the shell; so does Ctrl-D", ShellCommand::Quit),
];

/// The command with an argument.
const SAVE: (&str, &str) = (".save FILE", "write what was typed as a .case file");

impl ShellCommand {
    /// Reads a line that begins with a dot.
    pub fn parse(line: &str) -> Result<Self, String> {
        let (word, argument) =
            line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        let argument = argument.trim();
        if word == ".save" {
            return match argument {
                "" => Err(".save: expected the name of a file".to_owned()),
                file => Ok(Self::Save(PathBuf::from(file))),
            };
        }
        match COMMANDS.iter().find(|(name, ..)| *name == word) {
            Some((_, _, command)) if argument.is_empty() => Ok(command.clone()),
            Some(_) => Err(format!("{word} takes no argument")),
            None => Err(format!(
                "{word} is no command of this shell{}; .help lists them",
                did_you_mean(word, names())
            )),
        }
    }
}

/// The words that commands begin with.
pub fn names() -> Vec<&'static str> {
    let save = SAVE.0.split(' ').take(1);
    COMMANDS.iter().map(|(name, ..)| *name).chain(save).collect()
}

/// The text of `.help`.
pub fn help() -> String {
    let mut lines = vec![
        ("t2", "go on in session t2; one that does not exist yet is opened"),
        (
            "t2> SQL;",
            "the same, and run a statement there; /* t2 */ SQL; as in a .case file also works",
        ),
        ("/* setup */ SQL;", "run a statement before all sessions, in one of its own"),
        SAVE,
    ];
    lines.extend(COMMANDS.iter().map(|(name, about, _)| (*name, *about)));
    let mut text = String::from(
        "A statement ends with `;` and may span lines. Ctrl-C cancels the statement of the current session.\n\n",
    );
    for (name, about) in lines {
        text += &format!("  {name:<18}{about}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_read_and_listed() {
        for (name, _, command) in &COMMANDS {
            assert_eq!(ShellCommand::parse(name).as_ref(), Ok(command));
            assert!(help().contains(name), "{name}");
        }
        let saved = ShellCommand::parse(".save  a file.case ");
        assert_eq!(saved, Ok(ShellCommand::Save(PathBuf::from("a file.case"))));
    }

    #[test]
    fn a_slip_is_answered_with_what_was_meant() {
        let told = |line| ShellCommand::parse(line).expect_err("it is no command");
        assert!(told(".wait").contains("did you mean .waits?"), "{}", told(".wait"));
        assert!(told(".save").contains("the name of a file"));
        assert!(told(".quit now").contains("takes no argument"));
    }
}
