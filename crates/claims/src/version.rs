//! Server versions, as far as claims need them: a sequence of numbers.
//!
//! Servers surround their version with other text: `10.11.19-MariaDB-deb12`, `8.0.11-TiDB-v8.5.1`,
//! `CockroachDB CCL v22.2.6 (x86_64…)`, `15.19 (Debian 15.19-1)`. Blind spot: what is not a number (`-beta`) is
//! ignored.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use anchorite_model::{Product, TargetInfo};

/// The numbers of a version; missing ones count as zero where versions are compared.
#[derive(Debug, Clone)]
pub struct Version(Vec<u64>);

impl Version {
    /// The version of a target; no numbers where its text has none.
    pub fn of(target: &TargetInfo) -> Self {
        let text = target.version.as_str();
        let behind = target.product.descriptor().version.behind.as_str();
        let text = match text.rsplit_once(behind) {
            Some((_, own)) if !behind.is_empty() => own,
            _ => text,
        };
        let start = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
        Self(numbers(&text[start..]))
    }

    /// Whether the first numbers are these: `10.11.19` starts with `10.11`, not with `10.1`.
    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// Whether this is one release of the product (`15.18`, `10.11.18`) and not a series of them (`15`, `10.11`).
    pub fn is_release(&self, product: Product) -> bool {
        let first = self.0.first().copied().unwrap_or_default();
        self.0.len() >= product.descriptor().version.numbers_of_release(first)
    }

    fn significant(&self) -> &[u64] {
        let zeros = self.0.iter().rev().take_while(|number| **number == 0).count();
        &self.0[..self.0.len() - zeros]
    }
}

/// The dotted numbers that the text begins with.
fn numbers(text: &str) -> Vec<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text[..end].split('.').map_while(|part| part.parse().ok()).collect()
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.significant().cmp(other.significant())
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.pad(&numbers.join("."))
    }
}

/// A text that is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a version: expected numbers with dots, such as 11.6.2")]
pub struct InvalidVersion(pub String);

impl FromStr for Version {
    type Err = InvalidVersion;

    /// Reads `11.6.2` or `v8.5`: numbers and dots only.
    fn from_str(text: &str) -> Result<Self, InvalidVersion> {
        let plain = text.strip_prefix('v').unwrap_or(text);
        let parts = plain.split('.').map(str::parse).collect::<Result<Vec<u64>, _>>();
        parts.map(Self).map_err(|_| InvalidVersion(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(product: Product, text: &str) -> String {
        let target = TargetInfo { product, version: text.to_owned(), variant: String::new() };
        Version::of(&target).to_string()
    }

    #[test]
    fn the_numbers_are_found_in_what_servers_say() {
        assert_eq!(version(Product::named("mariadb"), "10.11.19-MariaDB-deb12"), "10.11.19");
        assert_eq!(version(Product::named("mariadb"), "5.5.5-10.11.19-MariaDB"), "10.11.19");
        assert_eq!(version(Product::named("mysql"), "9.7.4"), "9.7.4");
        assert_eq!(version(Product::named("tidb"), "8.0.11-TiDB-v8.5.1-12-gabc"), "8.5.1");
        assert_eq!(version(Product::named("tidb"), "v8.5.1"), "8.5.1");
        assert_eq!(
            version(Product::named("cockroach"), "CockroachDB CCL v22.2.6 (x86_64)"),
            "22.2.6"
        );
        assert_eq!(version(Product::named("postgres"), "15.19 (Debian 15.19-1)"), "15.19");
        assert_eq!(version(Product::named("postgres"), "17beta1"), "17");
        assert_eq!(version(Product::named("sqlite"), ""), "");
    }

    #[test]
    fn a_release_has_all_its_numbers() {
        let is_release = |product, text: &str| text.parse::<Version>().unwrap().is_release(product);
        assert!(
            is_release(Product::named("postgres"), "15.18")
                && !is_release(Product::named("postgres"), "15")
        );
        assert!(
            is_release(Product::named("postgres"), "9.6.24")
                && !is_release(Product::named("postgres"), "9.6")
        );
        assert!(
            is_release(Product::named("mariadb"), "10.11.18")
                && !is_release(Product::named("mariadb"), "10.11")
        );
        assert!(
            is_release(Product::named("tidb"), "8.5.0")
                && !is_release(Product::named("tidb"), "8.5")
        );
    }

    #[test]
    fn versions_are_ordered_by_number() {
        let version = |text: &str| text.parse::<Version>().expect(text);
        assert!(version("10.11") > version("10.9"));
        assert!(version("11.6.2") > version("11.6"));
        assert_eq!(version("11.6"), version("11.6.0"));
        assert!(version("10.11.19").starts_with(&version("10.11")));
        assert!(!version("10.11.19").starts_with(&version("10.1")));
        assert!("11.x".parse::<Version>().is_err());
        assert!("rr".parse::<Version>().is_err());
    }
}
