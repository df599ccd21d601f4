//! `--oracle`: who judges.

use std::str::FromStr;

use anchorite_judge::oracles::{self, CRASH};
use anchorite_judge::{Oracle, UnknownOracle};

/// One `--oracle` argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OracleChoice {
    /// All that there are.
    All,
    /// None: runs are only shown.
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

/// The oracles that were asked for, each once; without any argument all but the optional ones, which need a second
/// target or their name.
pub fn chosen(choices: &[OracleChoice], has_second_target: bool) -> Vec<&'static dyn Oracle> {
    let wanted = |oracle: &&'static dyn Oracle| {
        let is_default = !oracle.is_optional() || (has_second_target && !oracle.must_be_named());
        (choices.is_empty() && is_default)
            || choices.contains(&OracleChoice::All)
            || choices.contains(&OracleChoice::One(*oracle))
    };
    oracles::ALL.iter().copied().filter(wanted).collect()
}

/// The help of `--oracle`: what is asked, and the names.
pub fn help(question: &str) -> String {
    let names: Vec<&str> = oracles::ALL.iter().map(|oracle| oracle.name()).collect();
    let (named, optional): (Vec<_>, Vec<_>) = oracles::ALL
        .iter()
        .filter(|oracle| oracle.is_optional())
        .partition(|oracle| oracle.must_be_named());
    let list = |some: Vec<&&'static dyn Oracle>| {
        some.iter().map(|oracle| oracle.name()).collect::<Vec<_>>().join(" and ")
    };
    let but = format!(
        "{}, which need --against or their name, and {}, which need their name",
        list(optional),
        list(named)
    );
    format!("{question}: {}, all or none; repeatable; default: all but {but}", names.join(", "))
}

/// The same with what each of them compares a run with.
pub fn long_help(question: &str) -> String {
    let lines = oracles::ALL.iter().map(|oracle| format!("{}: {}", oracle.name(), oracle.about()));
    format!("{}\n\n{}", help(question), lines.collect::<Vec<_>>().join("\n"))
}
