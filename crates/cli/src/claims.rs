//! `anchorite claims`: what each level promises, the documented exceptions, and the pages that say so.
//!
//! Nothing is started or connected to: the claims are part of the program, or of a descriptor.

use std::process::ExitCode;

use anchorite_claims::{Claims, Version};
use anchorite_model::product::listed;
use anchorite_model::{Level, Product, TargetInfo};
use anchorite_report::claims::{self, Sheet};
use clap::{Args, ValueEnum};

use crate::exit::BadInput;
use crate::output;

/// Arguments of `claims`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anchorite claims sqlite
  anchorite claims postgres --level rr
  anchorite claims mariadb@11.8 --level rc --format markdown")]
pub struct ClaimsArgs {
    /// Whose promises: PRODUCT or PRODUCT@VERSION, sqlite[:wal|:shared-cache]; left out: every product's
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// ru, rc, rr, si or ser; repeatable; left out: every level
    #[arg(long = "level", value_name = "LEVEL")]
    level: Vec<Level>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// For pasting
    Markdown,
}

/// Shows the claims.
pub fn run(arguments: &ClaimsArgs) -> anyhow::Result<ExitCode> {
    let targets: Vec<TargetInfo> = if arguments.targets.is_empty() {
        Product::all().into_iter().map(any_version).collect()
    } else {
        arguments.targets.iter().map(|text| target(text)).collect::<Result<_, _>>()?
    };
    let mut sheets = Vec::new();
    for target in targets {
        let claims = Claims::for_target(&target);
        sheets.push(Sheet { target, claims, levels: arguments.level.clone() });
    }
    output::print(&match arguments.format {
        Format::Text => claims::text(&sheets, &output::text_options()),
        Format::Json => claims::json(&sheets, env!("CARGO_PKG_VERSION")),
        Format::Markdown => claims::markdown(&sheets),
    });
    Ok(ExitCode::SUCCESS)
}

fn any_version(product: Product) -> TargetInfo {
    TargetInfo { product, version: String::new(), variant: String::new() }
}

/// `mariadb`, `mariadb@11.8`, `sqlite:wal`.
fn target(text: &str) -> Result<TargetInfo, BadInput> {
    if text.contains("://") {
        let reason = "expected PRODUCT or PRODUCT@VERSION: nothing is connected to for this";
        return Err(BadInput(format!("{text}: {reason}")));
    }
    let (name, version) = match text.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (text, None),
    };
    if let Some(version) = version {
        version.parse::<Version>().map_err(|error| BadInput(format!("{text}: {error}")))?;
    }
    let version = version.unwrap_or_default().trim_start_matches('v').to_owned();
    if let Ok(product) = name.parse::<Product>() {
        return Ok(TargetInfo { version, ..any_version(product) });
    }
    let embedded = name.split_once(':').and_then(|(product, variant)| {
        let product: Product = product.parse().ok()?;
        product.descriptor().is_embedded().then(|| (product, variant.to_owned()))
    });
    match embedded {
        Some((product, variant)) => Ok(TargetInfo { product, version, variant }),
        None => {
            let names = listed(Product::all().into_iter().map(Product::name));
            let hint = Product::hint(name);
            Err(BadInput(format!("{text}: expected {names}, with an optional @VERSION{hint}")))
        }
    }
}
