//! The names of what we create on servers: each says whose it is.
//!
//! Idea: a command that is killed, or whose server goes away, cannot drop its schemas. Their names say which process
//! made them and when, so the next command on the same server finds them and drops those whose owner has certainly
//! ended. A check number at the end prevents a name that only looks like ours from being taken for one. The name is the
//! record: at no moment is there something on the server that cannot be attributed.
//!
//! `anchorite_PLACE_PID_START_TIME_N_CHECK`, at most 62 characters, needs no quotes anywhere.
//!
//! Blind spot: of what was created on another machine, or before a reboot, only the age is known.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anchorite_owner::{Identity, digest, place};

/// What every name of ours begins with.
pub(crate) const PREFIX: &str = "anchorite_";

/// A name of ours, parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Machine, boot and PID namespace; 0 where they are not known.
    place: u32,
    owner: Identity,
    /// Seconds since 1970.
    made: u64,
    n: u32,
}

/// Who made something on a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// This process.
    Us,
    /// Another process of this machine, which still runs.
    Running,
    /// A process of this machine that has ended.
    Ended,
    /// A process on another machine, or on this one before a reboot.
    Elsewhere,
    /// Unknown: an earlier release of Anchorite did not record it.
    Unknown,
}

/// The kind of object that carries our mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A schema in a database.
    Schema,
    /// A database.
    Database,
    /// A folder with database files.
    Folder,
}

impl Kind {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Database => "database",
            Self::Folder => "folder",
        }
    }
}

/// Something on a server that carries our mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Who made it.
    pub owner: Owner,
    /// How long ago, where that is known.
    pub age: Option<Duration>,
}

impl Marked {
    /// Reads a name; `None` if it is not one of ours.
    pub(crate) fn of_name(kind: Kind, name: &str) -> Option<Self> {
        Self::of_mark(kind, name, name)
    }

    /// Something whose mark is not in its name; `None` if the text is not a mark.
    pub(crate) fn of_mark(kind: Kind, name: &str, mark: &str) -> Option<Self> {
        let owned = |owner, age| Some(Self { kind, name: name.to_owned(), owner, age });
        match Mark::parse(mark) {
            Some(mark) => owned(mark.owner(), Some(mark.age())),
            None if is_of_earlier_release(mark) => owned(Owner::Unknown, None),
            None => None,
        }
    }
}

impl Mark {
    /// A name that no other run uses, on this machine or another.
    pub(crate) fn next() -> Self {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        // A program that starts over after a crash keeps its number and its start, and may do so within a second.
        static FIRST: LazyLock<u32> = LazyLock::new(|| {
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.subsec_nanos())
        });
        let nobody = Identity { pid: std::process::id(), started: 0 };
        Self {
            place: place().unwrap_or(0),
            owner: Identity::us().unwrap_or(nobody),
            made: seconds(SystemTime::now()),
            n: FIRST.wrapping_add(COUNTER.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// A name as a process that has ended would have made it.
    #[cfg(test)]
    pub(crate) fn of_somebody_who_ended(self) -> Self {
        Self { owner: Identity { started: 1, ..self.owner }, ..self }
    }

    fn parse(name: &str) -> Option<Self> {
        let (said, check) = name.rsplit_once('_')?;
        let fields: Vec<&str> = said.strip_prefix(PREFIX)?.split('_').collect();
        let [place, pid, started, made, n] = fields[..] else { return None };
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let mark = Self {
            place: u32::try_from(hex(place)?).ok()?,
            owner: Identity { pid: pid.parse().ok()?, started: hex(started)? },
            made: hex(made)?,
            n: u32::try_from(hex(n)?).ok()?,
        };
        (check == check_of(said) && mark.to_string() == name).then_some(mark)
    }

    fn owner(self) -> Owner {
        if Identity::us() == Some(self.owner) && place() == Some(self.place) {
            Owner::Us
        } else if place() != Some(self.place) || self.owner.started == 0 {
            Owner::Elsewhere
        } else if self.owner.is_gone() {
            Owner::Ended
        } else {
            Owner::Running
        }
    }

    fn age(self) -> Duration {
        Duration::from_secs(seconds(SystemTime::now()).saturating_sub(self.made))
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, owner: Identity { pid, started }, made, n } = self;
        let said = format!("{PREFIX}{place:08x}_{pid}_{started:x}_{made:x}_{n:x}");
        write!(f, "{said}_{}", check_of(&said))
    }
}

fn check_of(said: &str) -> String {
    format!("{:04x}", digest(said) & 0xffff)
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// `anchorite_PID_N_RANDOM`: nothing about the machine, nothing about the time.
fn is_of_earlier_release(name: &str) -> bool {
    let fields: Vec<&str> = name.strip_prefix(PREFIX).unwrap_or_default().split('_').collect();
    let [pid, n, random] = fields[..] else { return false };
    let is_number = |text: &str| text.parse::<u64>().is_ok_and(|n| n.to_string() == text);
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    is_number(pid) && is_number(n) && random.len() == 8 && random.chars().all(is_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner_of(mark: Mark) -> Option<Owner> {
        Marked::of_name(Kind::Schema, &mark.to_string()).map(|marked| marked.owner)
    }

    #[test]
    fn a_name_tells_whose_it_is() {
        let ours = Mark::next();
        assert_eq!(owner_of(ours), Some(Owner::Us));
        let ended = ours.of_somebody_who_ended();
        assert_eq!(owner_of(ended), Some(Owner::Ended));
        assert_eq!(owner_of(Mark { place: ours.place ^ 1, ..ended }), Some(Owner::Elsewhere));
        let parent = std::os::unix::process::parent_id();
        let owner = Identity::of(parent).expect("our parent runs");
        assert_eq!(owner_of(Mark { owner, ..ours }), Some(Owner::Running));
        let old = Mark { made: ours.made - 7200, ..ours };
        let age = Marked::of_name(Kind::Schema, &old.to_string()).and_then(|marked| marked.age);
        assert!(age.is_some_and(|age| age >= Duration::from_secs(7200)));
    }

    #[test]
    fn what_only_looks_like_ours_is_left_alone() {
        let ours = Mark::next().to_string();
        let mut other = ours.clone();
        let last = other.pop().expect("a name");
        other.push(if last == '0' { '1' } else { '0' });
        for name in [
            other.as_str(),
            &format!("{ours}_backup"),
            &ours.to_uppercase(),
            "anchorite",
            "anchorite_",
            "anchorite_export_4711",
            "anchorite_1_2_3",
            "anchorite_01_2_deadbeef",
            "anchorite_1_2_DEADBEEF",
            "my_anchorite_1_2_deadbeef",
        ] {
            assert_eq!(Marked::of_name(Kind::Schema, name), None, "{name}");
        }
        let earlier = Marked::of_name(Kind::Schema, "anchorite_4711_3_deadbeef")
            .expect("an earlier release's");
        assert_eq!((earlier.owner, earlier.age), (Owner::Unknown, None));
    }

    #[test]
    fn the_longest_name_fits_every_product() {
        let owner = Identity { pid: 4_194_304, started: 0xff_ffff_ffff };
        let longest = Mark { place: u32::MAX, owner, made: 0xffff_ffff, n: u32::MAX };
        assert!(longest.to_string().len() <= 63, "{longest}");
        assert_eq!(Mark::parse(&longest.to_string()), Some(longest));
    }
}
