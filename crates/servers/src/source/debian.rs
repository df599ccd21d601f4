//! Servers from Debian packages of any suite, without root rights.
//!
//! Idea: the archive that the machine itself uses has every suite; a package is unpacked with all that it
//! depends on, libc included, into a folder of its own, so the machine's libraries do not matter.
//! Assumption: a Debian machine. Blind spot: suites that their archive has dropped.

use std::fs;
use std::path::Path;

use anchorite_model::Product;

use super::apt::Apt;
use super::sources_list::{Archive, deb822, distribution, one_line};
use super::{made, patch};
use crate::cache::{Made, Workshop};
use crate::{Error, Progress, tool};

/// The folder inside an entry that holds the unpacked packages.
const TREE: &str = "root";

/// The machine's own suite; `None` if it is not Debian.
pub(crate) fn own_suite() -> Option<String> {
    suite_of(&fs::read_to_string("/etc/os-release").ok()?)
}

fn suite_of(os_release: &str) -> Option<String> {
    let value = |name: &str| {
        let found = os_release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        found.map(|value| value.trim_matches('"').to_owned())
    };
    // Testing and unstable have no code name of their own in this file before their freeze.
    (value("ID")? == "debian")
        .then(|| value("VERSION_CODENAME").unwrap_or_else(|| "sid".to_owned()))
}

/// Why Debian packages are not available here; `None` if they are.
pub(crate) fn obstacle() -> Option<String> {
    let Some(suite) = own_suite() else { return Some("this is not a Debian machine".to_owned()) };
    let missing = |name: &&str| tool::on_path(&[name]).is_none();
    if let Some(name) = ["apt-get", "dpkg-deb"].iter().find(|name| missing(name)) {
        return Some(format!("{name} is not on PATH"));
    }
    if !patch::knows_processor() {
        return Some(format!("no recipe for {} processors", std::env::consts::ARCH));
    }
    match distribution(&archives(Path::new("/etc/apt")), &suite) {
        Some(_) => None,
        None => Some(format!("apt's configuration names no archive that has {suite}")),
    }
}

/// All archives of apt's configuration.
fn archives(folder: &Path) -> Vec<Archive> {
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let mut archives = one_line(&read(&folder.join("sources.list")));
    let parts = fs::read_dir(folder.join("sources.list.d"));
    let mut parts: Vec<_> = parts.into_iter().flatten().flatten().map(|part| part.path()).collect();
    parts.sort();
    for part in parts {
        match part.extension().and_then(|extension| extension.to_str()) {
            Some("list") => archives.extend(one_line(&read(&part))),
            Some("sources") => archives.extend(deb822(&read(&part))),
            _ => {}
        }
    }
    archives
}

/// The archive that the machine's own packages come from.
pub(crate) fn archive() -> Result<Archive, Error> {
    let own = own_suite().unwrap_or_default();
    distribution(&archives(Path::new("/etc/apt")), &own).cloned().ok_or_else(|| Error::Tool {
        what: "looking for Debian's archive".to_owned(),
        reason: "apt's configuration names none".to_owned(),
    })
}

/// Fetches a package with its libraries and makes its programs use them.
pub(crate) fn make(
    workshop: &Workshop<'_>,
    product: Product,
    (suite, packages, program): (&str, &[String], &str),
    progress: &dyn Progress,
) -> Result<Made, Error> {
    let own = own_suite().unwrap_or_default();
    let archive = &archive()?;
    let root = workshop.entry.join(TREE);
    fs::create_dir(&root).map_err(Error::io("create", &root))?;
    Apt::open(workshop.folder, archive, suite, progress)?.unpack(packages, &root, progress)?;
    let patchelf = patch::patchelf(workshop, archive, &own, progress)?;
    let program = Path::new(program);
    let tree = patch::Tree::open(workshop, TREE)?;
    tree.patch(program, &patchelf, progress)?;
    made(product, &Path::new(TREE).join(program), &tree.words(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_suite_is_read() {
        let bookworm = "PRETTY_NAME=\"Debian 12\"\nVERSION_CODENAME=bookworm\nID=debian\n";
        assert_eq!(suite_of(bookworm).as_deref(), Some("bookworm"));
        assert_eq!(suite_of("ID=debian\n").as_deref(), Some("sid"));
        assert_eq!(suite_of("ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n"), None);
    }

    #[test]
    fn lists_of_both_forms_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let parts = folder.path().join("sources.list.d");
        fs::create_dir(&parts).unwrap();
        fs::write(folder.path().join("sources.list"), "deb http://a.example/x one main\n").unwrap();
        fs::write(parts.join("b.list"), "deb http://b.example/x two main\n").unwrap();
        fs::write(parts.join("c.sources"), "Types: deb\nURIs: http://c.example/x\nSuites: three\n")
            .unwrap();
        fs::write(parts.join("d.save"), "deb http://d.example/x four main\n").unwrap();
        let suites: Vec<String> =
            archives(folder.path()).into_iter().flat_map(|archive| archive.suites).collect();
        assert_eq!(suites, ["one", "two", "three"]);
    }
}
