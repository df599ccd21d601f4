//! A private apt: its own lists, its own cache, and an empty database of installed packages.
//!
//! Idea: with an empty status file the closure of a package includes everything down to libc, and with separate folders
//! neither root privileges nor a lock is needed. Proxies and keys of the system's own configuration stay in force.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::sources_list::Archive;
use crate::folder::OwnedFolder;
use crate::{Error, Progress, limits, tool, work};

/// A private apt in a temporary folder.
pub(crate) struct Apt<'a> {
    folder: &'a OwnedFolder,
    root: PathBuf,
    suite: &'a str,
}

impl<'a> Apt<'a> {
    /// Sets it up for one suite of an archive and fetches the lists.
    pub(crate) fn open(
        folder: &'a OwnedFolder,
        archive: &Archive,
        suite: &'a str,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        Self::with_lists(folder, &archive.stanza(suite), suite, progress)
    }

    /// The same for source packages.
    pub(crate) fn open_sources(
        folder: &'a OwnedFolder,
        archive: &Archive,
        suite: &'a str,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        Self::with_lists(folder, &archive.source_stanza(suite), suite, progress)
    }

    fn with_lists(
        folder: &'a OwnedFolder,
        stanza: &str,
        suite: &'a str,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let root = folder.path().join(format!("apt-{suite}"));
        for part in ["state/lists/partial", "cache/archives/partial"] {
            let part = root.join(part);
            fs::create_dir_all(&part).map_err(Error::io("create", &part))?;
        }
        for (name, text) in [("state/status", ""), ("suite.sources", stanza)] {
            let file = root.join(name);
            fs::write(&file, text).map_err(Error::io("write", &file))?;
        }
        let apt = Self { folder, root, suite };
        progress.step(&format!("reading the package lists of {suite}"));
        apt.run(&["update"], progress)?;
        Ok(apt)
    }

    /// Downloads packages with everything that they depend on and unpacks all of it into `tree`.
    pub(crate) fn unpack(
        &self,
        packages: &[String],
        tree: &Path,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let names = packages.join(", ");
        progress.step(&format!("downloading {names} from {}", self.suite));
        let packages = packages.iter().map(String::as_str);
        let args = ["install", "-y", "--download-only"].into_iter().chain(packages);
        self.run(&args.collect::<Vec<_>>(), progress)?;
        progress.step(&format!("unpacking {names}"));
        let archives = self.root.join("cache/archives");
        let entries = fs::read_dir(&archives).map_err(Error::io("read", &archives))?;
        let mut packages: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "deb"))
            .collect();
        packages.sort();
        for path in packages {
            let mut command = Command::new("dpkg-deb");
            command.arg("-x").arg(&path).arg(tree);
            tool::feed(&mut command, None)?;
            let what = format!("unpacking {}", path.display());
            work::run(self.folder, command, &what, limits::DOWNLOAD, progress)?;
        }
        Ok(())
    }

    /// Downloads a source package; the file that describes it.
    pub(crate) fn source(&self, package: &str, progress: &dyn Progress) -> Result<PathBuf, Error> {
        progress.step(&format!("downloading the source of {package} from {}", self.suite));
        self.run(&["source", "--download-only", package], progress)?;
        let found = fs::read_dir(&self.root).map_err(Error::io("read", &self.root))?;
        let mut found = found.flatten().map(|entry| entry.path());
        let description = found.find(|path| path.extension().is_some_and(|kind| kind == "dsc"));
        description.ok_or_else(|| Error::Tool {
            what: format!("downloading the source of {package}"),
            reason: "no .dsc file arrived".to_owned(),
        })
    }

    fn run(&self, args: &[&str], progress: &dyn Progress) -> Result<(), Error> {
        let mut command = Command::new("apt-get");
        let in_root = |part: &str| self.root.join(part).display().to_string();
        let options = [
            ("Dir::Etc::sourcelist", in_root("suite.sources")),
            ("Dir::Etc::sourceparts", "-".to_owned()),
            // Pins of the system are about its own suite.
            ("Dir::Etc::preferences", "-".to_owned()),
            ("Dir::Etc::preferencesparts", "-".to_owned()),
            ("Dir::State", in_root("state")),
            ("Dir::State::status", in_root("state/status")),
            ("Dir::Cache", in_root("cache")),
            ("Dir::Log", in_root("state")),
            ("Debug::NoLocking", "1".to_owned()),
            ("APT::Install-Recommends", "0".to_owned()),
            // The downloads are in a folder that the sandbox's user cannot enter.
            ("APT::Sandbox::User", String::new()),
            // Lists of one suite in a folder of its own are never out of date.
            ("Acquire::Check-Valid-Until", "0".to_owned()),
            ("APT::Keep-Downloaded-Packages", "1".to_owned()),
        ];
        for (name, value) in options {
            command.arg("-o").arg(format!("{name}={value}"));
        }
        // Source packages go into the current folder.
        command.current_dir(&self.root);
        command.args(args).env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
        tool::feed(&mut command, None)?;
        let what = format!("apt-get {} ({})", args.join(" "), self.suite);
        work::run(self.folder, command, &what, limits::DOWNLOAD, progress)
    }
}
