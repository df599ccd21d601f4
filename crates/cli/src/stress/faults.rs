//! `--faults` and `--set`: which faults, and the settings of a server that they are done to.

use anchorite_drivers::has_blows;
use anchorite_model::nearest::did_you_mean;
use anchorite_servers::{Request, SmallDisk, durable, fast, set};
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

/// Room for the files of an embedded engine.
const ROOM_OF_A_FILE: u64 = 64 << 20;

/// Room for the data of a server: what every data folder needs at least, and some more.
const ROOM_OF_A_SERVER: u64 = 1088 << 20;

/// A small disk for the data of the target, if it is to be filled. To be called before other threads are started.
pub fn disk(on: &str, faults: &[Fault]) -> anyhow::Result<Option<SmallDisk>> {
    if !faults.contains(&Fault::FillDisk) {
        return Ok(None);
    }
    let is_embedded = is_sqlite(on);
    if on.contains("://") || !is_embedded && on.parse::<Request>().is_err() {
        return Err(BadInput(needs_server(Fault::FillDisk)).into());
    }
    let room = if is_embedded { ROOM_OF_A_FILE } else { ROOM_OF_A_SERVER };
    let mounted = SmallDisk::mount(room);
    let target = on.to_owned();
    let failed = |reason| anchorite_drivers::TargetError::Prepare { target, reason };
    Ok(Some(mounted.map_err(|reason| failed(format!("{}: {reason}", Fault::FillDisk)))?))
}

fn is_sqlite(on: &str) -> bool {
    on == "sqlite" || on.starts_with("sqlite:")
}

fn needs_server(fault: Fault) -> String {
    let or = match fault {
        Fault::KillServer => ", or --on sqlite:wal",
        Fault::FillDisk => ", or --on sqlite",
        _ => "",
    };
    format!(
        "{fault} needs a private server, which this command starts: expected --on PRODUCT or PRODUCT@VERSION, such as \
         --on postgres@15{or}"
    )
}

/// Further arguments of a private server: where it may crash, what makes it durable, then what was set.
pub fn arguments(on: &str, faults: &[Fault], settings: &[Setting]) -> anyhow::Result<Vec<String>> {
    let crashing = faults.iter().find(|fault| fault.needs_durability());
    let request = on.parse::<Request>().ok().filter(|_| !on.contains("://"));
    let Some(request) = request else {
        if let Some(setting) = settings.first() {
            let name = &setting.name;
            return Err(BadInput(format!("--set {name}: {on} is no private server")).into());
        }
        return Ok(Vec::new());
    };
    let mut arguments = Vec::new();
    if let Some(fault) = crashing {
        arguments.extend(durable(request.product).iter().cloned());
        if arguments.is_empty() {
            let product = request.product;
            let reason = format!("{fault}: no durable settings are known for {product}");
            return Err(BadInput(reason).into());
        }
    } else {
        arguments.extend(fast(request.product).iter().cloned());
    }
    for Setting { name, value } in settings {
        arguments.extend(set(request.product, name, value)?);
    }
    Ok(arguments)
}

/// Whether the target has these faults; `is_apart` if its sessions are processes of their own, `has_disk` if its data
/// are on a disk that can be filled.
pub fn check(
    open: &OpenTarget,
    is_apart: bool,
    has_disk: bool,
    faults: &[Fault],
) -> anyhow::Result<()> {
    let product = open.target.info().product;
    for fault in faults {
        let has_it =
            is_apart && *fault == Fault::KillServer || has_disk && *fault == Fault::FillDisk;
        if fault.needs_server() && open.server.is_none() && !has_it {
            return Err(BadInput(needs_server(*fault)).into());
        }
        if fault.needs_statement() && !has_blows(product) {
            let reason = format!("{fault}: {product} ends no connections by a statement");
            return Err(BadInput(reason).into());
        }
    }
    Ok(())
}
