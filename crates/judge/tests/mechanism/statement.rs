//! Statements on a table of two integers, `t (a INT PRIMARY KEY, b INT)`: what they mean, and how they are spelt.

use crate::random::Random;

/// A row: its key and its value.
pub type Values = [i128; 2];

/// Which rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// `a = …`
    Key(i128),
    /// `a < …`
    KeyBelow(i128),
    /// `b < …`
    Below(i128),
    /// All.
    Always,
}

impl Condition {
    pub const fn holds(self, row: Values) -> bool {
        match self {
            Self::Key(key) => row[0] == key,
            Self::KeyBelow(key) => row[0] < key,
            Self::Below(value) => row[1] < value,
            Self::Always => true,
        }
    }

    /// The keys that a scan looks at: a half-open range.
    pub const fn range(self) -> (i128, i128) {
        match self {
            Self::Key(key) => (key, key + 1),
            Self::KeyBelow(key) => (i128::MIN, key),
            Self::Below(_) | Self::Always => (i128::MIN, i128::MAX),
        }
    }

    fn clause(self) -> String {
        match self {
            Self::Key(key) => format!(" WHERE a = {key}"),
            Self::KeyBelow(key) => format!(" WHERE a < {key}"),
            Self::Below(value) => format!(" WHERE b < {value}"),
            Self::Always => String::new(),
        }
    }
}

/// What becomes of a row.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    Add(i128),
    Set(i128),
    /// Its key moves.
    Move(i128),
    Gone,
}

impl Change {
    pub const fn of(self, row: Values) -> Option<Values> {
        match self {
            Self::Add(more) => Some([row[0], row[1] + more]),
            Self::Set(value) => Some([row[0], value]),
            Self::Move(by) => Some([row[0] + by, row[1]]),
            Self::Gone => None,
        }
    }
}

/// A statement inside a transaction.
#[derive(Debug, Clone, Copy)]
pub enum Statement {
    Change(Change, Condition),
    Insert(Values),
    Read(Condition),
}

impl Statement {
    /// One of the usual kind; `n` keeps keys apart.
    pub fn random(random: &mut Random, n: i128, reads: bool) -> Self {
        let condition = match random.below(7) {
            0 | 1 => Condition::Key(random.number(1, 4)),
            2 => Condition::KeyBelow(random.number(2, 6)),
            3 | 4 => Condition::Below(random.number(2, 6)),
            5 => Condition::Below(random.number(12, 16)),
            _ => Condition::Always,
        };
        match random.below(if reads { 12 } else { 9 }) {
            0 => Self::Insert([random.number(-2, 8), random.number(0, 7)]),
            1 => Self::Insert([100 * n, random.number(0, 7)]),
            2 => Self::Change(Change::Gone, condition),
            3 => Self::Change(Change::Set(random.number(0, 7)), condition),
            4 => Self::Change(
                Change::Move(if random.below(2) == 0 { 1 } else { -1 } * 100 * n),
                condition,
            ),
            5..9 => Self::Change(
                Change::Add(random.number(1, 3) * if random.below(2) == 0 { 1 } else { -1 }),
                condition,
            ),
            _ => Self::Read(condition),
        }
    }

    pub fn sql(&self) -> String {
        match self {
            Self::Change(Change::Gone, condition) => format!("DELETE FROM t{}", condition.clause()),
            Self::Change(change, condition) => {
                let set = match change {
                    Change::Add(more) => format!("b = b + {more}"),
                    Change::Set(value) => format!("b = {value}"),
                    Change::Move(by) => format!("a = a + {by}"),
                    Change::Gone => unreachable!("that is a DELETE"),
                };
                format!("UPDATE t SET {set}{}", condition.clause())
            }
            Self::Insert([a, b]) => format!("INSERT INTO t VALUES ({a}, {b})"),
            Self::Read(condition) => format!("SELECT * FROM t{}", condition.clause()),
        }
        .replace("+ -", "- ")
    }
}
