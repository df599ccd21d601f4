//! Servers in containers, where podman or docker is installed and answers.
//!
//! Idea: the products' official images by their short names; the engine decides where they come from. The
//! container is named after its owner, publishes one loopback port, keeps its data in memory and is removed
//! at the end; a container whose owner was killed is removed by the next start.
//! Assumption: the images' entry points pass arguments on to the server.
//! Blind spot: the server is no process of ours; what is watched is the engine's own `wait` command.

use std::path::{Path, PathBuf};
use std::process::Command;

use anchorite_model::Product;
use anchorite_model::product as description;

use crate::container::Container;
use crate::folder::OwnedFolder;
use crate::install::{Installation, Runs, Source};
use crate::{Error, Progress, catalog, family, limits, tool, work};

/// The engine, if there is one whose daemon answers.
pub(crate) fn engine() -> Option<PathBuf> {
    ["podman", "docker"].iter().find_map(|name| {
        let program = tool::on_path(&[name])?;
        let (status, _) = tool::ask(&program, ["info"])?;
        status.success().then_some(program)
    })
}

/// The image that was asked for, if there is an engine. Whether the image exists shows when it is fetched.
pub(crate) fn find(product: Product, asked: Option<&str>) -> Option<Installation> {
    let version = asked.unwrap_or(LATEST);
    let image = image(product, version)?;
    let runs = Runs::Image { engine: engine()?, image };
    Some(Installation { product, version: version.to_owned(), source: Source::Container, runs })
}

/// The tag of the newest image.
const LATEST: &str = "latest";

/// Whether there is an image of the product.
pub(crate) fn is_known(product: Product) -> bool {
    image(product, LATEST).is_some()
}

fn image(product: Product, version: &str) -> Option<String> {
    let tag = if version == LATEST { version.to_owned() } else { format!("v{version}") };
    let container = catalog::server(product).container.as_ref().filter(|c| !c.image.is_empty())?;
    Some(container.image.replace("{version}", version).replace("{tag}", &tag))
}

/// Fetches the image, if it is not there, and starts a container that ends with the folder.
pub(crate) fn start(
    folder: &OwnedFolder,
    (product, version): (Product, &str),
    (engine, image): (&Path, &str),
    port: u16,
    extra: &[String],
    progress: &dyn Progress,
) -> Result<Container, Error> {
    let engine_command = |args: &[String]| {
        let mut command = Command::new(engine);
        command.args(args);
        tool::feed(&mut command, None).map(|()| command)
    };
    let here = tool::ask(engine, ["image", "inspect", image]);
    if !here.is_some_and(|(status, _)| status.success()) {
        progress.step(&format!("fetching the image {image}"));
        let command = engine_command(&["pull".to_owned(), image.to_owned()])?;
        work::run(folder, command, &format!("fetching {image}"), limits::DOWNLOAD, progress)?;
    }
    let name = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let container = Container { name, engine: engine.to_owned() };
    // Noted before it runs: whatever happens from here on, it is removed with the folder.
    folder.adopt_container(container.clone())?;
    let mut args = run_args(product, version, &container.name, port);
    args.push(image.to_owned());
    args.extend(family::settings(product, version));
    args.extend_from_slice(extra);
    let command = engine_command(&args)?;
    work::run(folder, command, &format!("starting {image}"), limits::INITIALISE, progress)?;
    Ok(container)
}

/// The engine's own arguments.
fn run_args(product: Product, version: &str, name: &str, port: u16) -> Vec<String> {
    let Some(container) = &catalog::server(product).container else { return Vec::new() };
    let (data, environment) = (data_folder(container, version), container.environment.as_str());
    let words = ["run", "-d", "--rm", "--name", name, "--env", environment, "--tmpfs", data];
    let mut args: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    args.extend(["--publish".to_owned(), format!("127.0.0.1:{port}:{}", container.port)]);
    args
}

/// From version 18 on the image's data folder has the version below it.
fn data_folder<'c>(container: &'c description::Container, version: &str) -> &'c str {
    match (crate::version::numbers(version).first(), &container.data_before) {
        (Some(first), Some((before, data))) if first < before => data,
        _ => &container.data,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;
    use crate::source::testing::write_script;

    #[test]
    fn images_are_named_by_version() {
        assert_eq!(image(Product::named("postgres"), "16").as_deref(), Some("postgres:16"));
        assert_eq!(image(Product::named("tidb"), "8.5.0").as_deref(), Some("pingcap/tidb:v8.5.0"));
        assert_eq!(
            image(Product::named("cockroach"), "latest").as_deref(),
            Some("cockroachdb/cockroach:latest")
        );
    }

    #[test]
    fn only_a_loopback_port_is_published() {
        for product in [
            Product::named("mariadb"),
            Product::named("postgres"),
            Product::named("tidb"),
            Product::named("cockroach"),
        ] {
            let args = run_args(product, "17", "anchorite-1", 4321);
            let at = args.iter().position(|arg| arg == "--publish").unwrap();
            assert!(args[at + 1].starts_with("127.0.0.1:4321:"), "{args:?}");
            assert!(args.contains(&"--rm".to_owned()));
        }
        let postgres = catalog::server(Product::named("postgres")).container.as_ref().unwrap();
        assert_eq!(data_folder(postgres, "17.2"), "/var/lib/postgresql/data");
        assert_eq!(data_folder(postgres, "latest"), "/var/lib/postgresql");
    }

    /// A fake engine that only records its calls; it has no images, and its containers run.
    const ENGINE: &str = "#!/bin/sh\necho \"$@\" >> \"$(dirname \"$0\")/told\"\n\
        case \"$1 $2\" in 'image inspect') exit 1;; 'inspect --format') echo true;; esac\n";

    #[test]
    fn a_container_is_fetched_started_and_removed_with_its_folder() {
        let parent = tempfile::tempdir().unwrap();
        let engine = parent.path().join("engine");
        write_script(&engine, ENGINE);
        let folder = OwnedFolder::create(parent.path()).unwrap();
        let name = folder.path().file_name().unwrap().to_string_lossy().into_owned();
        let server = (Product::named("postgres"), "16");
        let image = (engine.as_path(), "postgres:16");
        let extra = ["-c".to_owned(), "jit=off".to_owned()];
        let container = start(&folder, server, image, 4321, &extra, &Silent).unwrap();
        assert!(container.runs());
        drop(folder);
        let told = std::fs::read_to_string(parent.path().join("told")).unwrap();
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines[..2], ["image inspect postgres:16", "pull postgres:16"]);
        assert!(lines[2].starts_with(&format!("run -d --rm --name {name} ")), "{}", lines[2]);
        assert!(
            lines[2].contains(" postgres:16 -c fsync=off ") && lines[2].ends_with(" -c jit=off")
        );
        assert_eq!(lines[lines.len() - 1], format!("rm -f -v {name}"));
    }
}
