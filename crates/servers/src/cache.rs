//! The cache of unpacked and built servers: one folder per product and version, complete or absent.
//!
//! Idea: an entry is made in a temporary folder beside its place and renamed at the end, so that it is
//! never seen half-made; a lock file keeps two processes from doing the same download twice; downloads and
//! build caches stay in the temporary folder and vanish with it.
//! Trap: PostgreSQL started by root runs as another user, who cannot reach a cache in root's home. Such
//! entries go to the system's cache folder instead.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use anchorite_model::Product;
use serde::{Deserialize, Serialize};

use crate::folder::OwnedFolder;
use crate::install::{Installation, Runs, Source};
use crate::{Error, Progress, family, leftovers, limits};

const MANIFEST: &str = "installed.json";
/// For entries that another user must reach, when we are root.
const SYSTEM_CACHE: &str = "/var/cache/anchorite";

/// A cache folder.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    root: PathBuf,
}

/// What an entry says about itself.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    product: String,
    version: String,
    source: String,
    /// Relative to the entry.
    program: PathBuf,
}

/// What a recipe made: the program inside the entry, and its version.
#[derive(Debug)]
pub(crate) struct Made {
    /// Relative to the entry.
    pub program: PathBuf,
    /// What the program says.
    pub version: String,
}

/// The place where a recipe works.
pub(crate) struct Workshop<'a> {
    /// The temporary folder; whatever else is put into it vanishes at the end.
    pub folder: &'a OwnedFolder,
    /// The new entry, to be filled, inside the temporary folder.
    pub entry: PathBuf,
    /// Where the entry will be at the end.
    pub place: PathBuf,
}

impl Cache {
    /// The cache for servers of this product.
    pub(crate) fn of(product: Product) -> Result<Self, Error> {
        let root = user_cache()?;
        // If it does not exist yet, what counts is how far down its path the user can get.
        let out_of_reach = family::other_user(product).is_some_and(|user| !user.reaches(&root));
        Ok(Self { root: if out_of_reach { PathBuf::from(SYSTEM_CACHE) } else { root } })
    }

    /// A cache in a given folder.
    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The place of an entry, whether it is there or not.
    pub(crate) fn place(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    /// The entry of this name, if it is there.
    pub(crate) fn find(&self, key: &str) -> Option<Installation> {
        let place = self.place(key);
        let text = fs::read_to_string(place.join(MANIFEST)).ok()?;
        let manifest: Manifest = serde_json::from_str(&text).ok()?;
        let program = place.join(&manifest.program);
        program.exists().then_some(Installation {
            product: manifest.product.parse().ok()?,
            version: manifest.version,
            source: Source::named(&manifest.source)?,
            runs: Runs::Program(program),
        })
    }

    /// The entry of this name; `make` fills it if it is not there.
    pub(crate) fn find_or_make(
        &self,
        key: &str,
        product: Product,
        source: Source,
        progress: &dyn Progress,
        make: impl FnOnce(&Workshop<'_>) -> Result<Made, Error>,
    ) -> Result<Installation, Error> {
        if let Some(found) = self.find(key) {
            return Ok(found);
        }
        let _lock = self.lock(key, progress)?;
        // Another process may have made it while we waited for the lock.
        if let Some(found) = self.find(key) {
            return Ok(found);
        }
        leftovers::sweep(&self.root);
        let folder = OwnedFolder::create(&self.root)?;
        let workshop = Workshop {
            folder: &folder,
            entry: folder.path().join("entry"),
            place: self.place(key),
        };
        make_folder(&workshop.entry)?;
        let made = make(&workshop)?;
        let manifest = Manifest {
            product: product.name().to_owned(),
            version: made.version,
            source: source.name().to_owned(),
            program: made.program,
        };
        write_manifest(&workshop.entry, &manifest)?;
        self.put(&workshop)?;
        let lost = || io::Error::other("the new entry cannot be read");
        self.find(key).ok_or_else(lost).map_err(Error::io("use", &workshop.place))
    }

    fn put(&self, workshop: &Workshop<'_>) -> Result<(), Error> {
        // An entry without a manifest, or whose program is gone, must be removed first.
        crate::folder::remove(&workshop.place);
        fs::rename(&workshop.entry, &workshop.place).map_err(Error::io("create", &workshop.place))
    }

    /// Waits until nobody else makes this entry. The lock ends with the value.
    pub(crate) fn lock(&self, key: &str, progress: &dyn Progress) -> Result<File, Error> {
        make_folder(&self.root)?;
        let path = self.root.join(format!("{key}.lock"));
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
            Err(TryLockError::WouldBlock) => {}
        }
        progress.step(&format!("waiting for another process that is fetching {key}"));
        // A lock has no limit of its own, so somebody else waits for it. Who gets it too late lets it go at once.
        let (sender, locked) = mpsc::channel();
        std::thread::spawn(move || sender.send(file.lock().map(|()| file)));
        let late = || io::Error::other("another process has held the lock for too long");
        let locked = locked.recv_timeout(limits::CACHE_LOCK).unwrap_or_else(|_| Err(late()));
        locked.map_err(Error::io("lock", &path))
    }
}

fn write_manifest(entry: &Path, manifest: &Manifest) -> Result<(), Error> {
    let path = entry.join(MANIFEST);
    let text = serde_json::to_string_pretty(manifest).unwrap_or_default();
    fs::write(&path, text + "\n").map_err(Error::io("write", &path))
}

/// `$ANCHORITE_CACHE`, `$XDG_CACHE_HOME/anchorite` or `~/.cache/anchorite`.
fn user_cache() -> Result<PathBuf, Error> {
    user_folder("ANCHORITE_CACHE", "XDG_CACHE_HOME", ".cache")
}

/// The folder that `own` names, else `anchorite` inside the one that `xdg` names, else inside `home_part` of
/// the home folder.
pub(crate) fn user_folder(own: &str, xdg: &str, home_part: &str) -> Result<PathBuf, Error> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = variable(own) {
        return std::path::absolute(&folder).map_err(Error::io("find", Path::new(&folder)));
    }
    // The specification says that a relative path there is to be ignored.
    let base = variable(xdg).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(home_part));
    let base = base.or_else(home).ok_or_else(|| {
        let error = io::Error::new(io::ErrorKind::NotFound, format!("set HOME, {xdg} or {own}"));
        Error::io("find", Path::new("the home folder"))(error)
    })?;
    Ok(base.join("anchorite"))
}

/// Makes a folder with those above it. Readable for all, whatever the umask: a server that runs as another
/// user needs it.
pub(crate) fn make_folder(path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        return Ok(());
    }
    let readable = fs::Permissions::from_mode(0o755);
    fs::create_dir_all(path)
        .and_then(|()| fs::set_permissions(path, readable))
        .map_err(Error::io("create", path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn make(cache: &Cache, count: &AtomicU32) -> Result<Installation, Error> {
        cache.find_or_make(
            "mysql-9.7",
            Product::named("mysql"),
            Source::Debian,
            &Silent,
            |workshop| {
                count.fetch_add(1, Ordering::SeqCst);
                fs::write(workshop.entry.join("mysqld"), "program").unwrap();
                fs::write(workshop.folder.path().join("download"), "much").unwrap();
                Ok(Made { program: "mysqld".into(), version: "9.7.4".to_owned() })
            },
        )
    }

    #[test]
    fn an_entry_is_made_once_even_by_two_at_a_time() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        let count = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| make(&cache, &count).unwrap());
            }
        });
        assert_eq!(count.into_inner(), 1);
        let found = cache.find("mysql-9.7").unwrap();
        assert_eq!((found.version.as_str(), found.source), ("9.7.4", Source::Debian));
        assert_eq!(found.runs, Runs::Program(root.path().join("mysql-9.7/mysqld")));
        let mut names: Vec<_> = fs::read_dir(root.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["mysql-9.7", "mysql-9.7.lock"]);
    }

    #[test]
    fn a_failure_leaves_nothing_and_a_broken_entry_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        let failed = cache.find_or_make(
            "mysql-9.7",
            Product::named("mysql"),
            Source::Debian,
            &Silent,
            |workshop| {
                fs::write(workshop.entry.join("mysqld"), "half").unwrap();
                Err(Error::Interrupted)
            },
        );
        assert!(failed.is_err() && cache.find("mysql-9.7").is_none());
        assert!(!cache.place("mysql-9.7").exists());
        fs::create_dir(cache.place("mysql-9.7")).unwrap();
        assert!(make(&cache, &AtomicU32::new(0)).is_ok());
    }
}
