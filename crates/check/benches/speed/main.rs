//! Speed and memory on generated histories: `cargo bench -p anchorite-check --bench speed`.
//!
//! Every measurement runs in a process of its own, from opening the file to the verdict, and prints CPU
//! seconds (user and system, all threads), wall seconds and peak memory. Inputs come from a seed.
//! Arguments after `--` choose groups: weak, hot, sessions, strong, growth, open, threads.

mod generate;

use anchorite_check::input;
use anchorite_check::names;
use anchorite_check::report::{Options, judge};
use generate::HistoryPlan;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Seed of all inputs.
const SEED: u64 = 20_261_116;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [measure, file, level, threads] = args.as_slice()
        && measure == "measure"
    {
        return measure_here(Path::new(file), level, threads.parse().unwrap_or(1));
    }
    let folder = std::env::temp_dir().join(format!("anchorite-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for inputs");
    let wanted = |group: &str| args.is_empty() || args.iter().any(|arg| arg == group);
    for group in generate::groups() {
        if wanted(group.name) {
            run_group(&group, &folder);
        }
    }
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
}

fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn run_group(group: &generate::Group, folder: &Path) {
    say(&format!("\n## {}\n", group.title));
    say("| history | level | CPU s | wall s | check only s | peak MB | bytes/op | verdict |");
    say("|---|---|---|---|---|---|---|---|");
    for plan in &group.plans {
        let path = folder.join(format!("{}.hist", plan.name()));
        generate::write(plan, SEED, &path);
        for level in plan.levels {
            for threads in plan.threads {
                report(plan, &path, level, *threads);
            }
        }
        std::fs::remove_file(&path).expect("the input can be removed");
    }
}

fn report(plan: &HistoryPlan, path: &Path, level: &str, threads: usize) {
    let own: PathBuf = std::env::current_exe().expect("the path of this program");
    let mut runs: Vec<(f64, String)> = (0..plan.repeat)
        .map(|_| {
            let output = Command::new(&own)
                .args(["measure", &path.display().to_string(), level, &threads.to_string()])
                .output()
                .expect("the measurement runs");
            let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            let cpu = text.split_whitespace().next().and_then(|word| word.parse().ok());
            (cpu.unwrap_or(f64::NAN), text)
        })
        .collect();
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let words: Vec<&str> = runs[runs.len() / 2].1.split_whitespace().collect();
    let [cpu, wall, check, peak, verdict] = words.as_slice() else {
        return say(&format!("| {} | {level} | failed: {words:?} |", plan.name()));
    };
    let peak: f64 = peak.parse().unwrap_or(0.0);
    let per_op = peak * 1e6 / plan.ops as f64;
    let shown = if threads > 1 { format!("{level}, {threads} threads") } else { level.to_owned() };
    say(&format!(
        "| {} | {shown} | {cpu} | {wall} | {check} | {peak:.0} | {per_op:.0} | {verdict} |",
        plan.name()
    ));
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Peak resident memory of this process in megabytes.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("");
    let kilobytes: f64 =
        line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0.0);
    kilobytes * 1024.0 / 1e6
}

fn measure_here(path: &Path, level: &str, threads: usize) {
    let start = Instant::now();
    let file = std::fs::File::open(path).expect("the input can be opened");
    let (_, history) = input::read_threaded(file, None, threads).expect("the input is a history");
    let before = cpu_seconds();
    let levels = names::level(level).into_iter().collect();
    let options = Options { levels, threads, ..Options::default() };
    let report = judge(&history, &options);
    let check = cpu_seconds() - before;
    let style = format!("{:?}", report.valid);
    let verdict = style.split('(').next().unwrap_or("");
    say(&format!(
        "{:.3} {:.3} {check:.3} {:.1} {verdict}",
        cpu_seconds(),
        start.elapsed().as_secs_f64(),
        peak_megabytes()
    ));
}
