//! A program that the user named: `--binary`, or the variable of a product that no package provides.

use std::path::{Path, PathBuf};

use super::version_of;
use crate::install::{Installation, Runs, Source};
use crate::version::satisfies;
use crate::{Error, Request, catalog, tool};

/// The installation that the user named, if any. Its product and version are checked.
pub(crate) fn find(request: &Request) -> Result<Option<Installation>, Error> {
    let value = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let variable = catalog::server(request.product).variable.as_deref();
    let (program, named_by) = match (&request.binary, variable) {
        (Some(program), _) => (program.clone(), "--binary"),
        (None, Some(name)) => match value(name) {
            Some(program) => (PathBuf::from(program), name),
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    match check(request, &program) {
        Ok(installation) => Ok(Some(installation)),
        Err(reason) => Err(Error::Given { named_by, program, reason }),
    }
}

fn check(request: &Request, program: &Path) -> Result<Installation, String> {
    if !program.exists() {
        return Err("there is no such file".to_owned());
    }
    if !tool::is_program(program) {
        return Err("it cannot be executed".to_owned());
    }
    let program = std::path::absolute(program).map_err(|error| error.to_string())?;
    let product = request.product;
    let version = version_of(product, &program)
        .ok_or_else(|| format!("it does not say that it is a {product} server"))?;
    match &request.version {
        Some(asked) if !satisfies(&version, asked) => {
            Err(format!("it is version {version}, not {asked}"))
        }
        _ => Ok(Installation {
            product,
            version,
            source: Source::Binary,
            runs: Runs::Program(program),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::testing::write_script;

    fn ask(request: &str, script: Option<&str>) -> Result<Option<Installation>, Error> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("server");
        if let Some(script) = script {
            write_script(&program, script);
        }
        let request = Request { binary: Some(program), ..request.parse().unwrap() };
        find(&request)
    }

    #[test]
    fn a_named_program_is_asked_who_it_is() {
        let says = "#!/bin/sh\necho 'server Ver 9.7.4-2 for Linux'\n";
        let found = ask("mysql@9.7", Some(says)).unwrap().unwrap();
        assert_eq!((found.version.as_str(), found.source), ("9.7.4", Source::Binary));
        for (request, script, expected) in [
            ("mysql@8.0", Some(says), "it is version 9.7.4, not 8.0"),
            ("mariadb", Some(says), "does not say that it is a mariadb server"),
            ("mysql", None, "there is no such file"),
        ] {
            let error = ask(request, script).unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(expected), "{error}");
        }
    }
}
