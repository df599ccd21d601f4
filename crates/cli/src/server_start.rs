//! `anchorite server start`: one server or several side by side, kept or until Ctrl-C.
//!
//! Idea: all are started before anything is said, and one that does not start ends those before it, so that a command
//! either gives everything that was asked for or leaves nothing behind.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anchorite_model::Product;
use anchorite_servers::{
    Error, Kept, Options, Request, RunningServer, keep, set, start, stop_kept,
};
use clap::Args;
use serde_json::{Value, json};

use crate::exit::{BadInput, Exit};
use crate::output::print;
use crate::private::{Spinner, ready, stop_servers_on_signals};
use crate::server_output::{Format, FormatArgs, of_kept, print_json};

/// How long one wait for a server to end lasts before the next begins.
const WAIT_SLICE: Duration = Duration::from_secs(3600);

/// Arguments of `server start`.
#[derive(Debug, Args)]
pub struct StartArgs {
    /// The servers: mariadb, mysql, postgres, tidb or cockroach, with an optional version (postgres@15), or
    /// recipe:FILE
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<String>,
    /// Leave them running after this command; `anchorite server stop` stops them
    #[arg(long)]
    keep: bool,
    /// Use this server program instead of looking for one
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// A setting of the server; repeatable
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<Setting>,
    /// An extra argument for the server program, after ours; repeatable
    #[arg(long = "arg", value_name = "X", allow_hyphen_values = true)]
    extra: Vec<String>,
    #[command(flatten)]
    format: FormatArgs,
}

/// A setting of a server.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Reads `NAME=VALUE`.
pub fn setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            Ok(Setting { name: name.to_owned(), value: value.to_owned() })
        }
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// Starts what was asked for.
pub fn run(args: &StartArgs) -> anyhow::Result<ExitCode> {
    let requests = args.requests()?;
    stop_servers_on_signals()?;
    match args.keep {
        true => keep_all(args, &requests),
        false => start_all(args, &requests),
    }
}

impl StartArgs {
    fn requests(&self) -> anyhow::Result<Vec<Request>> {
        if self.binary.is_some() && self.targets.len() > 1 {
            let message = "--binary is one program: name one target".to_owned();
            return Err(BadInput(message).into());
        }
        let requests = self.targets.iter().map(|target| {
            let mut request: Request = target.parse()?;
            request.binary.clone_from(&self.binary);
            Ok(request)
        });
        requests.collect()
    }

    /// The arguments for this product's server program.
    fn extra_args(&self, product: Product) -> Result<Vec<String>, Error> {
        let mut all = Vec::new();
        for Setting { name, value } in &self.settings {
            all.extend(set(product, name, value)?);
        }
        all.extend(self.extra.iter().cloned());
        Ok(all)
    }
}

fn keep_all(args: &StartArgs, requests: &[Request]) -> anyhow::Result<ExitCode> {
    let mut kept: Vec<Kept> = Vec::new();
    for request in requests {
        let one = with_options(args, request, &|options| keep(request, options));
        match one {
            Ok(one) => kept.push(one),
            Err(error) => {
                let names: Vec<String> = kept.into_iter().map(|server| server.name).collect();
                stop_kept(Some(&names))?;
                return Err(error.into());
            }
        }
    }
    match args.format.format {
        Format::Json => print_json(kept.iter().map(of_kept).collect()),
        Format::Text => {
            for (request, kept) in requests.iter().zip(&kept) {
                let connect = how_to_connect(request.product, &kept.url, kept.port, &kept.folder);
                print(&format!(
                    "{} {} is running.\n{connect}stop:    anchorite server stop {}\n",
                    kept.target, kept.version, kept.name
                ));
            }
        }
    }
    Ok(Exit::Fine.into())
}

fn start_all(args: &StartArgs, requests: &[Request]) -> anyhow::Result<ExitCode> {
    let mut servers: Vec<(&Request, RunningServer)> = Vec::new();
    for request in requests {
        let server = with_options(args, request, &|options| start(request, options))?;
        servers.push((request, server));
    }
    match args.format.format {
        Format::Json => {
            print_json(
                servers.iter().map(|(request, server)| of_running(request, server)).collect(),
            );
        }
        Format::Text => {
            for (request, server) in &servers {
                let (url, port) = (server.url(), server.endpoint.port);
                let connect = how_to_connect(request.product, &url, port, server.folder());
                print(&format!("{request} {} is running.\n{connect}", server.version));
            }
            print(match servers.len() {
                1 => "Ctrl-C stops it and removes the folder.\n",
                _ => "Ctrl-C stops them and removes the folders.\n",
            });
        }
    }
    std::thread::scope(|scope| {
        let waiting: Vec<_> = servers
            .iter()
            .map(|(request, server)| scope.spawn(move || until_its_end(request, server)))
            .collect();
        let ends = waiting.into_iter().map(|end| end.join().unwrap_or(Ok(())));
        ends.collect::<Result<(), Error>>()
    })?;
    Ok(Exit::Fine.into())
}

/// An error if the server ended by itself.
fn until_its_end(request: &Request, server: &RunningServer) -> Result<(), Error> {
    while !server.ended_within(WAIT_SLICE) {}
    let log = server.log_tail();
    if server.was_stopped() {
        return Ok(());
    }
    let server = request.to_string();
    Err(Error::Start { server, reason: "it exited by itself".to_owned(), log })
}

fn with_options<T>(
    args: &StartArgs,
    request: &Request,
    started: &dyn Fn(&Options<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let progress = Spinner::new();
    let extra_args = args.extra_args(request.product)?;
    let result = started(&Options { extra_args, ready: &ready, progress: &progress });
    progress.finish();
    result
}

fn how_to_connect(product: Product, url: &str, port: u16, folder: &Path) -> String {
    let client = product.descriptor().connection.client.replace("{port}", &port.to_string());
    format!("target:  {url}\nclient:  {client}\nfolder:  {}\n", folder.display())
}

fn of_running(request: &Request, server: &RunningServer) -> Value {
    json!({
        "target": request.to_string(), "version": server.installation.version,
        "source": server.installation.source.name(), "cached": true,
        "running": {"url": server.url(), "pid": server.pid, "folder": server.folder()},
    })
}
