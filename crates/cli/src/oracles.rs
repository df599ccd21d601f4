//! `--oracle`: who judges.

use std::str::FromStr;

use anchorite_judge::oracles::{self, CRASH};
use anchorite_judge::{Oracle, UnknownOracle};

/// One `--oracle` argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OracleChoice {
    /// All that there are.
    All,
    /// Nobody: runs are only shown.
    None,
    /// A server that goes away is a finding; a hunt always looks for that.
    Crash,
    /// This one.
    One(&'static dyn Oracle),
}

impl FromStr for OracleChoice {
    type Err = UnknownOracle;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(Self::All),
            "none" => Ok(Self::None),
            CRASH => Ok(Self::Crash),
            _ => oracles::named(text).map(Self::One),
        }
    }
}

/// The oracles that were asked for, each once; without any argument all of them.
pub fn chosen(choices: &[OracleChoice]) -> Vec<&'static dyn Oracle> {
    let wanted = |oracle: &&'static dyn Oracle| {
        choices.is_empty()
            || choices.contains(&OracleChoice::All)
            || choices.contains(&OracleChoice::One(*oracle))
    };
    oracles::ALL.iter().copied().filter(wanted).collect()
}

/// The help of `--oracle`: what is asked, and the names.
pub fn help(question: &str) -> String {
    let names: Vec<&str> = oracles::ALL.iter().map(|oracle| oracle.name()).collect();
    format!("{question}: {}, all or none; repeatable; default: all", names.join(", "))
}

/// The same with what each of them holds a run against.
pub fn long_help(question: &str) -> String {
    let lines = oracles::ALL.iter().map(|oracle| format!("{}: {}", oracle.name(), oracle.about()));
    format!("{}\n\n{}", help(question), lines.collect::<Vec<_>>().join("\n"))
}
