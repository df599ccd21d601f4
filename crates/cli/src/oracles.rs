//! `--oracle`: who judges.

use std::str::FromStr;

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
    One(Oracle),
}

impl FromStr for OracleChoice {
    type Err = UnknownOracle;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(Self::All),
            "none" => Ok(Self::None),
            "crash" => Ok(Self::Crash),
            _ => text.parse().map(Self::One),
        }
    }
}

/// The oracles that were asked for, each once; without any argument all of them.
pub fn chosen(choices: &[OracleChoice]) -> Vec<Oracle> {
    let wanted = |oracle: &Oracle| {
        choices.is_empty()
            || choices.contains(&OracleChoice::All)
            || choices.contains(&OracleChoice::One(*oracle))
    };
    Oracle::ALL.into_iter().filter(wanted).collect()
}
