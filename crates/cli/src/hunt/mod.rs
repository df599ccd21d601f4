//! `anchorite hunt`: generates and judges cases until the budget is used up.
//!
//! This module has the arguments, the targets, the live line and the exit code. The loop itself is
//! `anchorite_hunt::campaign`, the folder `anchorite_store`.
//!
//! Findings go into `--out DIR`. Without it a folder, `anchorite-findings/seed-N` in the working folder, is created
//! only when there is something to keep; a hunt that finds nothing leaves nothing behind. With `--out` the folder
//! exists from the start, and progress is recorded as it is made.

mod again;
mod arguments;
mod audience;
mod learnt;
mod past;
mod recipe;
mod server_control;
mod single;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anchorite_claims::Claims;
use anchorite_drivers::Owner;
use anchorite_drivers::endpoint::without_password;
use anchorite_drivers::{Target, TargetError};
use anchorite_generate::case;
use anchorite_hunt::{Effort, Ended, HuntOptions, HuntTarget, Stop, Supervisor, Tally, hunt};
use anchorite_judge::{Oracle, oracles::CRASH};
use anchorite_reduce::known::{self, KnownIssue};
use anchorite_report::hunt as report;
use anchorite_stage::{Asking, Limits, RunOptions};
use anchorite_store::{Campaign, CampaignTarget, Past, Store};

use self::again::{AfterCrash, Guard, after_crash};
use self::arguments::Format;
pub use self::arguments::{HuntArgs, duration};
use self::audience::Live;
use self::recipe::WeightsFile;
use self::server_control::HuntedServer;
pub use self::words::span;
use crate::exit::{BadInput, Exit};
use crate::interrupt::Interrupt;
use crate::levels::{LevelChoice, chosen};
use crate::login::Login;
use crate::output::{complain, print, tell, text_options};
use crate::second::Second;
use crate::{leftovers, oracles, targets};

/// If this many cases with several sessions give no conflict at all, something is wrong with the set-up.
const UNCONTENDED_MAX: u64 = 200;

/// Runs the command.
pub fn run(mut arguments: HuntArgs) -> anyhow::Result<ExitCode> {
    if let (Some(number), Some(seed)) = (arguments.case, arguments.seed) {
        return single::run(&arguments, seed, number);
    }
    let interrupt = Interrupt::listen()?;
    let Some(left_in) = arguments.after_crash.take() else {
        return hunt_on(&arguments, &interrupt, SystemTime::now(), true);
    };
    let live = Live::new(None);
    let AfterCrash { folder, begun, end } = after_crash(&left_in, &live, &interrupt)?;
    live.finish();
    let Some(folder) = folder else {
        complain(&format!("Anchorite crashed ({end}) while no case was running"));
        return Ok(Exit::Target.into());
    };
    arguments.out = Some(folder);
    arguments.resume = true;
    hunt_on(&arguments, &interrupt, begun, false)
}

/// Begins a hunt, or goes on with one.
fn hunt_on(
    arguments: &HuntArgs,
    interrupt: &Interrupt,
    begun: SystemTime,
    is_first: bool,
) -> anyhow::Result<ExitCode> {
    let campaign = past::campaign_to_resume(arguments)?;
    let seed = match (arguments.seed, &campaign) {
        (Some(seed), _) => seed,
        (None, Some(campaign)) => campaign.seed,
        (None, None) => random_seed()?,
    };
    let login = arguments.login.read(interrupt)?;
    let past = (campaign.as_ref(), seed);
    let against = match (&arguments.second.against, past.0) {
        (None, Some(campaign)) => campaign.against.clone(),
        (named, _) => named.clone(),
    };
    let second = Second::open(against.as_deref(), &login)?;
    let (hunt_targets, written, block) =
        open_targets(arguments, &login, past, second.as_ref(), interrupt)?;
    let (mut store, past) = open_store(arguments, campaign, seed, written, second.as_ref())?;
    let time = arguments.time(store.campaign().cases);
    let first_line = words::first_line(store.campaign(), (time, arguments.jobs()), &past);
    match arguments.format {
        _ if !is_first => {}
        Format::Text => print(&first_line),
        Format::Json | Format::Junit => tell(first_line.trim_end()),
    }
    let live = Live::new(time);
    let spent = if is_first { Duration::ZERO } else { begun.elapsed().unwrap_or_default() };
    let guard = Guard::prepare(&mut store, begun)?;
    let options = HuntOptions {
        jobs: arguments.jobs(),
        block,
        time: time.map(|time| time.saturating_sub(spent)),
        oracles: named(&store)?,
        effort: Effort::default(),
        known: known_issues(arguments.known.as_deref())?,
        run: RunOptions {
            limits: Limits::hurried(),
            asking: arguments.silence.map_or(Asking::Server, Asking::Silence),
            interrupt: Arc::clone(&interrupt.flag),
            ..RunOptions::default()
        },
        running: guard.as_ref().map(Guard::running),
    };
    let ended = interrupt.attend(|| hunt(&hunt_targets, &options, store, past, &live));
    drop(guard);
    live.finish();
    hunt_targets.iter().for_each(tidy_up);
    show(arguments.format, &ended);
    exit_of(ended)
}

/// Removes from a server that is not ours what could not be dropped while it was away. All threads have ended, so this
/// process uses nothing there any more.
fn tidy_up(hunt_target: &HuntTarget<'_>) {
    if hunt_target.supervisor.is_ours() {
        return;
    }
    let (target, _) = hunt_target.supervisor.current();
    let swept = leftovers::sweep(target.as_ref(), |marked| marked.owner == Owner::Us);
    let (on, left) = (&hunt_target.on, swept.left.len());
    if let Some(removed) = swept.removed_told() {
        tell(&format!("removed {removed} that could not be dropped while {on} was away"));
    }
    if hunt_target.supervisor.is_gone() || left > 0 {
        tell(&format!(
            "schemas of this hunt are left on {on}; the next command there removes them"
        ));
    }
}

fn show(format: Format, ended: &Ended) {
    let summary = &ended.summary;
    words::remarks(ended).iter().for_each(|remark| tell(remark));
    words::how_to_resume(ended).iter().for_each(|hint| tell(hint));
    print(&match format {
        Format::Text => report::text(summary, &text_options()),
        Format::Json => report::json(summary, env!("CARGO_PKG_VERSION")),
        Format::Junit => report::junit(summary),
    });
}

/// The known issues of a folder; without one, the built-in issues; for `none`, no issues.
pub fn known_issues(from: Option<&Path>) -> anyhow::Result<Vec<KnownIssue>> {
    match from {
        None => Ok(known::built_in().to_vec()),
        Some(none) if none.as_os_str() == "none" => Ok(Vec::new()),
        Some(folder) => Ok(KnownIssue::load_folder(folder)?),
    }
}

/// The exit code: first why the hunt ended decides, then what it found.
fn exit_of(ended: Ended) -> anyhow::Result<ExitCode> {
    let is_new = ended.summary.new_findings().next().is_some() || ended.suspects > 0;
    match ended.stop {
        Stop::Done => {}
        Stop::Interrupted => return Ok(Exit::Interrupted.into()),
        Stop::Gone(gone) => {
            complain(&gone.to_string());
            return Ok(Exit::Target.into());
        }
        Stop::Target(error) => return Err(error.into()),
        Stop::Store(error) => return Err(error.into()),
        Stop::Panicked => {
            anyhow::bail!("a thread of the hunt panicked: this is a bug in Anchorite")
        }
    }
    if is_new {
        return Ok(Exit::Violation.into());
    }
    let tally = &ended.tally;
    if tally.concurrent >= UNCONTENDED_MAX && tally.contended == 0 {
        complain(&words::nothing_conflicted(tally));
        return Ok(Exit::NothingJudged.into());
    }
    if tally.verdicts.total() == tally.verdicts.undecided {
        complain("nothing could be judged: no oracle decided any case");
        return Ok(Exit::NothingJudged.into());
    }
    Ok(Exit::Fine.into())
}

/// A short number, easy to pass on.
pub fn random_seed() -> anyhow::Result<u64> {
    let mut bytes = [0; 4];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from(u32::from_ne_bytes(bytes)))
}

/// The targets, how each is recorded in the campaign, and the size of a block.
type Opened = (Vec<HuntTarget<'static>>, Vec<CampaignTarget>, u64);

/// Opens every target, in the order of the command line or of the campaign.
fn open_targets(
    arguments: &HuntArgs,
    login: &Login,
    (campaign, seed): (Option<&Campaign>, u64),
    second: Option<&Second>,
    interrupt: &Interrupt,
) -> anyhow::Result<Opened> {
    let names: Vec<String> = match campaign {
        _ if !arguments.on.is_empty() => arguments.on.clone(),
        Some(campaign) => campaign.targets.iter().map(|target| target.on.clone()).collect(),
        None => vec![targets::DEFAULT.to_owned()],
    };
    let weights = arguments.weights.as_deref().map(WeightsFile::read).transpose()?;
    let (mut hunt_targets, mut written) = (Vec::new(), Vec::new());
    let mut block = u64::MAX;
    for (n, name) in names.iter().enumerate() {
        let past = campaign.and_then(|campaign| campaign.targets.get(n));
        let (server_control, target) = HuntedServer::open(name, login)?;
        interrupt.attend(|| check_privileges(target.as_ref(), arguments.silence.is_none()))?;
        second.map(|second| second.must_be_like(target.as_ref())).transpose()?;
        let info = target.info().clone();
        let levels = match past {
            Some(past) if arguments.level.is_empty() => past.levels.clone(),
            _ if arguments.level.is_empty() => chosen(&[LevelChoice::All], target.as_ref())?,
            _ => chosen(&arguments.level, target.as_ref())?,
        };
        let (recipe, kept) = match past {
            Some(past) => {
                let file = arguments.out.clone().unwrap_or_default().join("campaign.json");
                (recipe::remembered(info.product, &past.recipe, &file)?, past.recipe.clone())
            }
            None => recipe::make(target.as_ref(), weights.as_ref(), interrupt)?,
        };
        block = block.min(recipe.group());
        let on = without_password(name);
        hunt_targets.push(HuntTarget {
            on: on.clone(),
            supervisor: Supervisor::new(target, Box::new(server_control)),
            against: second.map(Second::shared),
            levels: levels.clone(),
            claims: Claims::for_target(&info),
            cases: Box::new(move |number| case(&recipe, seed, number)),
        });
        written.push(CampaignTarget { on, target: info, levels, recipe: kept });
    }
    Ok((hunt_targets, written, block))
}

/// Reports missing privileges before the first case, not once per worker.
fn check_privileges(target: &dyn Target, asks_who_waits: bool) -> Result<(), TargetError> {
    let schema = target.create_schema()?;
    if asks_who_waits && let Err(error) = schema.watcher() {
        tell(&format!(
            "{error}; so two seconds of silence count as waiting: this hunt will be slow, and most of what waits \
             cannot be judged (docs/connections.md lists the privileges)"
        ));
    }
    Ok(())
}

fn open_store(
    arguments: &HuntArgs,
    past: Option<Campaign>,
    seed: u64,
    targets: Vec<CampaignTarget>,
    against: Option<&Second>,
) -> anyhow::Result<(Store, Past<Tally>)> {
    let mut campaign = Campaign::new(env!("CARGO_PKG_VERSION"), seed);
    campaign.targets = targets;
    campaign.against = against.map(|second| second.on.clone());
    campaign.oracles = match (&past, arguments.oracle.is_empty()) {
        (Some(past), true) => past.oracles.clone(),
        _ => {
            let chosen = oracles::chosen(&arguments.oracle, against.is_some());
            chosen.iter().map(|oracle| oracle.name().to_owned()).collect()
        }
    };
    campaign.strict = arguments.strict || past.as_ref().is_some_and(|past| past.strict);
    campaign.cases = arguments.cases.or_else(|| past.as_ref().and_then(|past| past.cases));
    let folder = arguments.out.clone().unwrap_or_else(|| default_folder(seed));
    match past {
        Some(past) => past::resume(&folder, &past, &campaign),
        None => {
            let store = Store::begin(&folder, campaign, arguments.out.is_some())?;
            Ok((store, Past { progress: Vec::new(), suspects: Vec::new() }))
        }
    }
}

fn default_folder(seed: u64) -> PathBuf {
    Path::new("anchorite-findings").join(format!("seed-{seed}"))
}

/// The oracles that a campaign names. Without one of them it would be another campaign.
fn named(store: &Store) -> anyhow::Result<Vec<&'static dyn Oracle>> {
    let names = store.campaign().oracles.iter().filter(|name| *name != CRASH);
    let oracles = names.map(|name| anchorite_judge::oracles::named(name));
    oracles.collect::<Result<_, _>>().map_err(|error| {
        let file = store.folder().unwrap_or(Path::new("")).join("campaign.json");
        BadInput(format!("{}: {error}", file.display())).into()
    })
}
