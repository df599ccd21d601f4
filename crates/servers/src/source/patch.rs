//! Makes unpacked programs use the libraries that were unpacked with them.
//!
//! Idea: the loader and the library path are written into the programs (`patchelf`), because a program may
//! start others (`initdb` starts `postgres`), where an environment variable would reach too far or not at all.
//! Trap: DT_RPATH, not DT_RUNPATH: only the former also holds for the libraries' own libraries.
//! Trap: older suites have `/lib` and `/usr/lib` apart.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::apt::Apt;
use super::sources_list::Archive;
use crate::cache::Workshop;
use crate::{Error, Progress, limits, tool, work};

/// The loader's file name and the folder name of this processor's libraries, as Debian calls them.
fn names_of_processor() -> Option<(&'static str, &'static str)> {
    match std::env::consts::ARCH {
        "x86_64" => Some(("ld-linux-x86-64.so.2", "x86_64-linux-gnu")),
        "aarch64" => Some(("ld-linux-aarch64.so.1", "aarch64-linux-gnu")),
        _ => None,
    }
}

/// Whether programs can be patched for this processor.
pub(crate) fn knows_processor() -> bool {
    names_of_processor().is_some()
}

/// Where PostgreSQL's isolation tester is, seen from the server program's folder.
const ISOLATION_TESTER: &str = "../lib/pgxs/src/test/isolation";

/// An unpacked tree that is on its way to its final place.
pub(crate) struct Tree<'a> {
    workshop: &'a Workshop<'a>,
    /// Where it is now.
    here: PathBuf,
    /// Where it will be.
    place: PathBuf,
    /// Where the loader is now.
    loader: PathBuf,
    /// Where the libraries are now.
    libraries: Vec<PathBuf>,
}

impl<'a> Tree<'a> {
    /// Looks for loader and libraries in the folder `name` of the entry.
    pub(crate) fn open(workshop: &'a Workshop<'a>, name: &str) -> Result<Self, Error> {
        let here = workshop.entry.join(name);
        let (loader, libraries) = loader_and_libraries(&here)?;
        Ok(Self { workshop, place: workshop.place.join(name), here, loader, libraries })
    }

    /// The words that start a program of the tree while it is not yet in its place.
    pub(crate) fn words(&self, program: &Path) -> Vec<PathBuf> {
        through_loader(&self.loader, &self.libraries, &self.here.join(program))
    }

    /// Patches every program in the folder of `program` (relative to the tree) for the final place, and
    /// PostgreSQL's own isolation tester, which people want to compare us with.
    pub(crate) fn patch(
        &self,
        program: &Path,
        patchelf: &[PathBuf],
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let moved = |path: &Path| match path.strip_prefix(&self.here) {
            Ok(part) => self.place.join(part),
            Err(_) => path.to_owned(),
        };
        let libraries: Vec<PathBuf> = self.libraries.iter().map(|folder| moved(folder)).collect();
        let folder = self.here.join(program).parent().map(Path::to_owned).unwrap_or_default();
        progress.step("making the programs use their own libraries");
        let mut files = programs_in(&folder)?;
        let tester = folder.join(ISOLATION_TESTER);
        if tester.is_dir() {
            files.extend(programs_in(&tester)?);
        }
        for file in files {
            let mut command = Command::new(&patchelf[0]);
            command.args(&patchelf[1..]).arg("--force-rpath");
            command.arg("--set-interpreter").arg(moved(&self.loader));
            command.arg("--set-rpath").arg(joined(&libraries)).arg(&file);
            tool::feed(&mut command, None)?;
            let what = format!("patchelf {}", file.display());
            work::run(self.workshop.folder, command, &what, limits::INITIALISE, progress)?;
        }
        Ok(())
    }
}

fn loader_and_libraries(tree: &Path) -> Result<(PathBuf, Vec<PathBuf>), Error> {
    let missing = |what: &str| Error::Tool {
        what: format!("looking for libraries in {}", tree.display()),
        reason: format!("no {what}"),
    };
    let (loader, triplet) = names_of_processor().ok_or_else(|| missing("known processor"))?;
    let libraries: Vec<PathBuf> = ["usr/lib", "lib"]
        .iter()
        .flat_map(|part| [tree.join(part).join(triplet), tree.join(part)])
        .filter(|folder| folder.is_dir())
        .collect();
    let loader = libraries.iter().map(|folder| folder.join(loader)).find(|file| file.exists());
    Ok((loader.ok_or_else(|| missing("loader"))?, libraries))
}

fn through_loader(loader: &Path, libraries: &[PathBuf], program: &Path) -> Vec<PathBuf> {
    let path = joined(libraries).into();
    vec![loader.to_owned(), "--library-path".into(), path, program.to_owned()]
}

fn joined(folders: &[PathBuf]) -> String {
    folders.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(":")
}

/// The ELF files of a folder that can be executed.
fn programs_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(Error::io("read", folder))?;
    let is_elf = |path: &Path| {
        let mut magic = [0; 4];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
        read.is_ok() && &magic == b"\x7fELF"
    };
    let mut programs: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| !path.is_symlink() && tool::is_program(path) && is_elf(path))
        .collect();
    programs.sort();
    Ok(programs)
}

/// The command that is patchelf: from PATH, else fetched like the servers themselves and kept beside them. The fetched
/// one is run through its own loader, because there is no patchelf yet to patch it.
pub(crate) fn patchelf(
    workshop: &Workshop<'_>,
    archive: &Archive,
    suite: &str,
    progress: &dyn Progress,
) -> Result<Vec<PathBuf>, Error> {
    if let Some(program) = tool::on_path(&["patchelf"]) {
        return Ok(vec![program]);
    }
    let tree = workshop.place.with_file_name("patchelf");
    if !tree.exists() {
        let half = workshop.folder.path().join("patchelf");
        fs::create_dir(&half).map_err(Error::io("create", &half))?;
        Apt::open(workshop.folder, archive, suite, progress)?.unpack(
            &["patchelf".to_owned()],
            &half,
            progress,
        )?;
        match fs::rename(&half, &tree) {
            // Another process was faster; its copy is just as good.
            Err(_) if tree.exists() => {}
            result => result.map_err(Error::io("create", &tree))?,
        }
    }
    let (loader, libraries) = loader_and_libraries(&tree)?;
    Ok(through_loader(&loader, &libraries, &tree.join("usr/bin/patchelf")))
}
