//! `anchorite check`: judges recorded histories, or converts them.
//!
//! The library does all the judging; this file handles the arguments, the files (plain, gzip, zstd, a folder of Cobra
//! logs, or a pipe), the progress bar, and the output.

use anchorite_check::input::{self, Format, Source};
use anchorite_check::levels::LevelVerdict;
use anchorite_check::model::{Atom, History, HistoryBuilder, SymbolKind};
use anchorite_check::names::{self, Asked};
use anchorite_check::report::{self, ElleOptions, Options, Report, text::Style};
use anchorite_check::{output, witness};
use anchorite_model::nearest::did_you_mean;
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::exit::BadInput;
use crate::output::{is_coloured, progress_target};

/// Files smaller than this are read without a progress bar.
const PROGRESS_FROM: u64 = 8 << 20;

/// Arguments of `anchorite check`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    printf 'w(1,1,0,0)\\nr(1,0,1,1)\\n' | anchorite check - --level serializable")]
pub struct CheckArgs {
    /// Histories; `-` is standard input, a folder is a set of Cobra logs
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Level to judge by: a name or short name (rc, ra, causal, si, ser, strict, …), or all; repeatable
    #[arg(long, value_name = "LEVEL")]
    level: Vec<String>,
    /// Format of the files
    #[arg(long, value_enum, default_value_t = InputFamily::Auto)]
    input: InputFamily,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
    /// Decide every level of both families, however large the history is
    #[arg(long)]
    all_levels: bool,
    /// Judge as Elle does, with Elle's options as JSON, for example '{"wfr-keys?":true}'
    #[arg(long, value_name = "JSON")]
    elle_options: Option<String>,
    /// File with the numbers of all transactions in commit order, one per line
    #[arg(long, value_name = "FILE")]
    transaction_order: Option<PathBuf>,
    /// Value of every key before the first write; default: that of the format (nil, or 0 in plume text)
    #[arg(long, value_name = "VALUE")]
    initial: Option<String>,
    /// Write the history in another format to standard output instead of judging it
    #[arg(long, value_enum, value_name = "FORMAT")]
    convert_to: Option<ConvertTo>,
    /// Where to write the converted history; for cobra, a folder
    #[arg(long, value_name = "PATH", requires = "convert_to")]
    output: Option<PathBuf>,
    /// Convert even if the format cannot represent everything
    #[arg(long, requires = "convert_to")]
    lossy: bool,
    /// Number of threads; does not affect the result
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// Families of input formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum InputFamily {
    Auto,
    Elle,
    Plume,
    Dbcop,
    Cobra,
    Anchorite,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    Text,
    Json,
    Dot,
    Html,
}

/// Targets of conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ConvertTo {
    #[value(alias = "elle")]
    ElleEdn,
    ElleJson,
    Plume,
    #[value(alias = "dbcop")]
    DbcopJson,
    DbcopHist,
    Cobra,
    Anchorite,
}

impl InputFamily {
    fn name(self) -> Option<&'static str> {
        match self {
            InputFamily::Auto => None,
            InputFamily::Elle => Some("elle"),
            InputFamily::Plume => Some("plume"),
            InputFamily::Dbcop => Some("dbcop"),
            InputFamily::Cobra => Some("cobra"),
            InputFamily::Anchorite => Some("anchorite"),
        }
    }
}

impl From<ConvertTo> for Format {
    fn from(target: ConvertTo) -> Format {
        match target {
            ConvertTo::ElleEdn => Format::ElleEdn,
            ConvertTo::ElleJson => Format::ElleJson,
            ConvertTo::Plume => Format::Plume,
            ConvertTo::DbcopJson => Format::DbcopJson,
            ConvertTo::DbcopHist => Format::DbcopHist,
            ConvertTo::Cobra => Format::Cobra,
            ConvertTo::Anchorite => Format::Anchorite,
        }
    }
}

/// Runs the command.
pub fn run(args: CheckArgs) -> Result<ExitCode> {
    let mut levels: Vec<Asked> = Vec::new();
    for name in args.level.iter().filter(|name| *name != "all") {
        let unknown = || {
            let known = names::known();
            let hint = did_you_mean(name, known.split([',', '=']).map(str::trim));
            BadInput(format!("--level {name}: expected one of these levels, or all: {known}{hint}"))
        };
        levels.push(names::level(name).ok_or_else(unknown)?);
    }
    let all_levels = args.all_levels || args.level.iter().any(|name| name == "all");
    if let Some(target) = args.convert_to {
        return convert(&args, target.into());
    }
    let mut judged: Vec<(String, Format, History, Report)> = Vec::new();
    for path in &args.files {
        let name = path.display().to_string();
        let (format, mut history) = read(path, &args)?;
        if let Some(initial) = &args.initial {
            history.initial = initial_value(&mut history, initial);
        }
        let options = options(&args, &history, levels.clone(), all_levels)?;
        let report = report::judge(&history, &options);
        judged.push((name, format, history, report));
    }
    print(&args, &judged);
    Ok(exit_code(&judged))
}

fn options(args: &CheckArgs, history: &History, levels: Vec<Asked>, all: bool) -> Result<Options> {
    let elle = match &args.elle_options {
        Some(text) => Some(ElleOptions::parse(text, history).context("--elle-options")?),
        None => None,
    };
    let txn_order = match &args.transaction_order {
        Some(path) => Some(transaction_order(path, history)?),
        None => None,
    };
    Ok(Options {
        levels,
        all_levels: all,
        elle,
        txn_order,
        threads: threads(args),
        ..Options::default()
    })
}

fn threads(args: &CheckArgs) -> usize {
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    args.threads.unwrap_or_else(available).max(1)
}

/// Integers as integers, everything else as text.
fn initial_value(history: &mut History, text: &str) -> Atom {
    match text.parse::<i128>() {
        Ok(number) => history.symbols.integer(number),
        Err(_) if matches!(text, "nil" | "null") => Atom::NIL,
        Err(_) => history.symbols.intern(SymbolKind::Text, text),
    }
}

fn transaction_order(path: &Path, history: &History) -> Result<Vec<u64>> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| shown.to_string())?;
    let mut places = std::collections::HashMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let label: i64 = line.trim().parse().map_err(|_| {
            anyhow!("{shown}: line {}: expected the number of a transaction", number + 1)
        })?;
        places.insert(label, number as u64);
    }
    history
        .txns
        .iter()
        .map(|txn| places.get(&txn.label).copied())
        .collect::<Option<Vec<u64>>>()
        .ok_or_else(|| anyhow!("{shown}: expected the numbers of all transactions"))
}

/// Reads a file, a folder of Cobra logs, or standard input.
fn read(path: &Path, args: &CheckArgs) -> Result<(Format, History)> {
    let name = path.display().to_string();
    let family = args.input.name();
    if path == Path::new("-") {
        return input::unpack(std::io::stdin())
            .and_then(|reader| input::read_threaded(reader, family, threads(args)))
            .context("standard input");
    }
    if path.is_dir() {
        return read_logs(path).with_context(|| name);
    }
    let file = File::open(path).with_context(|| name.clone())?;
    let bar = progress(&file, &name);
    let reader = bar.wrap_read(file);
    let result = input::unpack(reader)
        .and_then(|reader| input::read_threaded(reader, family, threads(args)));
    bar.finish_and_clear();
    result.with_context(|| name)
}

/// A bar on standard error for large files, if that is a terminal.
fn progress(file: &File, name: &str) -> ProgressBar {
    let size = file.metadata().map_or(0, |data| data.len());
    let target = match size < PROGRESS_FROM {
        true => ProgressDrawTarget::hidden(),
        false => progress_target(),
    };
    let bar = ProgressBar::with_draw_target(Some(size), target);
    let template = "{msg} [{wide_bar}] {bytes}/{total_bytes} {bytes_per_sec}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(name.to_owned());
    bar
}

/// Every `.log` file of a folder is one session.
fn read_logs(folder: &Path) -> Result<(Format, History)> {
    let mut logs: Vec<PathBuf> = std::fs::read_dir(folder)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "log"))
        .collect();
    logs.sort();
    if logs.is_empty() {
        bail!("expected a folder with Cobra logs (*.log)");
    }
    let mut builder = HistoryBuilder::new();
    for (number, path) in logs.iter().enumerate() {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let session = Atom::int(number as i64).unwrap_or(Atom::NIL);
        let reader: Box<dyn Read> =
            input::unpack(file).with_context(|| path.display().to_string())?;
        let mut source = Source::new(reader);
        input::read_as(&mut source, Format::Cobra, &mut builder, session)
            .with_context(|| path.display().to_string())?;
    }
    Ok((Format::Cobra, builder.finish()))
}

fn convert(args: &CheckArgs, target: Format) -> Result<ExitCode> {
    let [path] = args.files.as_slice() else { bail!("expected one file to convert") };
    let name = path.display().to_string();
    let (_, history) = read(path, args)?;
    match &args.output {
        Some(folder) if target == Format::Cobra => {
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
            for session in 0..history.sessions.len() as u32 {
                let log = folder.join(format!("{session:04}.log"));
                let file = File::create(&log).with_context(|| log.display().to_string())?;
                let mut out = BufWriter::new(file);
                output::write(&history, target, args.lossy, Some(session), &mut out)
                    .with_context(|| name.clone())?;
                out.flush()?;
            }
        }
        Some(file) => {
            let mut bytes = Vec::new();
            output::write(&history, target, args.lossy, None, &mut bytes).with_context(|| name)?;
            std::fs::write(file, bytes).with_context(|| file.display().to_string())?;
        }
        None if target == Format::Cobra && history.sessions.len() > 1 => {
            bail!("expected --output FOLDER: Cobra has one log per session");
        }
        None => {
            let mut out = BufWriter::new(std::io::stdout().lock());
            output::write(&history, target, args.lossy, None, &mut out).with_context(|| name)?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print(args: &CheckArgs, judged: &[(String, Format, History, Report)]) {
    let style = Style { colour: is_coloured(&std::io::stdout()) };
    let text = match args.format {
        OutputFormat::Text => judged
            .iter()
            .map(|(name, format, history, report)| {
                report::text::render(history, report, name, format.family(), style)
            })
            .collect::<Vec<String>>()
            .join("\n"),
        OutputFormat::Json => {
            let results: Vec<serde_json::Value> = judged
                .iter()
                .map(|(name, format, history, report)| {
                    report::json::result(history, report, name, format.family())
                })
                .collect();
            let version = env!("CARGO_PKG_VERSION");
            format!("{}\n", serde_json::json!({"anchorite": version, "results": results}))
        }
        OutputFormat::Dot => judged
            .iter()
            .map(|(_, _, history, report)| witness::dot::render(history, &report.anomalies))
            .collect(),
        OutputFormat::Html => {
            let pages: Vec<(String, &History, &Report)> = judged
                .iter()
                .map(|(name, _, history, report)| (name.clone(), history, report))
                .collect();
            report::html::page(&pages)
        }
    };
    crate::output::print(&text);
}

/// 1 if a history is invalid, 4 if none could be judged, 0 otherwise.
fn exit_code(judged: &[(String, Format, History, Report)]) -> ExitCode {
    let invalid = judged.iter().any(|(.., report)| report.valid == LevelVerdict::Fails);
    let unknown =
        judged.iter().all(|(.., report)| matches!(report.valid, LevelVerdict::Unknown(_)));
    ExitCode::from(if invalid {
        1
    } else if unknown {
        4
    } else {
        0
    })
}
