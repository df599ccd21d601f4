//! Servers built by a recipe file of the user's.
//!
//! Idea: a build is cached by what went into it: the text of the recipe, and the commit, or the names, sizes and times
//! of the files of a folder. A changed source is therefore another entry, and the same one is built once. The steps
//! work on a copy, so the user's folder stays as it is.
//!
//! Trap: many programs remember the folder that they were installed into. So $PREFIX is the place that the entry has in
//! the end; what a failed build has put there is removed.
//! Blind spot: submodules of a repository are not fetched; a step can do that.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::apt::Apt;
use super::{debian, go, made};
use crate::cache::{Cache, Made, Workshop};
use crate::install::{Installation, Source};
use crate::recipe::{Asked, Build, Origin, RecipeFile};
use crate::version::satisfies;
use crate::{Error, Progress, Request, copy, folder, limits, tool, work};

/// Builds what the file describes, or finds what it built before.
pub(crate) fn obtain(
    request: &Request,
    file: &Path,
    progress: &dyn Progress,
) -> Result<Installation, Error> {
    let bad =
        |reason: String| Error::Given { named_by: "the recipe", program: file.to_owned(), reason };
    let recipe = RecipeFile::read(file)?;
    let asked = recipe.asked(file).map_err(bad)?;
    let text = fs::read_to_string(file).map_err(Error::io("read", file))?;
    let product = request.product;
    let identity = identity(&asked)?;
    let key = format!("recipe-{}-{:016x}", product.file_name(), hash(&(text, &identity)));
    let cache = Cache::of(product)?;
    let make = |workshop: &Workshop<'_>| match &asked {
        Asked::Go(module) => go::make(workshop, product, module, progress),
        Asked::Steps(origin, build) => {
            let source = fetched(workshop, origin, &identity, progress)?;
            let made = built(workshop, &source, build, progress)?;
            let version = made_version(product, workshop, build)?;
            Ok(Made { program: made, version })
        }
    };
    let found = cache.find_or_make(&key, product, Source::Recipe, progress, make)?;
    match &recipe.version {
        Some(wanted) if !satisfies(&found.version, wanted) => {
            let place = cache.place(&key).display().to_string();
            Err(bad(format!("what it built is {}, not {wanted} ({place})", found.version)))
        }
        _ => Ok(found),
    }
}

fn made_version(
    product: anchorite_model::Product,
    workshop: &Workshop<'_>,
    build: &Build,
) -> Result<String, Error> {
    let program = workshop.entry.join(&build.program);
    Ok(made(product, &build.program, &[program])?.version)
}

/// What distinguishes this source from an earlier or later state of it.
fn identity(asked: &Asked<'_>) -> Result<String, Error> {
    match asked {
        // The version of a module and that of a package of a suite are in the text of the recipe.
        Asked::Go(_) | Asked::Steps(Origin::Debian(..), _) => Ok(String::new()),
        Asked::Steps(Origin::Commit(folder, commit), _) => commit_of(folder, commit),
        Asked::Steps(Origin::Folder(folder), _) => {
            let mut hasher = DefaultHasher::new();
            state(folder, &mut hasher).map_err(Error::io("read", folder))?;
            Ok(format!("{:x}", hasher.finish()))
        }
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The full name of a commit.
fn commit_of(folder: &Path, commit: &str) -> Result<String, Error> {
    let failed = |reason: String| Error::Tool {
        what: format!("looking for {commit} in {}", folder.display()),
        reason,
    };
    let git = tool::on_path(&["git"]).ok_or_else(|| failed("git is not on PATH".to_owned()))?;
    let place = folder.display().to_string();
    let name = format!("{commit}^{{commit}}");
    let args = ["-C", &place, "rev-parse", "--verify", "--quiet", "--end-of-options", &name];
    match tool::ask(&git, args) {
        Some((status, text)) if status.success() => Ok(text.trim().to_owned()),
        Some((_, text)) if !text.trim().is_empty() => Err(failed(text.trim().to_owned())),
        _ => Err(failed("the repository has no such commit, branch or tag".to_owned())),
    }
}

/// Names, sizes and times of all files.
fn state(folder: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    // What git keeps there changes when somebody only looks.
    entries.retain(|path| path.file_name() != Some(OsStr::new(".git")));
    entries.sort();
    for path in entries {
        let about = fs::symlink_metadata(&path)?;
        path.hash(hasher);
        if about.is_dir() {
            state(&path, hasher)?;
        } else {
            (about.len(), about.modified().ok()).hash(hasher);
        }
    }
    Ok(())
}

/// The source, in a folder that the steps may change.
fn fetched(
    workshop: &Workshop<'_>,
    origin: &Origin<'_>,
    identity: &str,
    progress: &dyn Progress,
) -> Result<PathBuf, Error> {
    let source = workshop.folder.path().join("source");
    match origin {
        Origin::Folder(folder) => {
            progress.step(&format!("copying {}", folder.display()));
            copy::tree(folder, &source, None).map_err(Error::io("copy", folder))?;
        }
        Origin::Commit(folder, _) => {
            progress.step(&format!("taking {identity} of {}", folder.display()));
            let from = folder.display().to_string();
            let to = source.display().to_string();
            for args in [
                &["clone", "--quiet", "--shared", "--no-checkout", &from, &to][..],
                &["-C", &to, "checkout", "--quiet", "--detach", identity],
            ] {
                run(workshop, Command::new("git"), args, limits::DOWNLOAD, progress)?;
            }
        }
        Origin::Debian(package, suite) => {
            let own = debian::own_suite().unwrap_or_default();
            let suite = suite.unwrap_or(&own);
            let archive = debian::archive()?;
            let apt = Apt::open_sources(workshop.folder, &archive, suite, progress)?;
            let description = apt.source(package, progress)?;
            let (from, to) = (description.display().to_string(), source.display().to_string());
            let unpack = ["--no-check", "-x", &from, &to];
            let command = Command::new("dpkg-source");
            run(workshop, command, &unpack, limits::DOWNLOAD, progress)?;
        }
    }
    Ok(source)
}

fn run(
    workshop: &Workshop<'_>,
    mut command: Command,
    args: &[&str],
    limit: std::time::Duration,
    progress: &dyn Progress,
) -> Result<(), Error> {
    command.args(args);
    let what = format!("{} {}", command.get_program().display(), args.join(" "));
    tool::feed(&mut command, None)?;
    work::run(workshop.folder, command, &what, limit, progress)
}

/// Carries out the steps; the path of the program inside the entry.
fn built(
    workshop: &Workshop<'_>,
    source: &Path,
    build: &Build,
    progress: &dyn Progress,
) -> Result<PathBuf, Error> {
    let prefix = &workshop.place;
    folder::remove(prefix);
    let result = steps(workshop, source, build, progress);
    // What the steps have installed moves into the entry, which the cache moves back when it is complete.
    let moved = result.and_then(|()| {
        fs::remove_dir(&workshop.entry).map_err(Error::io("replace", &workshop.entry))?;
        fs::rename(prefix, &workshop.entry).map_err(|error| {
            let reason = format!("the steps have not created $PREFIX ({error})");
            Error::Tool { what: "the build".to_owned(), reason }
        })
    });
    if let Err(error) = moved {
        folder::remove(prefix);
        return Err(error);
    }
    match workshop.entry.join(&build.program).is_file() {
        true => Ok(build.program.clone()),
        false => Err(Error::Tool {
            what: "the build".to_owned(),
            reason: format!("the steps have not created $PREFIX/{}", build.program.display()),
        }),
    }
}

fn steps(
    workshop: &Workshop<'_>,
    source: &Path,
    build: &Build,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let jobs = std::thread::available_parallelism().map_or(1, |count| count.get());
    for step in &build.steps {
        progress.step(&format!("building: {step}"));
        let mut command = Command::new("sh");
        command.args(["-e", "-c", step]).current_dir(source);
        command.env("PREFIX", &workshop.place).env("JOBS", jobs.to_string());
        tool::feed(&mut command, None)?;
        work::run(
            workshop.folder,
            command,
            &format!("the step '{step}'"),
            limits::BUILD,
            progress,
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;

    /// A cache and a folder with the source of a "server", which says its version.
    fn recipe(at: &Path, steps: &str, source: &str) -> PathBuf {
        fs::create_dir_all(at.join("source")).unwrap();
        fs::write(at.join("source/server"), "#!/bin/sh\necho \"server Ver 9.7.4 for x\"\n")
            .unwrap();
        let file = at.join("server.toml");
        let text = format!(
            "product = \"mysql\"\nversion = \"9.7\"\n[source]\n{source}\n[build]\n\
             steps = [{steps}]\nprogram = \"bin/server\"\n"
        );
        fs::write(&file, text).unwrap();
        file
    }

    fn in_workshop(file: &Path, cache: &Cache) -> Result<Installation, Error> {
        let recipe = RecipeFile::read(file)?;
        let asked = recipe.asked(file).unwrap();
        let identity = identity(&asked)?;
        let Asked::Steps(origin, build) = &asked else { panic!("no steps") };
        let product = recipe.product().unwrap();
        let key = format!("recipe-{:x}", hash(&identity));
        cache.find_or_make(&key, product, Source::Recipe, &Silent, |workshop| {
            let source = fetched(workshop, origin, &identity, &Silent)?;
            let program = built(workshop, &source, build, &Silent)?;
            let version = made_version(product, workshop, build)?;
            Ok(Made { program, version })
        })
    }

    const GOOD: &str = "\"mkdir -p $PREFIX/bin\", \"chmod +x server; cp server $PREFIX/bin; \
                        echo $PREFIX > $PREFIX/where\"";

    #[test]
    fn a_folder_is_built_once_and_again_when_it_has_changed() {
        let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let cache = Cache::at(root.path());
        let file = recipe(home.path(), GOOD, "folder = \"source\"");
        let first = in_workshop(&file, &cache).unwrap();
        assert_eq!((first.version.as_str(), first.source), ("9.7.4", Source::Recipe));
        assert_eq!(in_workshop(&file, &cache).unwrap(), first);
        let crate::Runs::Program(program) = &first.runs else { panic!("{first:?}") };
        let place = program.ancestors().nth(2).unwrap();
        let remembered = fs::read_to_string(place.join("where")).unwrap();
        assert_eq!(Path::new(remembered.trim()), place, "it runs from where it was installed");
        fs::write(home.path().join("source/more"), "x").unwrap();
        assert_ne!(in_workshop(&file, &cache).unwrap().runs, first.runs);
        assert!(!home.path().join("source/bin").exists(), "the source stays as it is");
    }

    #[test]
    fn a_broken_build_is_told_with_its_last_lines_and_leaves_nothing() {
        let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let cache = Cache::at(root.path());
        for (steps, expected) in [
            ("\"mkdir $PREFIX; seq 30; echo 'server.c:7: error'; exit 2\"", "server.c:7: error"),
            ("\"true\"", "have not created $PREFIX"),
            ("\"mkdir $PREFIX\"", "have not created $PREFIX/bin/server"),
        ] {
            let file = recipe(home.path(), steps, "folder = \"source\"");
            let message = in_workshop(&file, &cache).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let left = fs::read_dir(root.path()).unwrap().flatten().map(|entry| entry.path());
        let left: Vec<_> = left.filter(|path| path.is_dir()).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn a_commit_of_a_repository_is_taken_not_what_lies_in_its_folder() {
        let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = recipe(home.path(), GOOD, "folder = \"source\"\ncommit = \"first\"");
        let git = "git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm x \
                   && git tag first && rm server";
        let status = Command::new("sh")
            .args(["-e", "-c", git])
            .current_dir(home.path().join("source"))
            .status()
            .unwrap();
        assert!(status.success());
        let cache = Cache::at(root.path());
        assert_eq!(in_workshop(&file, &cache).unwrap().version, "9.7.4");
        let file = recipe(home.path(), GOOD, "folder = \"source\"\ncommit = \"second\"");
        let message = in_workshop(&file, &cache).unwrap_err().to_string();
        assert!(message.contains("no such commit, branch or tag"), "{message}");
    }
}
