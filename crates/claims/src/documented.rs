//! What is documented about the writes and reads of a level, for a target and the settings that its sessions have.

use anchorite_model::{Level, TargetInfo};

use crate::writes::{Deviation, WriteClaims, WriteWord};
use crate::{Bounds, Claims, Exception, ReadClaim, ReadKind, Version};

/// What is documented about the writes of one level.
#[derive(Debug, Clone)]
pub struct DocumentedWrites<'a> {
    /// The promise.
    pub claims: &'a WriteClaims,
    /// The exceptions from it.
    pub exceptions: Vec<&'a Exception>,
}

impl<'a> DocumentedWrites<'a> {
    /// The exception that is about this deviation of this kind of write; one that is documented, if there is one.
    pub fn excuse(&self, word: WriteWord, deviation: Deviation) -> Option<&'a Exception> {
        let about = self.exceptions.iter().copied().filter(|exception| {
            exception.rows.contains(&deviation)
                && (exception.statements.is_empty() || exception.statements.contains(&word))
        });
        about.min_by_key(|exception| !exception.is_documented())
    }
}

impl Claims {
    /// What is documented about writes at a level of a target, with the default settings of its version.
    pub fn writes(&self, target: &TargetInfo, level: Level) -> Option<DocumentedWrites<'_>> {
        self.writes_where(target, level, |bounds, version| bounds.hold(version, None))
    }

    /// The same for sessions that have read back their level in these words, which include their settings. What is
    /// documented for one of them may show in all.
    pub fn writes_of_sessions(
        &self,
        target: &TargetInfo,
        level: Level,
        read_back: &[&str],
    ) -> Option<DocumentedWrites<'_>> {
        self.writes_where(target, level, |bounds, version| {
            read_back.iter().any(|words| bounds.hold(version, Some(words)))
        })
    }

    /// What is documented about a kind of read at a level of a target, for a session that has read back its level in
    /// these words. What is not said of single statements and optimistic transactions is as for plain reads.
    pub fn read_of_session(
        &self,
        target: &TargetInfo,
        level: Level,
        read_back: Option<&str>,
        kind: ReadKind,
    ) -> Option<&ReadClaim> {
        let said = self.level(level).filter(|said| said.is_offered_by(target))?;
        let said = self.level(said.same_as.unwrap_or(level))?;
        let version = Version::of(target);
        let about = |kind: ReadKind| {
            let in_force = said.reads.iter().filter(|read| {
                let is_of_variant =
                    read.variants.is_empty() || read.variants.contains(&target.variant);
                read.kind == kind && is_of_variant && read.bounds.hold(&version, read_back)
            });
            in_force.min_by_key(|read| read.variants.is_empty())
        };
        let is_like_plain = matches!(kind, ReadKind::Single | ReadKind::Optimistic);
        about(kind).or_else(|| about(ReadKind::Plain).filter(|_| is_like_plain))
    }

    fn writes_where(
        &self,
        target: &TargetInfo,
        level: Level,
        holds: impl Fn(&Bounds, &Version) -> bool,
    ) -> Option<DocumentedWrites<'_>> {
        let said = self.level(level).filter(|said| said.is_offered_by(target))?;
        let said = self.level(said.same_as.unwrap_or(level))?;
        let claims = said.writes.as_ref()?;
        let version = Version::of(target);
        let is_in_force = |exception: &&Exception| holds(&exception.bounds, &version);
        let exceptions = said.exceptions.iter().filter(is_in_force).collect();
        Some(DocumentedWrites { claims, exceptions })
    }
}
