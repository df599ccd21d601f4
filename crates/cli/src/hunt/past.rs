//! Resuming a campaign: the command line may repeat the options that the campaign was begun with, not change them.

use std::path::Path;

use anchorite_hunt::Tally;
use anchorite_model::Level;
use anchorite_store::{Campaign, Past, Store, StoreError};

use super::arguments::HuntArgs;

/// The campaign of `--out DIR --resume`.
pub fn campaign_to_resume(arguments: &HuntArgs) -> Result<Option<Campaign>, StoreError> {
    match &arguments.out {
        Some(folder) if arguments.resume => Campaign::read(folder).map(Some),
        _ => Ok(None),
    }
}

/// Opens the folder if its campaign is the one that this command line and these targets describe.
pub fn resume(
    folder: &Path,
    past: &Campaign,
    now: &Campaign,
) -> anyhow::Result<(Store, Past<Tally>)> {
    let path = folder.join("campaign.json");
    for (what, theirs, ours) in [
        ("--seed", past.seed.to_string(), now.seed.to_string()),
        ("--on", targets(past), targets(now)),
        ("--against", against(past), against(now)),
        ("--level", levels(past), levels(now)),
        ("--oracle", past.oracles.join(" "), now.oracles.join(" ")),
        ("--strict", past.strict.to_string(), now.strict.to_string()),
        ("servers", servers(past), servers(now)),
    ] {
        if theirs != ours {
            return Err(StoreError::Differs { path, what, theirs, ours }.into());
        }
    }
    let (mut store, past) = Store::resume(folder)?;
    store.set_cases(now.cases);
    Ok((store, past))
}

fn targets(campaign: &Campaign) -> String {
    join(campaign.targets.iter().map(|target| target.on.clone()))
}

fn against(campaign: &Campaign) -> String {
    campaign.against.clone().unwrap_or_else(|| "nothing".to_owned())
}

fn servers(campaign: &Campaign) -> String {
    join(campaign.targets.iter().map(|target| target.target.to_string()))
}

fn levels(campaign: &Campaign) -> String {
    let name = |level: &Option<Level>| level.map_or("default", Level::short);
    join(campaign.targets.iter().map(|t| t.levels.iter().map(name).collect::<Vec<_>>().join(" ")))
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}
