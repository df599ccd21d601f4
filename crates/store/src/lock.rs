//! One hunt per folder.
//!
//! Idea: the kernel's lock on an open file ends with its owner, however that ends. So the lock of a killed hunt never
//! gets in the way, and no process number has to be trusted.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::StoreError;

/// Held as long as this value lives.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the folder, or says that another process has it.
    pub(crate) fn take(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join("lock");
        let file = File::create(&path).map_err(StoreError::io("create", &path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(StoreError::InUse(folder.to_owned())),
            Err(error) => Err(StoreError::io("lock", &path)(error.into())),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A process that is being started has a copy of every open file for a moment. Closing this one would leave the
        // lock to that copy. Nothing is lost if unlocking fails: the lock then ends with the last copy.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}
