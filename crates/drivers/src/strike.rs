//! Ends other connections, or what they execute, by the product's own means.
//!
//! Idea: a statement on a connection of its own (`pg_terminate_backend`, `KILL`), which the product's descriptor names.
//! A connection that is to be ended may have ended a moment before: what the server answers to that is no error here.
//!
//! Assumption: a connection that the server no longer lists executes nothing any more. Blind spot: engines in this
//! process, and products whose descriptor has no query for their connections, cannot be asked.

use std::time::Duration;

use anchorite_model::product::SessionText;
use anchorite_model::{ErrorClass, Product, Value};

use crate::{ConnectionId, Schema, Session, TargetError, execute};

/// For one of our statements.
const LIMIT: Duration = Duration::from_secs(10);

/// What is done to another connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// What it executes is cancelled.
    Cancel,
    /// It is ended.
    End,
}

/// A connection that acts on others.
pub struct Striker {
    session: Box<dyn Session>,
    product: Product,
}

/// Whether a product's connections can be ended by others, and looked for.
pub fn has_blows(product: Product) -> bool {
    product.descriptor().session.listed.is_some()
}

impl Striker {
    /// Opens one; `None` if the product cannot be asked.
    pub fn open(schema: &dyn Schema, product: Product) -> Result<Option<Self>, TargetError> {
        if !has_blows(product) {
            return Ok(None);
        }
        Ok(Some(Self { session: schema.own_session(LIMIT)?, product }))
    }

    fn text(&self) -> &'static SessionText {
        &self.product.descriptor().session
    }

    /// Strikes a connection; false if this connection is lost itself.
    pub fn strike(&mut self, id: ConnectionId, blow: Blow) -> bool {
        let form = match blow {
            Blow::Cancel => &self.text().cancel,
            Blow::End => &self.text().kill,
        };
        let sql = form.replace("{id}", &id.to_string());
        let done = execute(self.session.as_mut(), &sql, LIMIT);
        !done.is_err_and(|error| error.class == ErrorClass::ConnectionLost)
    }

    /// Whether the server still has a connection; `None` if it does not answer.
    pub fn lists(&mut self, id: ConnectionId) -> Option<bool> {
        let sql = self.text().listed.as_ref()?.replace("{id}", &id.to_string());
        let answer = execute(self.session.as_mut(), &sql, LIMIT).ok()?;
        match answer.results.first()?.rows.first()?.first()? {
            Value::Int(count) => Some(*count > 0),
            _ => None,
        }
    }
}
