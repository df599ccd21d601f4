//! The database products that Anchorite speaks to.
//!
//! Idea: a product is its [`Descriptor`], a file under `targets/`. The built-in ones are read once, at the first use;
//! others are added from the command line. A [`Product`] is a small handle to one: copied and compared without a
//! lookup.
//!
//! Assumption: descriptors are few and stay until the end of the process, so they are never freed.

mod classes;
mod descriptor;
mod read;
mod sections;
mod server;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::{LazyLock, PoisonError, RwLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::nearest::did_you_mean;
use crate::sql::Dialect;

pub use classes::{ErrorClasses, ErrorSigns, Leaves, Meaning};
pub use descriptor::Descriptor;
pub use read::DescriptorError;
pub use sections::{
    Connection, Damage, EndWords, LevelText, Levels, Probe, Question, Scripts, SessionText,
    Transactions, VersionText, Waits,
};
pub use server::{Container, GoModule, Server, ServerSource};

/// The built-in files, in the order in which products are listed. One that says `like` comes after the one that it
/// names.
const BUILT_IN: [(&str, &str); 7] = [
    ("targets/sqlite.toml", include_str!("../../../../targets/sqlite.toml")),
    ("targets/mariadb.toml", include_str!("../../../../targets/mariadb.toml")),
    ("targets/mysql.toml", include_str!("../../../../targets/mysql.toml")),
    ("targets/postgres.toml", include_str!("../../../../targets/postgres.toml")),
    ("targets/tidb.toml", include_str!("../../../../targets/tidb.toml")),
    ("targets/cockroach.toml", include_str!("../../../../targets/cockroach.toml")),
    ("targets/mariadb-rocksdb.toml", include_str!("../../../../targets/mariadb-rocksdb.toml")),
];

/// All known products, in order. A descriptor's index never changes.
static KNOWN: LazyLock<RwLock<Vec<&'static Descriptor>>> = LazyLock::new(|| {
    let mut known: Vec<&'static Descriptor> = Vec::new();
    for (file, text) in BUILT_IN {
        let descriptor = read::read(file, text, &known);
        let descriptor =
            descriptor.unwrap_or_else(|error| panic!("a built-in file is valid: {error}"));
        known.push(Box::leak(Box::new(descriptor)));
    }
    RwLock::new(known)
});

/// A database product, as opposed to one running server of it.
#[derive(Clone, Copy)]
pub struct Product(&'static Descriptor);

impl Product {
    /// All known products: the built-in ones, then those that were added.
    pub fn all() -> Vec<Self> {
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().copied().map(Self).collect()
    }

    /// The product of this name or alias, if it is known.
    pub fn find(name: &str) -> Option<Self> {
        let name = name.trim().to_lowercase();
        let is_meant = |product: &Self| product.0.name == name || product.0.aliases.contains(&name);
        Self::all().into_iter().find(is_meant)
    }

    /// The product whose URLs begin with this scheme.
    pub fn of_scheme(scheme: &str) -> Option<Self> {
        Self::all().into_iter().find(|product| product.0.schemes.iter().any(|own| own == scheme))
    }

    /// The product of this name, which must exist.
    ///
    /// # Panics
    ///
    /// If no product has the name.
    pub fn named(name: &str) -> Self {
        Self::find(name).unwrap_or_else(|| panic!("no product is named {name}"))
    }

    /// Adds the product that the text of a descriptor describes; `file` is its name in errors. From then on it is a
    /// product like the built-in ones.
    pub fn add(file: &str, text: &str) -> Result<Self, DescriptorError> {
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        let descriptor = read::read(file, text, &known)?;
        let descriptor: &'static Descriptor = Box::leak(Box::new(descriptor));
        known.push(descriptor);
        Ok(Self(descriptor))
    }

    /// The name in targets, `.case` headers, claims files and JSON.
    pub const fn name(self) -> &'static str {
        self.0.name.as_str()
    }

    /// The name in the vendor's spelling.
    pub const fn title(self) -> &'static str {
        self.0.title.as_str()
    }

    /// The name for files and folders.
    pub fn file_name(self) -> String {
        self.0.name.replace(':', "-")
    }

    /// All that is known about it.
    pub const fn descriptor(self) -> &'static Descriptor {
        self.0
    }

    /// Its family of lexical rules.
    pub fn dialect(self) -> Dialect {
        self.0.dialect()
    }

    /// What a misspelt name was probably meant to be, as the end of a message; empty if nothing is near.
    pub fn hint(name: &str) -> String {
        did_you_mean(name, Self::all().into_iter().map(Self::name))
    }

    /// The products that speak the dialect of this one: a bug of one may show in another. It is one of them itself.
    pub fn speakers(self) -> Vec<Self> {
        let others = self.0.speakers.iter().filter_map(|name| Self::find(name));
        let mut speakers: Vec<Self> = others.collect();
        if !speakers.contains(&self) {
            speakers.insert(0, self);
        }
        speakers
    }
}

/// Names as listed in a sentence: `a, b or c`.
pub fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => (*last).to_owned(),
        None => String::new(),
    }
}

impl PartialEq for Product {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Product {}

impl Hash for Product {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

/// In the order in which they became known.
impl Ord for Product {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.place.cmp(&other.0.place)
    }
}

impl PartialOrd for Product {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Product({})", self.name())
    }
}

/// A text that is not the name of a product.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown product '{0}': expected {known}{hint}", known = known(), hint = Product::hint(.0))]
pub struct UnknownProduct(pub String);

fn known() -> String {
    listed(Product::all().into_iter().map(Product::name))
}

impl FromStr for Product {
    type Err = UnknownProduct;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::find(text).ok_or_else(|| UnknownProduct(text.to_owned()))
    }
}

/// Files have the name with a capital, as the first release wrote it.
impl Serialize for Product {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut letters = self.name().chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        serializer.collect_str(&first.into_iter().chain(letters).collect::<String>())
    }
}

impl<'de> Deserialize<'de> for Product {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::find(&name).ok_or_else(|| {
            de::Error::custom(format!(
                "{} (a product of a descriptor needs --descriptor)",
                UnknownProduct(name)
            ))
        })
    }
}

/// Which server answered: product, its own version text, and the variant of an embedded engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetInfo {
    /// The product.
    pub product: Product,
    /// The version as the server itself says it, for instance `10.11.19-MariaDB`.
    pub version: String,
    /// How the engine is set up where that changes its behaviour (`wal`, `shared-cache`), else empty.
    pub variant: String,
}

impl fmt::Display for TargetInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.product, self.version)?;
        if self.variant.is_empty() { Ok(()) } else { write!(f, " ({})", self.variant) }
    }
}
