//! A recognised server: what its product's descriptor says, as this server has it.
//!
//! Which levels there are, how one is set and read back, how a connection is ended: all of that is data. Differences
//! between two servers of a product (a variable that only newer ones have) are determined once, when we connect.

use std::collections::HashSet;
use std::time::Duration;

use anchorite_model::product::Descriptor;
use anchorite_model::{Level, Product, TargetInfo};

use super::{ErrorRules, probes};
use crate::endpoint::Endpoint;
use crate::mysql_control::{CONTROL_LIMIT, first_text, known_answer, variable};
use crate::mysql_wire::{Connection, WireError};
use crate::{ConnectionId, PurgeQuestion, TargetError, Watcher, innodb};

/// A level as reported by the server.
pub(crate) struct ReadBack {
    /// The levels that the session really runs at: more than one where they coincide.
    pub levels: Vec<Level>,
    /// The server's words, with the other settings that affect isolation.
    pub words: String,
}

/// A recognised server.
pub(crate) struct Server {
    pub endpoint: Endpoint,
    pub info: TargetInfo,
    pub errors: ErrorRules,
    pub levels: Vec<Level>,
    /// The query for a session's level that it understands.
    read_back: &'static str,
    surroundings: probes::Surroundings,
}

impl Server {
    pub(super) fn recognise(
        connection: &mut Connection,
        endpoint: &Endpoint,
        named: Product,
    ) -> Result<Self, WireError> {
        let version = variable(connection, "version")?.unwrap_or_default();
        let comment = variable(connection, "version_comment")?.unwrap_or_default();
        let product = recognise_product(named, &version, &comment);
        let product = with_engine(product, endpoint.engine.as_deref()).map_err(WireError::Lost)?;
        let descriptor = product.descriptor();
        let mut on = HashSet::new();
        for setting in descriptor.errors().settings() {
            let value = variable(connection, setting)?;
            if value.is_some_and(|value| value != "0" && value != "OFF") {
                on.insert(setting);
            }
        }
        let surroundings = probes::Surroundings::of(descriptor, connection)?;
        let variant = surroundings.variant().to_owned();
        Ok(Self {
            endpoint: endpoint.clone(),
            info: TargetInfo { product, version, variant },
            errors: ErrorRules { product, on },
            levels: levels_of(descriptor, connection)?,
            read_back: question_for_level(descriptor, connection)?,
            surroundings,
        })
    }

    fn descriptor(&self) -> &'static Descriptor {
        self.info.product.descriptor()
    }

    /// A failed preparation of this server.
    pub(crate) fn cannot_prepare(&self, reason: impl ToString) -> TargetError {
        TargetError::Prepare { target: self.info.to_string(), reason: reason.to_string() }
    }

    /// The statements that prepare a session.
    pub(super) fn settings(&self, level: Option<Level>, lock_wait: Duration) -> Vec<String> {
        let descriptor = self.descriptor();
        let seconds = lock_wait.as_secs_f64().ceil() as u64;
        let seconds = seconds.clamp(1, descriptor.session.lock_wait_max).to_string();
        let level = level.map_or(&[][..], |level| descriptor.levels.set(level));
        let rest = descriptor.session.prepare.iter().map(|sql| sql.replace("{seconds}", &seconds));
        level.iter().cloned().chain(rest).collect()
    }

    /// The level that a session runs at.
    pub(super) fn read_back(&self, connection: &mut Connection) -> Result<ReadBack, WireError> {
        let levels = &self.descriptor().levels;
        let said =
            first_text(&connection.query(self.read_back, CONTROL_LIMIT)?).unwrap_or_default();
        let level = said.parse().ok().filter(|level| levels.get(*level).is_some());
        let form = if level.is_some() { &levels.words } else { &levels.unknown_words };
        let mut words = form.as_deref().unwrap_or("{level}").replace("{level}", &said);
        for name in &levels.beside {
            let value = variable(connection, name)?.unwrap_or_default();
            words = words.replace(&format!("{{{name}}}"), &value);
        }
        let mut read_back = ReadBack { levels: level.into_iter().collect(), words };
        for change in &levels.changed_by {
            let is_touched = level.is_some_and(|level| change.at.contains(&level));
            if is_touched && variable(connection, &change.variable)?.as_ref() == Some(&change.value)
            {
                let is_made = change.at.first() == level.as_ref();
                read_back.levels.extend(is_made.then_some(change.makes));
                read_back.words.push_str(&change.words);
            }
        }
        Ok(read_back)
    }

    /// The server's id of this connection.
    pub(super) fn connection_id(
        &self,
        connection: &mut Connection,
    ) -> Result<ConnectionId, WireError> {
        let greeted = connection.greeted_id().into();
        let Some(question) = &self.descriptor().session.id else { return Ok(greeted) };
        let answer = connection.query(question, CONTROL_LIMIT)?;
        let id = first_text(&answer).and_then(|id| id.parse().ok());
        Ok(id.unwrap_or(greeted))
    }

    /// The statement that ends another connection, or only what it is executing.
    pub(super) fn kill(&self, id: ConnectionId, only_statement: bool) -> String {
        let session = &self.descriptor().session;
        let form = if only_statement { &session.cancel } else { &session.kill };
        form.replace("{id}", &id.to_string())
    }

    /// The statement with which a connection at repeatable read stops background work of the server, until its
    /// transaction ends.
    pub(super) fn stillness(&self) -> Option<&'static str> {
        self.descriptor().session.stillness.as_deref().filter(|sql| !sql.is_empty())
    }

    /// How to find out when deleted rows no longer have an effect; `None` if they never have one.
    pub(super) fn purge(&self) -> Option<PurgeQuestion> {
        (self.descriptor().session.purge.as_deref()? == innodb::PURGE_NAME).then_some(innodb::PURGE)
    }

    /// A connection to ask who waits for whom; the error says why the server cannot be asked.
    pub(super) fn watcher(&self) -> Result<Box<dyn Watcher>, String> {
        self.surroundings.watcher(&self.info, &self.endpoint)
    }
}

/// The levels that this server has, weakest first.
fn levels_of(
    descriptor: &Descriptor,
    connection: &mut Connection,
) -> Result<Vec<Level>, WireError> {
    let mut levels = Vec::new();
    for level in &descriptor.levels.level {
        let has = match &level.needs {
            Some(needed) => variable(connection, needed)?.is_some(),
            None => true,
        };
        levels.extend(has.then_some(level.name));
    }
    Ok(levels)
}

fn question_for_level(
    descriptor: &'static Descriptor,
    connection: &mut Connection,
) -> Result<&'static str, WireError> {
    let questions = &descriptor.levels.read_back;
    for question in questions {
        if known_answer(connection, question)?.is_some() {
            return Ok(question);
        }
    }
    Ok(questions.last().map_or("SELECT NULL", String::as_str))
}

/// The product that answers: the one that the URL names, unless the server says that it is another.
fn recognise_product(named: Product, version: &str, comment: &str) -> Product {
    let text = format!("{version} {comment}").to_lowercase();
    let fits = |product: &Product| {
        let connection = &product.descriptor().connection;
        let says = |word: &String| text.contains(word.as_str());
        (connection.says.is_empty() || connection.says.iter().any(says))
            && !connection.never_says.iter().any(says)
    };
    if fits(&named) {
        return named;
    }
    let same_driver = |product: &Product| product.descriptor().driver == named.descriptor().driver;
    let mut others = Product::all().into_iter().filter(same_driver);
    others.find(fits).unwrap_or(named)
}

/// The product with an engine other than its usual one.
fn with_engine(product: Product, engine: Option<&str>) -> Result<Product, String> {
    let Some(engine) = engine else { return Ok(product) };
    let name = format!("{product}:{engine}");
    Product::find(&name)
        .ok_or_else(|| format!("there is no target {name}: engine={engine} is not known"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_says_what_it_is() {
        for (url, version, comment, product) in [
            ("mysql", "10.11.19-MariaDB-0+deb12u1", "Debian 12", "mariadb"),
            ("mariadb", "10.6.14-log", "MariaDB Server", "mariadb"),
            ("mysql", "9.7.4", "(Debian)", "mysql"),
            ("mariadb", "5.6.24", "MySQL Community Server (GPL)", "mysql"),
            ("mysql", "8.0.11-TiDB-v8.5.3", "TiDB Server (Apache License 2.0)", "tidb"),
            ("tidb", "5.7.25-TiDB-v4.0.0-beta.2", "MySQL Community Server", "tidb"),
        ] {
            let found = recognise_product(Product::named(url), version, comment);
            assert_eq!(found.name(), product, "{version}");
        }
    }

    #[test]
    fn an_engine_that_nobody_knows_is_refused() {
        assert_eq!(with_engine(Product::named("mysql"), None), Ok(Product::named("mysql")));
        let told = with_engine(Product::named("mysql"), Some("csv")).unwrap_err();
        assert!(told.contains("no target mysql:csv"), "{told}");
    }
}
