//! The settings of a server that concern isolation, for the record of a run.
//!
//! Idea: readers of a report first ask how the server was configured. A short list per product, read by a session of
//! the case after its level was set, so that what we set ourselves (the limit on waits) is included. Assumption:
//! reading settings changes nothing. Blind spot: a setting that is not on the list, and a server that refuses the
//! query; the run is then recorded without settings.

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
