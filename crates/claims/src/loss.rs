//! Settings with which a vendor allows that a committed transaction is lost.
//!
//! ```toml
//! [[loss]]
//! setting = "synchronous_commit"
//! ask = "SHOW synchronous_commit"     # a query for its value
//! values = ["off"]                    # the values with which a crash of the server may lose what was committed
//! quote = "…"                         # the page's words, at most 40 of them
//! copied = "2026-11-19"
//! url = "https://…"
//! says = "The last transactions before a crash may be lost."
//! machine = true                      # only if the whole machine stops, not if the server alone is killed
//! ```
//!
//! A server that is killed leaves what it has written to the system; a machine that loses its power leaves what a disk
//! was told to keep.

use serde::Deserialize;
use toml::Spanned;

use crate::Quote;
use crate::source::{ClaimsError, Source};

/// A setting with which a committed transaction may be lost when the server crashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Its name.
    pub setting: String,
    /// A query for its value, which is the last of the row.
    pub ask: String,
    /// The values with which a loss is allowed.
    pub values: Vec<String>,
    /// The page's words.
    pub quote: Quote,
    /// The vendor's page.
    pub url: String,
    /// What it says, in our words.
    pub says: String,
    /// Whether only the end of the whole machine may lose something: a server that is killed loses nothing.
    pub needs_machine: bool,
}

impl Loss {
    /// Whether a loss is allowed with this value.
    pub fn is_allowed_with(&self, value: &str) -> bool {
        self.values.iter().any(|one| one.eq_ignore_ascii_case(value))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LossText {
    setting: String,
    ask: String,
    values: Vec<String>,
    quote: Spanned<String>,
    copied: Spanned<String>,
    url: Spanned<String>,
    says: Spanned<String>,
    #[serde(default)]
    machine: bool,
}

impl Source<'_> {
    pub(crate) fn loss(self, text: &LossText) -> Result<Loss, ClaimsError> {
        Ok(Loss {
            setting: text.setting.clone(),
            ask: text.ask.clone(),
            values: text.values.clone(),
            quote: self.words(&text.quote, &text.copied)?,
            url: self.url(&text.url)?,
            says: self.sentence(&text.says)?,
            needs_machine: text.machine,
        })
    }
}

#[cfg(test)]
mod tests {
    use anchorite_model::Product;

    use crate::Claims;

    #[test]
    fn a_setting_allows_a_loss_with_some_of_its_values() {
        for (product, value, expected) in [
            ("postgres", "off", true),
            ("postgres", "on", false),
            ("postgres", "local", false),
            ("mariadb", "0", true),
            ("mariadb", "1", false),
            ("mysql", "0", true),
            ("mysql", "2", false),
        ] {
            let claims = Claims::for_product(Product::named(product));
            let mut losses = claims.losses.iter().filter(|loss| !loss.needs_machine);
            let loss = losses.next().unwrap_or_else(|| panic!("{product} has a setting"));
            assert!(losses.next().is_none(), "{product} has one setting");
            assert_eq!(loss.is_allowed_with(value), expected, "{product}: {value}");
        }
        assert!(Claims::for_product(Product::named("sqlite")).losses.is_empty());
    }
}
