//! Faults on real engines: what was committed stays, nothing is half there, and what a setting allows is found.
//!
//! Connections are cut on embedded SQLite always, and killed on the servers in `ANCHORITE_TEST_URLS`. Whole servers are
//! killed if `ANCHORITE_TEST_SERVERS` names them (`postgres@15 mariadb@10.11`): the test starts its own.
//! `ANCHORITE_STRESS_KILLS` says how often each of them is killed; default 2.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anchorite_drivers::sqlite::{SqliteApart, serve};
use anchorite_drivers::{Target, has_blows, open};
use anchorite_servers::{Request, RunningServer, Silent, durable, set, start};
use anchorite_stress::private::ready;
use anchorite_stress::{
    Fault, Options, OwnServer, PrivateServer, Processes, Ran, Standing, StressError, Workload, run,
    run_on,
};

fn options(faults: &[Fault], transactions: u64) -> Options {
    Options {
        sessions: 6,
        seed: 11,
        time: Duration::from_secs(600),
        transactions,
        faults: faults.to_vec(),
        fault_every: 60,
        ..Options::default()
    }
}

/// Nothing that no page allows, and some of the faults were made.
fn check(ran: &Ran, about: &str) {
    println!(
        "{about}: {} committed, faults {:?}, unknown {} of which {:?} gone and there, aborts {:?}, {} looks",
        ran.committed,
        ran.counts.faults,
        ran.counts.unknown,
        ran.counts.resolved,
        ran.counts.aborts,
        ran.counts.looks
    );
    assert!(ran.lost.is_none(), "{about}: {:?}", ran.lost);
    let worst = ran.counts.anomalies.keys().map(|kind| kind.0).max();
    assert_ne!(worst, Some(Standing::Violation), "{about}: {:#?}", ran.counts.anomalies);
    assert!(ran.counts.faults.values().sum::<u64>() >= 2, "{about}: {:?}", ran.counts.faults);
    assert_eq!(ran.counts.unknown, ran.counts.resolved.iter().sum::<u64>(), "{about}");
}

#[test]
fn connections_are_cut_and_nothing_is_half_there() {
    for name in ["sqlite", "sqlite:wal"] {
        let target = open(name).expect("built in");
        let ran = run(target.as_ref(), &options(&[Fault::Cut], 250), None, &mut |_| {});
        let ran = ran.unwrap_or_else(|error| panic!("{name}: {error}"));
        check(&ran, name);
    }
}

#[test]
fn sessions_are_killed_cancelled_and_cut_at_every_level() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server whose sessions could be killed");
    }
    for url in urls.split_whitespace() {
        let target = open(url).expect("a target");
        let info = target.info().clone();
        if !has_blows(info.product) {
            println!("skipped: {info} ends no connections by a statement");
            continue;
        }
        let faults = [Fault::KillSession, Fault::Cancel, Fault::Cut];
        for level in target.levels() {
            let about = format!("{info} at {level}");
            // Few rows: they are all read after each fault.
            let workloads = vec![Workload::Bank, Workload::WriteSkew, Workload::Sets];
            let options = Options { level: Some(*level), workloads, ..options(&faults, 400) };
            let ran = run(target.as_ref(), &options, None, &mut |_| {});
            check(&ran.unwrap_or_else(|error| panic!("{about}: {error}")), &about);
        }
    }
}

/// Tells a process of this test that it is to serve a session on a file.
const FILE: &str = "ANCHORITE_TEST_SQLITE_FILE";

/// Not a test by itself: the process of a session of the test below.
#[test]
fn a_process_that_serves_a_session() {
    if let Some(file) = std::env::var_os(FILE) {
        // The other end may be killed or closed at any moment.
        let _ = serve(Path::new(&file));
    }
}

#[test]
fn a_durable_sqlite_that_is_killed_loses_nothing() {
    let us = std::env::current_exe().expect("a test has a program");
    let target = SqliteApart::new(move |file| {
        let mut command = Command::new(&us);
        command.args(["--exact", "a_process_that_serves_a_session", "--nocapture"]).env(FILE, file);
        command
    });
    let faults = [Fault::KillServer, Fault::Cut];
    let workloads = vec![Workload::Register, Workload::Bank, Workload::Sets];
    let options = Options {
        sessions: 4,
        workloads,
        fault_every: 40,
        ..options(&faults, 100 * (1 + kills()))
    };
    let mut own = Processes(&target, None);
    let ran = run_on(&target, &options, Some(&mut own), None, &mut |_| {});
    let ran = ran.unwrap_or_else(|error| panic!("{error}"));
    check(&ran, &target.info().to_string());
    assert!(ran.counts.anomalies.is_empty(), "{:#?}", ran.counts.anomalies);
}

fn kills() -> u64 {
    let told = std::env::var("ANCHORITE_STRESS_KILLS").ok();
    told.map_or(2, |text| text.parse().expect("a number of kills"))
}

fn start_with(request: &Request, arguments: &[String]) -> RunningServer {
    let options = anchorite_servers::Options {
        extra_args: arguments.to_vec(),
        ready: &ready,
        progress: &Silent,
    };
    start(request, &options).unwrap_or_else(|error| panic!("{request}: {error}"))
}

/// The servers that tests may kill, with the arguments that make them durable.
fn mortals() -> Vec<(Request, Vec<String>)> {
    let names = std::env::var("ANCHORITE_TEST_SERVERS").unwrap_or_default();
    if names.is_empty() {
        println!("skipped: ANCHORITE_TEST_SERVERS names no server that could be killed");
    }
    let requests = names.split_whitespace().map(|name| name.parse().expect("a server"));
    let with = requests.map(|request: Request| (durable(request.product).to_vec(), request));
    let known = with.filter(|(arguments, _)| !arguments.is_empty());
    known.map(|(arguments, request)| (request, arguments)).collect()
}

fn on_own(
    request: &Request,
    arguments: &[String],
    options: &Options,
) -> Result<(Ran, String), StressError> {
    let mut server = start_with(request, arguments);
    let target = open(&server.url()).expect("it is ready");
    let about = target.info().to_string();
    let mut own = PrivateServer::new(&mut server, arguments.to_vec());
    let ran = run_on(target.as_ref(), options, Some(&mut own), None, &mut |_| {});
    drop(target);
    ran.map(|ran| (ran, about))
}

#[test]
fn a_durable_server_that_is_killed_loses_nothing() {
    for (request, arguments) in mortals() {
        let faults = [Fault::KillServer];
        // A fault comes after at most one and a half times as many transactions as there are on average.
        let options = Options { fault_every: 200, ..options(&faults, 300 * kills()) };
        let (ran, about) = on_own(&request, &arguments, &options).expect("it comes back");
        check(&ran, &about);
        assert!(ran.counts.anomalies.keys().all(|kind| kind.1 != "lost-commit"), "{about}");
    }
}

#[test]
fn a_paused_server_goes_on() {
    for (request, arguments) in mortals() {
        let options = options(&[Fault::Pause], 200);
        let (ran, about) = on_own(&request, &arguments, &options).expect("it goes on");
        check(&ran, &about);
    }
}

#[test]
fn a_loss_that_a_setting_allows_is_found_and_its_page_named() {
    for (request, arguments) in mortals() {
        let (setting, value) = match request.product.descriptor().driver.as_str() {
            "postgres" => ("synchronous_commit", "off"),
            _ => ("innodb_flush_log_at_trx_commit", "0"),
        };
        let more = set(request.product, setting, value).expect("it has settings");
        let arguments: Vec<String> = arguments.into_iter().chain(more).collect();
        let workloads = vec![Workload::Register, Workload::Counters, Workload::Sets];
        let options =
            Options { workloads, fault_every: 400, ..options(&[Fault::KillServer], 1_800) };
        let (ran, about) = on_own(&request, &arguments, &options).expect("it comes back");
        check(&ran, &about);
        let lost = ran.counts.anomalies.get(&(Standing::Allowed, "lost-commit"));
        match lost {
            Some(lost) => {
                println!("{about}: {} commits lost", lost.count);
                let page = lost.findings[0].weighed.page.as_deref().unwrap_or_default();
                assert!(page.starts_with("https://"), "{about}: {page}");
            }
            // When the log is written is the server's choice: a slow machine may lose nothing.
            None => println!("{about}: every commit had been written when the server was killed"),
        }
    }
}

#[test]
fn without_fsync_a_loss_of_power_takes_commits_and_a_page_says_so() {
    let is_known = |request: &Request| request.product.descriptor().driver == "postgres";
    for (request, arguments) in mortals().into_iter().filter(|(request, _)| is_known(request)) {
        let faults = [Fault::LosePower];
        let workloads = vec![Workload::Register, Workload::Counters, Workload::Sets];
        let options = Options { workloads, fault_every: 150, ..options(&faults, 600) };
        let told = on_own(&request, &arguments, &options).expect_err("it keeps what it was told");
        assert!(told.to_string().contains("needs a server that tells its disk to keep nothing"));
        let more = set(request.product, "fsync", "off").expect("it has settings");
        let arguments: Vec<String> = arguments.into_iter().chain(more).collect();
        let (ran, about) = on_own(&request, &arguments, &options).expect("it comes back");
        check(&ran, &about);
        // The data are as they were when the last of these faults, or the run, began.
        let lost = ran.counts.anomalies.get(&(Standing::Allowed, "lost-commit"));
        let lost = lost.unwrap_or_else(|| panic!("{about}: nothing is lost: {:#?}", ran.counts));
        println!("{about}: {} commits lost", lost.count);
        let page = lost.findings[0].weighed.page.as_deref().unwrap_or_default();
        assert!(page.ends_with("/non-durability.html"), "{about}: {page}");
    }
}

/// A server of which nobody needs anything.
struct Nobody;

impl OwnServer for Nobody {
    fn kill(&mut self) -> Result<(), String> {
        Err("nobody is there".to_owned())
    }

    fn start_again(&mut self) -> Result<(), String> {
        Err("nobody is there".to_owned())
    }

    fn pause(&mut self) -> Result<Box<dyn Send>, String> {
        Err("nobody is there".to_owned())
    }
}

#[test]
fn a_fault_that_cannot_be_made_is_refused_and_one_that_fails_ends_the_run() {
    let target = open("sqlite").expect("built in");
    let tell = |server: Option<&mut dyn OwnServer>, fault: Fault| {
        let ran = run_on(target.as_ref(), &options(&[fault], 500), server, None, &mut |_| {});
        ran.expect_err("no such fault").to_string()
    };
    assert_eq!(tell(None, Fault::Pause), "pause needs a server that is started for the run");
    assert_eq!(tell(None, Fault::FillDisk), "fill-disk needs a server that is started for the run");
    let told = tell(None, Fault::KillSession);
    assert_eq!(told, "kill-session: sqlite ends no connections by a statement");
    assert_eq!(tell(Some(&mut Nobody), Fault::KillServer), "after kill-server: nobody is there");
    let unjudged = Options { is_judged: false, ..options(&[Fault::Cut], 10) };
    let told = run(target.as_ref(), &unjudged, None, &mut |_| {}).expect_err("refused").to_string();
    assert_eq!(told, "cut needs a run that is judged");
}
