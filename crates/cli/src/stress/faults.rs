//! `--faults` and `--set`: which faults, and the settings of a server that they are done to.

use anchorite_drivers::has_blows;
use anchorite_model::nearest::did_you_mean;
use anchorite_servers::{Request, durable, set};
use anchorite_stress::Fault;

use crate::exit::BadInput;
use crate::server_start::Setting;
use crate::targets::OpenTarget;

/// The faults that were named.
pub fn chosen(names: &[String]) -> anyhow::Result<Vec<Fault>> {
    let read = |name: &String| {
        name.parse::<Fault>().map_err(|error| {
            let known: Vec<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
            let hint = did_you_mean(name, known.iter().copied());
            BadInput(format!("{error}{hint}: expected one of {}", known.join(", "))).into()
        })
    };
    names.iter().map(read).collect()
}

/// Further arguments of a private server: where it is killed, what makes it durable, then what was set.
pub fn arguments(on: &str, faults: &[Fault], settings: &[Setting]) -> anyhow::Result<Vec<String>> {
    let is_killed = faults.contains(&Fault::KillServer);
    let request = on.parse::<Request>().ok().filter(|_| !on.contains("://"));
    let Some(request) = request else {
        if let Some(setting) = settings.first() {
            let name = &setting.name;
            return Err(BadInput(format!("--set {name}: {on} is no private server")).into());
        }
        return Ok(Vec::new());
    };
    let mut arguments = Vec::new();
    if is_killed {
        arguments.extend(durable(request.product).iter().cloned());
        if arguments.is_empty() {
            let product = request.product;
            let reason = format!("kill-server: no durable settings are known for {product}");
            return Err(BadInput(reason).into());
        }
    }
    for Setting { name, value } in settings {
        arguments.extend(set(request.product, name, value)?);
    }
    Ok(arguments)
}

/// Whether the target has these faults; `is_apart` if its sessions are processes of their own.
pub fn check(open: &OpenTarget, is_apart: bool, faults: &[Fault]) -> anyhow::Result<()> {
    let product = open.target.info().product;
    for fault in faults {
        let is_killed = is_apart && *fault == Fault::KillServer;
        if fault.needs_server() && open.server.is_none() && !is_killed {
            let reason = format!(
                "{fault} needs a private server, which this command starts: expected --on PRODUCT or \
                 PRODUCT@VERSION, such as --on postgres@15{}",
                if *fault == Fault::KillServer { ", or --on sqlite:wal" } else { "" }
            );
            return Err(BadInput(reason).into());
        }
        if fault.needs_statement() && !has_blows(product) {
            let reason = format!("{fault}: {product} ends no connections by a statement");
            return Err(BadInput(reason).into());
        }
    }
    Ok(())
}
