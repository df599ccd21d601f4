//! Initialised data folders, kept as templates: copying one takes a tenth of a second, making one takes seconds.
//!
//! Idea: an empty data folder depends on the server's version and on our own arguments only. It is copied
//! right after it was made, before any server ran on it.
//! Assumption: two builds of the same version from the same source make the same folder. For a program that
//! the user named this is not assumed: there every start initialises anew.

use std::fs;
use std::path::Path;

use crate::cache::{Cache, make_folder};
use crate::folder::OwnedFolder;
use crate::install::{Installation, Source};
use crate::user::OtherUser;
use crate::{Error, Progress, copy};

/// To be raised when the arguments of initialisation change.
const GENERATION: u32 = 1;

/// The template's name in the cache; `None` if this installation gets no template.
pub(crate) fn key(installation: &Installation) -> Option<String> {
    let Installation { product, version, source, .. } = installation;
    match source {
        Source::Binary | Source::Container | Source::Recipe => None,
        _ => {
            let product = product.file_name();
            Some(format!("template-{product}-{version}-{source}-{GENERATION}"))
        }
    }
}

/// Copies the template to `data`; false if there is none.
pub(crate) fn take(
    cache: &Cache,
    key: &str,
    data: &Path,
    owner: Option<OtherUser>,
) -> Result<bool, Error> {
    let place = cache.place(key);
    if !place.is_dir() {
        return Ok(false);
    }
    copy::tree(&place, data, owner).map_err(Error::io("copy the template to", data))?;
    Ok(true)
}

/// Makes a template of a data folder that was just initialised.
pub(crate) fn save(
    cache: &Cache,
    key: &str,
    data: &Path,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let _lock = cache.lock(key, progress)?;
    let place = cache.place(key);
    if place.exists() {
        return Ok(());
    }
    let parent = place.parent().unwrap_or(Path::new("/"));
    make_folder(parent)?;
    let folder = OwnedFolder::create(parent)?;
    let half = folder.path().join("data");
    copy::tree(data, &half, None).map_err(Error::io("copy to", &half))?;
    fs::rename(&half, &place).map_err(Error::io("create", &place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Runs, Silent};
    use anchorite_model::Product;

    #[test]
    fn a_template_is_saved_and_taken() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(&root.path().join("cache"));
        let data = root.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("ibdata1"), "empty").unwrap();
        let copy = root.path().join("copy");
        assert!(!take(&cache, "t", &copy, None).unwrap());
        save(&cache, "t", &data, &Silent).unwrap();
        save(&cache, "t", &data, &Silent).unwrap();
        assert!(take(&cache, "t", &copy, None).unwrap());
        assert_eq!(fs::read_to_string(copy.join("ibdata1")).unwrap(), "empty");
    }

    #[test]
    fn a_program_of_the_users_own_gets_no_template() {
        let installation = |source| Installation {
            product: Product::named("mysql"),
            version: "9.7.4".to_owned(),
            source,
            runs: Runs::Program("/x/mysqld".into()),
        };
        assert_eq!(key(&installation(Source::Debian)).unwrap(), "template-mysql-9.7.4-debian-1");
        assert_eq!(key(&installation(Source::Binary)), None);
    }
}
