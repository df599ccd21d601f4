//! The settings of a server that have to do with isolation, for the record of a run.
//!
//! Idea: whoever reads a report asks first what the server was set to. A short list per product, read by a session
//! of the case after its level was set, so that what we set ourselves (the limit on waits) is told as it is.
//! Assumption: reading settings changes nothing. Blind spot: a setting that is not on the list, and a server that
//! refuses the question; a run is then recorded without.

use std::time::Duration;

use anchorite_model::Product;

use crate::{Session, execute};

/// Asks for the settings of a product.
pub(crate) fn read(
    product: Product,
    session: &mut dyn Session,
    limit: Duration,
) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    for question in &product.descriptor().settings {
        let Ok(answer) = execute(session, &question.sql, limit) else { continue };
        for row in answer.results.into_iter().flat_map(|result| result.rows) {
            if let [name, value] = &row[..] {
                settings.push((format!("{}{name}", question.prefix), value.to_string()));
            }
        }
    }
    settings
}
