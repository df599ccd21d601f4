//! Where servers come from: one file per source.
//!
//! Order: a recipe file or a program that the user named; a program on PATH of the version that was asked for; what is
//! in the cache;
//! then the recipes of the catalog that can work on this machine; then a container. Whatever arrives is asked for its
//! version: a source never passes off another version as the requested one.

mod apt;
pub(crate) mod container;
mod debian;
mod given;
mod go;
mod npm;
mod patch;
pub(crate) mod path;
mod recipe;
mod sources_list;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anchorite_model::Product;

use crate::cache::{Cache, Made, Workshop};
use crate::catalog::{self, Recipe, Row};
use crate::install::{Installation, Source};
use crate::version::satisfies;
use crate::{Error, Progress, Request, family, tool, version_output};

/// Finds, fetches or builds the server that was asked for.
pub fn obtain(request: &Request, progress: &dyn Progress) -> Result<Installation, Error> {
    if let Some(file) = &request.recipe {
        return recipe::obtain(request, file, progress);
    }
    if let Some(given) = given::find(request)? {
        return Ok(given);
    }
    let asked = request.effective_version();
    if let Some(found) = path::find(request.product, asked) {
        return Ok(found);
    }
    let mut reasons = vec![match asked {
        Some(version) => format!("no {} {version} on PATH", request.product),
        None => format!("no {} on PATH", request.product),
    }];
    let own_suite = debian::own_suite();
    for row in catalog::candidates(request.product, asked, own_suite.as_deref()) {
        match from_recipe(&row, asked, progress) {
            Ok(installation) => return Ok(installation),
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(Error::Unavailable { reason, .. }) => {
                reasons.push(format!("{}: {reason}", source_of(&row)));
            }
            Err(error) => reasons.push(format!("{}: {error}", source_of(&row))),
        }
    }
    match container::find(request.product, asked) {
        Some(installation) => Ok(installation),
        None => Err(Error::Unavailable {
            request: request.to_string(),
            reason: explain(request, reasons),
        }),
    }
}

/// What the user can do instead, in one message.
fn explain(request: &Request, mut reasons: Vec<String>) -> String {
    let product = request.product;
    let series = catalog::series_of(product);
    reasons.push("podman or docker is missing or does not answer".to_owned());
    let mut text = reasons.join("; ");
    if !series.is_empty() {
        text += &format!(". Versions that can be fetched or built: {}", series.join(", "));
    }
    if let Some(variable) = &catalog::server(product).variable {
        text += &format!(". {variable} may be set to a program");
    }
    // Only `server start` has this option, and the reader may have called another command.
    text + &format!(
        ". To use your own program: anchorite server start {product} --binary PATH --keep, then --on with its URL"
    )
}

/// The ways to a server without our recipes.
pub(crate) fn own_program(product: Product) -> String {
    let variable = match &catalog::server(product).variable {
        Some(variable) => format!(", name it with {variable}"),
        None => String::new(),
    };
    format!(
        "put a program on PATH{variable} or with anchorite server start {product} --binary PATH, or install podman or \
         docker"
    )
}

/// The program of a product that the environment names, if it is one.
pub(crate) fn given(product: Product) -> Option<Installation> {
    given::find(&Request::any(product)).ok().flatten()
}

/// The word for a recipe.
pub(crate) fn source_of(row: &Row) -> Source {
    match row.recipe {
        Recipe::Debian { .. } => Source::Debian,
        Recipe::Go(_) => Source::Go,
        Recipe::Npm { .. } => Source::Npm,
    }
}

/// Why a recipe cannot work on this machine; `None` if it can. Asks nobody outside.
pub(crate) fn obstacle(row: &Row) -> Option<String> {
    match row.recipe {
        Recipe::Debian { .. } => debian::obstacle(),
        Recipe::Go(build) => go::obstacle(build),
        Recipe::Npm { package, .. } => npm::obstacle(package),
    }
}

/// The name of the cache entry for a row. An npm package has all patch versions, so the one asked for is kept
/// by its own name.
pub(crate) fn cache_key(row: &Row, asked: Option<&str>) -> String {
    let version = match (row.recipe, asked) {
        (Recipe::Npm { .. }, Some(asked)) if asked.len() > row.series.len() => asked,
        _ => row.series,
    };
    match row.recipe {
        Recipe::Npm { .. } => format!("{}-{version}-npm", row.product.file_name()),
        _ => format!("{}-{version}", row.product.file_name()),
    }
}

fn from_recipe(
    row: &Row,
    asked: Option<&str>,
    progress: &dyn Progress,
) -> Result<Installation, Error> {
    let cache = Cache::of(row.product)?;
    let key = cache_key(row, asked);
    let unavailable = |reason: String| {
        let request = asked.map_or(row.product.to_string(), |v| format!("{}@{v}", row.product));
        Error::Unavailable { request, reason }
    };
    let found = match cache.find(&key) {
        Some(found) => found,
        None => {
            if let Some(obstacle) = obstacle(row) {
                return Err(unavailable(obstacle));
            }
            let make = |workshop: &Workshop<'_>| match row.recipe {
                Recipe::Debian { suite, packages, program } => {
                    debian::make(workshop, row.product, (suite, packages, program), progress)
                }
                Recipe::Go(build) => go::make(workshop, row.product, build, progress),
                Recipe::Npm { package, program } => {
                    let wanted = asked.filter(|asked| asked.len() > row.series.len());
                    let wanted = wanted.unwrap_or(row.series);
                    npm::make(workshop, row.product, (package, program), wanted, progress)
                }
            };
            cache.find_or_make(&key, row.product, source_of(row), progress, make)?
        }
    };
    match asked {
        Some(asked) if !satisfies(&found.version, asked) => Err(unavailable(format!(
            "the cached version is {}; if there should be a newer one, remove {} and try again",
            found.version,
            cache.place(&key).display()
        ))),
        _ => Ok(found),
    }
}

/// Asks a program for its version; `None` if it does not answer or is another product.
pub(crate) fn version_of(product: Product, program: &Path) -> Option<String> {
    version_by(product, &[program.to_owned()])
}

/// Asks a program that is started with this command line.
fn version_by(product: Product, words: &[PathBuf]) -> Option<String> {
    let (program, rest) = words.split_first()?;
    let args = rest.iter().map(|word| word.as_os_str());
    let args = args.chain(family::version_args(product).iter().map(OsStr::new));
    let (_, output) = tool::ask(program, args)?;
    version_output::from_output(product, &output)
}

/// Asks the program that a recipe put into the workshop for its version, using this command line.
fn made(product: Product, program: &Path, words: &[PathBuf]) -> Result<Made, Error> {
    let version = version_by(product, words).ok_or_else(|| Error::Tool {
        what: format!("asking {} for its version", program.display()),
        reason: format!("it does not say that it is a {product} server"),
    })?;
    Ok(Made { program: program.to_owned(), version })
}

#[cfg(test)]
pub(crate) mod testing {
    //! Fake programs.

    use std::io::Write;
    use std::path::Path;
    use std::process::{Command, Stdio};

    /// Writes a shell script that can be executed. Another process writes it: if this one did, a child that
    /// another thread forks at that moment would hold it open for writing, and it could not be executed.
    pub(crate) fn write_script(path: &Path, script: &str) {
        let mut shell = Command::new("sh")
            .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
            .arg(path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        assert!(shell.wait().unwrap().success());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_keys_tell_versions_and_sources_apart() {
        let row = |product, version| catalog::candidates(product, Some(version), None)[0];
        assert_eq!(cache_key(&row(Product::named("mysql"), "9.7"), Some("9.7")), "mysql-9.7");
        assert_eq!(cache_key(&row(Product::named("mysql"), "9.7"), Some("9.7.4")), "mysql-9.7");
        assert_eq!(cache_key(&row(Product::named("tidb"), "8.5.0"), Some("8.5.0")), "tidb-8.5");
        assert_eq!(
            cache_key(&row(Product::named("postgres"), "16.4"), Some("16.4")),
            "postgres-16.4-npm"
        );
        assert_eq!(
            cache_key(&row(Product::named("postgres"), "16"), Some("16")),
            "postgres-16-npm"
        );
    }

    #[test]
    fn what_cannot_be_had_says_what_can() {
        let request: Request = "mariadb@5.5".parse().unwrap();
        let text = explain(&request, vec!["no mariadb 5.5 on PATH".to_owned()]);
        assert!(
            text.contains("11.8, 10.11, 10.5") && text.contains("server start mariadb --binary"),
            "{text}"
        );
        let text = explain(&Request::any(Product::named("cockroach")), Vec::new());
        assert!(text.contains("ANCHORITE_COCKROACH"), "{text}");
    }
}
