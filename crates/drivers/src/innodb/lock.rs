//! InnoDB's locks as the status prints them, and which of them make another one wait.
//!
//! Source: "InnoDB Locking" in the MySQL manual for the meaning of the modes; the printed forms are
//! those of `SHOW ENGINE INNODB STATUS`. Blind spot: predicate locks of spatial indexes are treated like
//! record locks.

/// A lock on a record of an index or on a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lock {
    Record(RecordLock),
    Table(TableLock),
}

/// A lock on records of one page of one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordLock {
    /// Space id and page number.
    pub page: (u64, u64),
    /// The records on the page; number 1 is the supremum, after the last record.
    pub heaps: Vec<u32>,
    pub exclusive: bool,
    /// Only the gap before the record.
    pub gap: bool,
    /// Only the record.
    pub record_only: bool,
    pub insert_intention: bool,
    pub is_waiting: bool,
}

/// A lock on a whole table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableLock {
    /// The quoted name.
    pub table: String,
    pub mode: TableMode,
    pub is_waiting: bool,
}

/// Modes of table locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableMode {
    IntentionShared,
    IntentionExclusive,
    Shared,
    Exclusive,
    AutoIncrement,
}

/// The heap number of a page's supremum.
const SUPREMUM: u32 = 1;

impl Lock {
    pub(crate) fn is_waiting(&self) -> bool {
        match self {
            Self::Record(lock) => lock.is_waiting,
            Self::Table(lock) => lock.is_waiting,
        }
    }

    /// Whether a request for this lock has to wait for `other`, of another transaction.
    pub(crate) fn waits_for(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Record(asked), Self::Record(held)) => asked.waits_for(held),
            (Self::Table(asked), Self::Table(held)) => {
                asked.table == held.table && asked.mode.conflicts_with(held.mode)
            }
            _ => false,
        }
    }

    /// What a session that waits for this lock waits for, in words.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::Record(lock) if lock.insert_intention => "gap lock",
            Self::Record(_) => "row lock",
            Self::Table(TableLock { mode: TableMode::AutoIncrement, .. }) => "auto-increment lock",
            Self::Table(_) => "table lock",
        }
    }
}

impl RecordLock {
    /// `RECORD LOCKS space id 5 page no 3 n bits 320 index PRIMARY of table … lock_mode X …`
    pub(super) fn parse(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("RECORD LOCKS space id ")?;
        let space = number_at_start(rest)?;
        let page = number_at_start(rest.split_once(" page no ")?.1)?;
        // Names may contain anything, so the modes are looked for after the last transaction id.
        let (_, modes) = rest.rsplit_once(" trx id ")?;
        Some(Self {
            page: (space, page),
            heaps: Vec::new(),
            exclusive: modes.contains("lock_mode X"),
            gap: modes.contains(" locks gap before rec"),
            record_only: modes.contains(" locks rec but not gap"),
            insert_intention: modes.contains(" insert intention"),
            is_waiting: modes.ends_with(" waiting"),
        })
    }

    fn waits_for(&self, held: &Self) -> bool {
        if self.page != held.page || !(self.exclusive || held.exclusive) {
            return false;
        }
        // A holder of an insert intention, or only of a gap, blocks nothing but inserts into that gap.
        let passes_gaps = !self.insert_intention && held.gap;
        let gap_beside_record = self.gap && held.record_only;
        !(held.insert_intention || passes_gaps || gap_beside_record)
            && self.heaps.iter().any(|heap| {
                let asks_for_gap_only = self.gap || *heap == SUPREMUM;
                held.heaps.contains(heap) && (self.insert_intention || !asks_for_gap_only)
            })
    }
}

impl TableLock {
    /// ``TABLE LOCK table `db`.`t` trx id 20 lock mode IX``
    pub(super) fn parse(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("TABLE LOCK table ")?;
        let (table, modes) = rest.rsplit_once(" trx id ")?;
        let (_, mode) = modes.split_once(" lock mode ")?;
        let mode = match mode.split(' ').next()? {
            "IS" => TableMode::IntentionShared,
            "IX" => TableMode::IntentionExclusive,
            "S" => TableMode::Shared,
            "X" => TableMode::Exclusive,
            "AUTO-INC" => TableMode::AutoIncrement,
            _ => return None,
        };
        Some(Self { table: table.to_owned(), mode, is_waiting: modes.ends_with(" waiting") })
    }
}

impl TableMode {
    fn conflicts_with(self, held: Self) -> bool {
        use TableMode as M;
        match (self, held) {
            (M::Exclusive, _) | (_, M::Exclusive) => true,
            (M::Shared, M::Shared) => false,
            (M::Shared, other) | (other, M::Shared) => other != M::IntentionShared,
            (M::AutoIncrement, M::AutoIncrement) => true,
            _ => false,
        }
    }
}

/// The number that the text starts with.
pub(super) fn number_at_start<N: std::str::FromStr>(text: &str) -> Option<N> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record lock from its printed mode, on heap numbers of one page.
    fn record(modes: &str, heaps: &[u32]) -> Lock {
        let line = format!(
            "RECORD LOCKS space id 5 page no 3 n bits 72 index PRIMARY of table `d`.`a trx id ` \
             trx id 20 {modes}"
        );
        let lock = RecordLock::parse(&line).expect("parses");
        Lock::Record(RecordLock { heaps: heaps.to_vec(), ..lock })
    }

    fn table(mode: &str) -> Lock {
        let line = format!("TABLE LOCK table `d`.`t` trx id 20 lock mode {mode}");
        Lock::Table(TableLock::parse(&line).expect("parses"))
    }

    #[test]
    fn record_locks_conflict_as_the_manual_says() {
        let next_key = "lock_mode X";
        let record_x = "lock_mode X locks rec but not gap";
        let record_s = "lock mode S locks rec but not gap";
        let gap = "lock_mode X locks gap before rec";
        let insert = "lock_mode X locks gap before rec insert intention";
        for (asked, held, waits) in [
            (record_x, record_x, true),
            (record_x, record_s, true),
            (record_s, record_s, false),
            (record_s, next_key, true),
            (next_key, next_key, true),
            (record_x, gap, false),
            (next_key, gap, false),
            (gap, gap, false),
            (gap, next_key, false),
            (gap, record_x, false),
            (insert, gap, true),
            (insert, next_key, true),
            (insert, record_x, false),
            (insert, insert, false),
            (record_x, insert, false),
        ] {
            let asked_lock = record(&format!("{asked} waiting"), &[4]);
            assert_eq!(asked_lock.waits_for(&record(held, &[2, 4])), waits, "{asked} / {held}");
            assert!(!asked_lock.waits_for(&record(held, &[2])), "another record");
        }
    }

    #[test]
    fn the_supremum_is_only_a_gap() {
        let next_key = record("lock_mode X waiting", &[SUPREMUM]);
        let insert = record("lock_mode X insert intention waiting", &[SUPREMUM]);
        let held = record("lock_mode X", &[SUPREMUM]);
        assert!(!next_key.waits_for(&held));
        assert!(insert.waits_for(&held));
    }

    #[test]
    fn table_locks_conflict_as_the_manual_says() {
        let modes = ["IS", "IX", "S", "X", "AUTO-INC"];
        let conflicts = [
            [false, false, false, true, false],
            [false, false, true, true, false],
            [false, true, false, true, true],
            [true, true, true, true, true],
            [false, false, true, true, true],
        ];
        for (row, asked) in modes.iter().enumerate() {
            for (column, held) in modes.iter().enumerate() {
                let waits = table(&format!("{asked} waiting")).waits_for(&table(held));
                assert_eq!(waits, conflicts[row][column], "{asked} / {held}");
            }
        }
    }
}
