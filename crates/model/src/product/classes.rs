//! What an error means: its class, and what it leaves of the transaction.
//!
//! Idea: an ordered list of rules over SQLSTATE, the product's own code, the message and the kind of the statement; the
//! first that matches counts. Products use one code for different things, and one thing has several codes. The list is
//! indexed by code, so that an error costs a lookup, not a scan.
//!
//! Source: each vendor's list of errors, and measurements of what is left of the transaction, noted with the rules.

use std::collections::HashMap;

use serde::Deserialize;

use crate::error_class::ErrorClass;
use crate::sql::StatementKind;

/// What an error leaves of the transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leaves {
    /// All but the statement: the transaction continues.
    #[default]
    Statement,
    /// Nothing: it was rolled back, and the next statement runs in a new one.
    Gone,
    /// A transaction that accepts only ROLLBACK; a COMMIT means ROLLBACK.
    Failed,
}

/// The statements that a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Statements {
    /// Those that only read or write rows, and so do not end a transaction by themselves.
    Rows,
    /// Those that commit the transaction before: COMMIT and BEGIN.
    Commits,
}

impl Statements {
    fn include(self, kind: &StatementKind) -> bool {
        match self {
            Self::Rows => kind.writes() || matches!(kind, StatementKind::Select { .. }),
            Self::Commits => matches!(kind, StatementKind::Commit { .. } | StatementKind::Begin),
        }
    }
}

/// One rule, as written in a file. What is left out matches everything.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorRule {
    /// The product's own codes; one that ends with `*` stands for all with that prefix.
    #[serde(default)]
    codes: Vec<String>,
    /// SQLSTATEs, if the driver has one in addition to the code.
    #[serde(default)]
    states: Vec<String>,
    /// A part of the message.
    message: Option<String>,
    /// Which statements it is about.
    statements: Option<Statements>,
    /// A setting of the server that must be on.
    setting: Option<String>,
    /// The class.
    #[serde(deserialize_with = "class")]
    class: ErrorClass,
    /// What is left.
    #[serde(default)]
    leaves: Leaves,
    /// Whether a client has to roll back what is left, because half a transaction is useless; the session does so.
    #[serde(default)]
    roll_back: bool,
    /// Whether the server's transaction status is unreliable afterwards.
    #[serde(default)]
    says_nothing: bool,
}

fn class<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<ErrorClass, D::Error> {
    let name = String::deserialize(deserializer)?;
    let found = ErrorClass::ALL.into_iter().find(|class| class.name() == name);
    found.ok_or_else(|| {
        let known = super::listed(ErrorClass::ALL.map(ErrorClass::name));
        serde::de::Error::custom(format!("unknown class '{name}': expected {known}"))
    })
}

/// The parts of an error that rules examine.
#[derive(Debug, Clone, Copy)]
pub struct ErrorSigns<'a> {
    /// The product's own code.
    pub code: &'a str,
    /// The SQLSTATE, or the driver's equivalent; empty if there is none.
    pub state: &'a str,
    /// The server's words.
    pub message: &'a str,
    /// The statement that failed.
    pub sql: &'a str,
}

/// What an error means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meaning {
    /// Its class.
    pub class: ErrorClass,
    /// What it leaves of the transaction.
    pub leaves: Leaves,
    /// Whether the session rolls back what is left.
    pub roll_back: bool,
    /// Whether the session is known to be outside a transaction.
    pub is_outside: bool,
}

/// The rules of a product, indexed.
#[derive(Debug, Default)]
pub struct ErrorClasses {
    rules: Vec<ErrorRule>,
    /// The rules for a code, in order.
    by_code: HashMap<String, Vec<usize>>,
    /// The rules that cannot be looked up by an exact code, in order.
    others: Vec<usize>,
    otherwise: Leaves,
}

impl ErrorClasses {
    pub(super) fn new(rules: &[ErrorRule], otherwise: Leaves) -> Self {
        let mut classes = Self { rules: rules.to_vec(), otherwise, ..Self::default() };
        for (at, rule) in rules.iter().enumerate() {
            if rule.codes.is_empty() || rule.codes.iter().any(|code| code.ends_with('*')) {
                classes.others.push(at);
            }
            for code in rule.codes.iter().filter(|code| !code.ends_with('*')) {
                classes.by_code.entry(code.clone()).or_default().push(at);
            }
        }
        classes
    }

    /// What an error means. `is_on`: whether a setting of the server is on.
    pub fn meaning(&self, signs: &ErrorSigns<'_>, is_on: impl Fn(&str) -> bool) -> Meaning {
        let by_code = self.by_code.get(signs.code).map_or(&[][..], Vec::as_slice);
        let first =
            |rules: &[usize]| rules.iter().copied().find(|at| self.rules[*at].fits(signs, &is_on));
        let found = [first(by_code), first(&self.others)].into_iter().flatten().min();
        match found.map(|at| &self.rules[at]) {
            None => Meaning {
                class: ErrorClass::Other,
                leaves: self.otherwise,
                roll_back: false,
                is_outside: false,
            },
            Some(rule) => Meaning {
                class: rule.class,
                leaves: rule.leaves,
                roll_back: rule.roll_back,
                is_outside: rule.leaves == Leaves::Gone && !rule.says_nothing,
            },
        }
    }

    /// What is left if no rule says otherwise.
    pub const fn otherwise(&self) -> Leaves {
        self.otherwise
    }

    /// The settings of the server that rules ask for.
    pub fn settings(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().filter_map(|rule| rule.setting.as_deref())
    }
}

impl ErrorRule {
    fn fits(&self, signs: &ErrorSigns<'_>, is_on: &impl Fn(&str) -> bool) -> bool {
        let among = |known: &[String], text: &str| {
            let is_meant = |known: &String| match known.strip_suffix('*') {
                Some(beginning) => text.starts_with(beginning),
                None => known == text,
            };
            known.is_empty() || known.iter().any(is_meant)
        };
        among(&self.codes, signs.code)
            && among(&self.states, signs.state)
            && self.message.as_ref().is_none_or(|part| signs.message.contains(part))
            && self.statements.is_none_or(|kinds| kinds.include(&StatementKind::of(signs.sql)))
            && self.setting.as_ref().is_none_or(|setting| is_on(setting))
    }
}
