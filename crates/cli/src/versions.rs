//! `anchorite server versions`: what is available on this machine, and what is missing for the rest.
//!
//! Idea: no remote source is asked, so the exact version of what has yet to be fetched is often unknown; then the text
//! names the series, and JSON has `null`. JSON lists only what is available.

use std::process::ExitCode;

use anchorite_model::Product;
use anchorite_servers::{Kept, Offer, kept_servers, needed_for, offers};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::print;
use crate::server_output::{Format, print_json, running, table};

/// Prints the list.
pub fn run(format: Format) -> anyhow::Result<ExitCode> {
    let offers = offers()?;
    match format {
        Format::Json => {
            let kept = kept_servers()?;
            print_json(offers.iter().map(|offer| of_offer(offer, &kept)).collect());
        }
        Format::Text => {
            let rows = offers.iter().map(|offer| {
                let state = if offer.cached { "ready" } else { "to be fetched" };
                [offer.target.clone(), version(offer), offer.source.to_string(), state.to_owned()]
            });
            print(&table(["target", "version", "source", ""], rows));
            print(&not_here(&offers));
        }
    }
    Ok(Exit::Fine.into())
}

/// The version, or a description of it where only the source knows its number.
fn version(offer: &Offer) -> String {
    match (&offer.version, offer.target.split_once('@')) {
        (Some(version), _) => version.clone(),
        (None, Some((_, series))) => format!("newest {series}.x"),
        (None, None) => "newest".to_owned(),
    }
}

/// The products that are not available on this machine, each with what is missing.
fn not_here(offers: &[Offer]) -> String {
    let is_server = |product: &Product| !product.descriptor().is_embedded();
    let products = Product::all().into_iter().filter(is_server);
    let is_had = |product: &Product| {
        offers.iter().any(|offer| offer.target.split('@').next() == Some(product.name()))
    };
    let missing = products.filter(|product| !is_had(product));
    missing
        .map(|product| format!("\n{product} is not available: {}\n", needed_for(product)))
        .collect()
}

fn of_offer(offer: &Offer, kept: &[Kept]) -> Value {
    let running = kept.iter().find(|server| server.target == offer.target).map(running);
    json!({
        "target": offer.target, "version": offer.version, "source": offer.source.name(),
        "cached": offer.cached, "running": running,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_has_the_promised_form() {
        let offer = Offer {
            target: "mysql@9.7".to_owned(),
            version: None,
            source: anchorite_servers::Source::Debian,
            cached: false,
        };
        let expected = r#"{"target":"mysql@9.7","version":null,"source":"debian","cached":false,"running":null}"#;
        assert_eq!(of_offer(&offer, &[]).to_string(), expected);
    }

    #[test]
    fn an_unknown_version_is_told_in_words() {
        let offer = |target: &str, version: Option<&str>| Offer {
            target: target.to_owned(),
            version: version.map(str::to_owned),
            source: anchorite_servers::Source::Debian,
            cached: false,
        };
        assert_eq!(version(&offer("mariadb@10.11", None)), "newest 10.11.x");
        assert_eq!(version(&offer("mariadb", None)), "newest");
        assert_eq!(version(&offer("mariadb@10.11", Some("10.11.19"))), "10.11.19");
        let told = not_here(&[offer("mariadb@10.11", None)]);
        assert!(
            told.contains("cockroach is not available: ")
                && !told.contains("mariadb is not available")
        );
    }
}
