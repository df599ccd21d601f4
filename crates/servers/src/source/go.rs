//! Servers built from their Go modules: TiDB, with its embedded store.
//!
//! Source: pinned pseudo-versions, through the module proxy that the machine's own `go` is set up for.
//! Trap: the archive of the main module leaves out the nested parser module, and `go install` refuses
//! replace directives; so both are put together in one writable tree that is built in place.
//! Trap: each version compiles (or, worse, starts) only with a certain toolchain.
//! The module cache and the build cache, several gigabytes, are in the workshop and vanish with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anchorite_model::Product;
use anchorite_model::product::GoModule;

use super::made;
use crate::cache::{Made, Workshop};
use crate::version::numbers;
use crate::{Error, Progress, copy, limits, tool, work};

/// The first Go that fetches other toolchains.
const SWITCHES_TOOLCHAINS: [u32; 2] = [1, 21];

const PROGRAM: &str = "bin/tidb-server";

/// Why a module cannot be built here; `None` if it can.
pub(crate) fn obstacle(build: &GoModule) -> Option<String> {
    let Some(go) = tool::on_path(&["go"]) else {
        return Some("it is built from source, and go is not on PATH".to_owned());
    };
    if build.old_toolchain.is_some() && go_platform().is_none() {
        return Some(format!("no toolchain for {} processors", std::env::consts::ARCH));
    }
    let (_, output) = tool::ask(&go, ["env", "GOVERSION"])?;
    let version = output.trim().trim_start_matches("go");
    (numbers(version)[..] < SWITCHES_TOOLCHAINS[..])
        .then(|| format!("it needs Go 1.21 or later, and the go on PATH is {version}"))
}

/// Go's words for the operating system and this processor.
fn go_platform() -> Option<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Some("linux-amd64"),
        "aarch64" => Some("linux-arm64"),
        _ => None,
    }
}

/// A `go` command line with private caches.
struct Go<'a> {
    workshop: &'a Workshop<'a>,
    program: PathBuf,
    environment: Vec<(&'static str, String)>,
    progress: &'a dyn Progress,
}

impl<'a> Go<'a> {
    fn new(workshop: &'a Workshop<'a>, progress: &'a dyn Progress) -> Self {
        let part = |name: &str| workshop.folder.path().join(name).display().to_string();
        let environment = vec![
            ("GOMODCACHE", part("go-modules")),
            ("GOCACHE", part("go-build")),
            ("GOPATH", part("go-path")),
            ("GOTMPDIR", workshop.folder.path().display().to_string()),
            // A module cache that nobody may write to could not be removed.
            ("GOFLAGS", "-modcacherw -buildvcs=false".to_owned()),
            ("GOWORK", "off".to_owned()),
            ("GOTOOLCHAIN", "local".to_owned()),
        ];
        Self { workshop, program: "go".into(), environment, progress }
    }

    fn set(&mut self, name: &'static str, value: String) {
        self.environment.retain(|(other, _)| *other != name);
        self.environment.push((name, value));
    }

    fn run(&self, folder: &Path, args: &[&str], limit: Duration) -> Result<(), Error> {
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(folder).env_remove("GOROOT");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        tool::feed(&mut command, None)?;
        let what = format!("go {}", args.join(" "));
        work::run(self.workshop.folder, command, &what, limit, self.progress)
    }

    /// Downloads a module and copies it, writable, to `to`.
    fn fetch(&self, (module, version): (&str, &str), to: &Path) -> Result<(), Error> {
        self.progress.step(&format!("downloading {module} {version}"));
        let name = format!("{module}@{version}");
        self.run(self.workshop.folder.path(), &["mod", "download", &name], limits::DOWNLOAD)?;
        let from = self.workshop.folder.path().join("go-modules").join(&name);
        copy::tree(&from, to, None).map_err(Error::io("copy to", to))
    }
}

/// Downloads and builds.
pub(crate) fn make(
    workshop: &Workshop<'_>,
    product: Product,
    build: &GoModule,
    progress: &dyn Progress,
) -> Result<Made, Error> {
    let mut go = Go::new(workshop, progress);
    if let Some(version) = &build.toolchain {
        go.set("GOTOOLCHAIN", version.clone());
    }
    if let Some(version) = &build.old_toolchain {
        go.program = fetch_toolchain(&go, version)?;
    }
    let source = workshop.folder.path().join("source");
    go.fetch((&build.module.0, &build.module.1), &source)?;
    if let Some((module, version, folder)) = &build.nested {
        go.fetch((module, version), &source.join(folder))?;
    }
    let program = workshop.entry.join(PROGRAM);
    let (variable, label) = &build.label;
    let link_flags = format!("-s -w -X {variable}={label}");
    let output = program.display().to_string();
    let mut args = vec!["build", "-trimpath", "-tags", "codes", "-ldflags", &link_flags];
    args.extend(build.flags.iter().map(String::as_str));
    args.extend(["-o", &output, &build.package]);
    progress.step(&format!("building {product} {label}: this takes minutes"));
    // Listing packages as they are compiled is the only sign of life that the compiler gives.
    args.insert(1, "-v");
    go.run(&source, &args, limits::BUILD)?;
    made(product, Path::new(PROGRAM), &[program])
}

/// Fetches a toolchain from before Go could switch; its files come without the right to be executed.
fn fetch_toolchain(go: &Go<'_>, version: &str) -> Result<PathBuf, Error> {
    let platform = go_platform().unwrap_or_default();
    let folder = go.workshop.folder.path().join("go-toolchain");
    go.fetch(("golang.org/toolchain", &format!("v0.0.1-{version}.{platform}")), &folder)?;
    let tools = folder.join("pkg/tool").join(platform.replace('-', "_"));
    for programs in [folder.join("bin"), tools] {
        let entries = fs::read_dir(&programs).map_err(Error::io("read", &programs))?;
        for file in entries.flatten().map(|entry| entry.path()) {
            make_executable(&file).map_err(Error::io("make executable", &file))?;
        }
    }
    Ok(folder.join("bin/go"))
}

fn make_executable(file: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
}
