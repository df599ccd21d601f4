//! What hunts in tests have in common: an engine in this process, which never goes away, and nobody who listens.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::sync::Arc;
use std::time::Duration;

use anchorite_drivers::Target;
use anchorite_hunt::ending::End;
use anchorite_hunt::{Audience, ServerControl};
use anchorite_model::{FindingLine, HuntSummary};

/// The engine never goes away.
pub struct InProcess;

impl ServerControl for InProcess {
    fn is_ours(&self) -> bool {
        false
    }

    fn ended_within(&self, _: Duration) -> Option<End> {
        None
    }

    fn log_tail(&self) -> Option<String> {
        None
    }

    fn open(&self) -> Result<Arc<dyn Target>, String> {
        Err("it never goes away".to_owned())
    }

    fn restart(&mut self) -> Result<Arc<dyn Target>, String> {
        Err("it is not ours".to_owned())
    }
}

/// Nobody listens.
pub struct Nobody;

impl Audience for Nobody {
    fn live(&self, _: &HuntSummary) {}

    fn say(&self, _: &str) {}

    fn found(&self, _: &FindingLine) {}
}
