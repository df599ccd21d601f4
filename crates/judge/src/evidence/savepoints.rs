//! The savepoints of a transaction, as a stack.
//!
//! Idea: ROLLBACK TO goes back to the latest savepoint of that name and removes those after it; RELEASE removes it too.
//! Then an earlier one of the same name counts again.
//!
//! Source: <https://www.postgresql.org/docs/current/sql-savepoint.html>, <https://sqlite.org/lang_savepoint.html>.
//! MySQL removes the earlier one of a name as soon as it is set again
//! (<https://dev.mysql.com/doc/refman/8.4/en/savepoint.html>); there a statement that would need it fails, and failed
//! statements are not followed here.

/// The savepoints that exist, each with a place in its transaction.
#[derive(Debug, Default)]
pub struct Savepoints(Vec<(String, usize)>);

impl Savepoints {
    /// One is set.
    pub fn set(&mut self, name: &str, place: usize) {
        self.0.push((name.to_owned(), place));
    }

    /// The place of the savepoint to which a transaction goes back.
    pub fn back_to(&mut self, name: &str) -> Option<usize> {
        let at = self.find(name)?;
        self.0.truncate(at + 1);
        Some(self.0[at].1)
    }

    /// One is released.
    pub fn release(&mut self, name: &str) {
        if let Some(at) = self.find(name) {
            self.0.truncate(at);
        }
    }

    /// The place of the latest one.
    pub fn latest(&self) -> Option<usize> {
        self.0.last().map(|(_, place)| *place)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.0.iter().rposition(|(known, _)| known.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn savepoints_are_a_stack() {
        let mut savepoints = Savepoints::default();
        savepoints.set("a", 1);
        savepoints.set("b", 2);
        savepoints.set("A", 3);
        assert_eq!(savepoints.latest(), Some(3));
        assert_eq!(savepoints.back_to("a"), Some(3));
        assert_eq!(savepoints.back_to("b"), Some(2));
        assert_eq!(savepoints.back_to("a"), Some(1), "the later one went with b");
        assert_eq!(savepoints.back_to("b"), None);
        savepoints.set("a", 4);
        savepoints.release("a");
        assert_eq!(savepoints.back_to("a"), Some(1), "the earlier one counts again");
        savepoints.release("a");
        assert!(savepoints.is_empty());
    }
}
