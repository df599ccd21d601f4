//! Who owns a temporary folder.
//!
//! Idea: the folder's name holds the owner's process number, its start time (numbers are reused) and its PID
//! namespace (containers may share `/dev/shm`). No file has to be written for it, so there is no moment at
//! which a killed process leaves a folder that nobody can attribute.

use std::io;

use anchorite_owner::{Identity, pid_namespace};

const PREFIX: &str = "anchorite-";

/// Who a folder belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) namespace: u64,
    pub(crate) identity: Identity,
}

impl Owner {
    /// This process.
    pub(crate) fn us() -> io::Result<Self> {
        let identity = Identity::us()
            .ok_or_else(|| io::Error::other("/proc does not identify this process"))?;
        Ok(Self { namespace: pid_namespace(), identity })
    }

    /// The name of this owner's folder number `n`.
    pub(crate) fn folder_name(self, n: u64) -> String {
        let Self { namespace, identity } = self;
        format!("{PREFIX}{namespace}-{}-{}-{n}", identity.pid, identity.started)
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let mut fields = name.strip_prefix(PREFIX)?.split('-').map(|field| field.parse().ok());
        let namespace = fields.next()??;
        let pid = u32::try_from(fields.next()??).ok()?;
        let started = fields.next()??;
        fields.next()??;
        fields.next().is_none().then_some(Self { namespace, identity: Identity { pid, started } })
    }

    pub(crate) fn is_dead_here(self) -> bool {
        self.namespace == pid_namespace() && self.identity.is_gone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_owner() {
        let us = Owner::us().unwrap();
        assert_eq!(Owner::from_name(&us.folder_name(7)), Some(us));
        for name in ["anchorite-kept-1", "anchorite-1-2-3", "anchorite-1-2-3-4-5", "other-1-2-3-4"]
        {
            assert_eq!(Owner::from_name(name), None, "{name}");
        }
    }
}
