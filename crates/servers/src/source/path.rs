//! Installed programs: on PATH, and in the places outside PATH where distributions put servers.

use std::path::{Path, PathBuf};

use anchorite_model::Product;

use super::version_of;
use crate::catalog;
use crate::install::{Installation, Runs, Source};
use crate::tool::is_program;
use crate::version::{numbers, satisfies};

/// Folders outside PATH where servers may be; `*` stands for one folder name.
const USUAL_PLACES: [&str; 8] = [
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/libexec",
    "/usr/local/mysql/bin",
    "/usr/local/pgsql/bin",
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/cockroach",
];

/// The newest installed server that is what was asked for.
pub(crate) fn find(product: Product, asked: Option<&str>) -> Option<Installation> {
    let fitting = all(product)
        .into_iter()
        .filter(|found| asked.is_none_or(|asked| satisfies(&found.version, asked)));
    // The first of equals, because that is what PATH prefers.
    fitting.rev().max_by_key(|found| numbers(&found.version))
}

/// Every installed server of the product, those on PATH first, each once.
pub(crate) fn all(product: Product) -> Vec<Installation> {
    let names = &catalog::server(product).programs;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path)
        .chain(USUAL_PLACES.iter().flat_map(|place| expand(place)))
        .collect();
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for file in folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))) {
        // Links are followed: what belongs to a server lies beside the program, not beside the link.
        let Ok(program) = file.canonicalize() else { continue };
        if !is_program(&program) || seen.contains(&program) || !complete(product, &program) {
            continue;
        }
        seen.push(program.clone());
        if let Some(version) = version_of(product, &program) {
            let runs = Runs::Program(program);
            found.push(Installation { product, version, source: Source::Path, runs });
        }
    }
    found
}

/// PostgreSQL's server alone is of no use.
fn complete(product: Product, program: &Path) -> bool {
    catalog::server(product).needs.iter().all(|file| program.with_file_name(file).exists())
}

/// Replaces the `*` in a place by what is there.
fn expand(place: &str) -> Vec<PathBuf> {
    let Some((before, after)) = place.split_once('*') else { return vec![place.into()] };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| PathBuf::from(format!("{}{after}", entry.path().display())))
        .collect();
    folders.sort();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_one_folder() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["pg-15/bin", "pg-17/bin", "other/bin"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let found = expand(&format!("{}/pg-*/bin", root.path().display()));
        assert_eq!(found, [root.path().join("pg-15/bin"), root.path().join("pg-17/bin")]);
        assert_eq!(expand("/usr/sbin"), [Path::new("/usr/sbin")]);
        assert!(expand("/no/such/*/place").is_empty());
    }
}
