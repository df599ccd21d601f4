//! Recipe files: how to build a server that no package has, at a version or commit of the user's choice.
//!
//! ```toml
//! product = "postgres"
//! version = "15"                 # left out: whatever comes out; otherwise the program must say so
//!
//! [source]                       # one of folder, debian, go
//! folder = "../postgres"         # relative to this file
//! commit = "REL_15_9"            # the folder is a git repository, and this is a commit, branch or tag of it
//!
//! [build]                        # not with go
//! steps = ["./configure --prefix=$PREFIX", "make -j$JOBS install"]
//! program = "bin/postgres"       # below $PREFIX
//! ```
//!
//! Idea: the steps are shell commands, because that is what the vendor's own page on building says. What is here is
//! only the file; [`crate::source`] carries it out.

use std::fs;
use std::path::{Path, PathBuf};

use anchorite_model::Product;
use anchorite_model::product::GoModule;
use serde::Deserialize;

use crate::Error;

/// A recipe file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecipeFile {
    /// The product's name.
    product: String,
    /// What the program must say that it is, or a prefix of it.
    pub version: Option<String>,
    source: SourceTable,
    build: Option<Build>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceTable {
    folder: Option<PathBuf>,
    commit: Option<String>,
    debian: Option<String>,
    suite: Option<String>,
    go: Option<GoModule>,
}

/// How the source becomes a program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Build {
    /// Shell commands, in the folder of the source.
    pub steps: Vec<String>,
    /// The server program, below the folder that the steps install into.
    pub program: PathBuf,
}

/// Where the source comes from.
#[derive(Debug)]
pub(crate) enum Origin<'r> {
    /// A folder as it is.
    Folder(PathBuf),
    /// A commit of a git repository.
    Commit(PathBuf, &'r str),
    /// The source package of a Debian suite; without a suite the machine's own.
    Debian(&'r str, Option<&'r str>),
}

/// What a recipe asks for.
#[derive(Debug)]
pub(crate) enum Asked<'r> {
    /// A source and the steps to take.
    Steps(Origin<'r>, &'r Build),
    /// A Go module.
    Go(&'r GoModule),
}

impl RecipeFile {
    /// Reads and checks the file.
    pub(crate) fn read(file: &Path) -> Result<Self, Error> {
        let bad = |reason: String| Error::Given {
            named_by: "the recipe",
            program: file.to_owned(),
            reason,
        };
        let text = fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
        let recipe: Self = toml::from_str(&text).map_err(|error| bad(error.to_string()))?;
        let product = recipe.product().map_err(&bad)?;
        if product.descriptor().is_embedded() {
            return Err(bad(format!("{product} runs inside the program and is no server")));
        }
        recipe.asked(file).map_err(bad)?;
        Ok(recipe)
    }

    /// The product.
    pub(crate) fn product(&self) -> Result<Product, String> {
        self.product.parse::<Product>().map_err(|error| error.to_string())
    }

    /// What to do; the file says where relative paths begin.
    pub(crate) fn asked(&self, file: &Path) -> Result<Asked<'_>, String> {
        let SourceTable { folder, commit, debian, suite, go } = &self.source;
        let build = || self.build.as_ref().ok_or("expected a table [build] with steps and program");
        if commit.is_some() && folder.is_none() {
            return Err("a commit needs the folder of its repository".to_owned());
        }
        if suite.is_some() && debian.is_none() {
            return Err("a suite needs the name of a source package: debian = …".to_owned());
        }
        match (folder, debian, go) {
            (Some(folder), None, None) => {
                let folder = file.parent().unwrap_or(Path::new("")).join(folder);
                let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
                let origin = match commit {
                    Some(commit) => Origin::Commit(folder, commit),
                    None => Origin::Folder(folder),
                };
                Ok(Asked::Steps(origin, build()?))
            }
            (None, Some(package), None) => {
                Ok(Asked::Steps(Origin::Debian(package, suite.as_deref()), build()?))
            }
            (None, None, Some(_)) if self.build.is_some() => {
                Err("a Go module is built by itself: leave out [build]".to_owned())
            }
            (None, None, Some(module)) => Ok(Asked::Go(module)),
            _ => Err("expected one of folder, debian and go in [source]".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<RecipeFile, Error> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("server.toml");
        fs::write(&file, text).unwrap();
        RecipeFile::read(&file)
    }

    #[test]
    fn sources_are_told_apart() {
        let build = "[build]\nsteps = [\"make\"]\nprogram = \"bin/postgres\"\n";
        for (source, expected) in [
            ("folder = \"src\"", "Steps(Folder(\"/x/src\")"),
            ("folder = \"/y\"\ncommit = \"v1\"", "Steps(Commit(\"/y\", \"v1\")"),
            ("debian = \"postgresql-15\"", "Steps(Debian(\"postgresql-15\", None)"),
            ("debian = \"p\"\nsuite = \"sid\"", "Steps(Debian(\"p\", Some(\"sid\"))"),
        ] {
            let text = format!("product = \"postgres\"\n[source]\n{source}\n{build}");
            let recipe: RecipeFile = toml::from_str(&text).unwrap();
            let asked = format!("{:?}", recipe.asked(Path::new("/x/server.toml")).unwrap());
            assert!(asked.starts_with(expected), "{asked}");
        }
    }

    #[test]
    fn a_mistake_says_what_was_expected() {
        let build = "[build]\nsteps = []\nprogram = \"p\"\n";
        for (text, expected) in [
            ("product = 3\n", "expected a string"),
            ("product = \"oracle\"\n[source]\nfolder = \"x\"\n", "oracle"),
            ("product = \"sqlite\"\n[source]\nfolder = \"x\"\n", "is no server"),
            ("product = \"mysql\"\n[source]\nfolder = \"x\"\n", "expected a table [build]"),
            ("product = \"mysql\"\n[source]\n", "one of folder, debian and go"),
            ("product = \"mysql\"\n[source]\ncommit = \"x\"\n", "a commit needs the folder"),
            ("product = \"mysql\"\n[source]\nsuite = \"x\"\n", "a suite needs the name"),
            ("product = \"mysql\"\n[source]\nplace = \"x\"\n", "unknown field `place`"),
            (&format!("product = \"mysql\"\n[source]\n{build}"), "one of folder, debian and go"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(expected), "{text}: {error}");
        }
    }
}
