//! Every dependency may be used under a permissive licence. Works offline: cargo already knows them all.

use std::process::Command;

use serde_json::Value;

/// Licences that ask for no more than a notice.
const ACCEPTED: [&str; 11] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "Unicode-3.0",
    "Zlib",
];

/// Whether an SPDX expression can be met with the accepted licences. Older manifests write `/` for `OR`.
fn is_accepted(expression: &str) -> bool {
    let plain = expression.replace('/', " OR ");
    let tokens: Vec<&str> = plain.split_whitespace().collect();
    let text = tokens.join(" ");
    accepts(text.trim())
}

fn accepts(text: &str) -> bool {
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    if let Some(inner) = inner.filter(|inner| balanced(inner)) {
        return accepts(inner.trim());
    }
    if let Some(parts) = split_outside(text, " OR ") {
        return parts.iter().any(|part| accepts(part.trim()));
    }
    if let Some(parts) = split_outside(text, " AND ") {
        return parts.iter().all(|part| accepts(part.trim()));
    }
    ACCEPTED.contains(&text)
}

fn balanced(text: &str) -> bool {
    let mut depth = 0_i32;
    for c in text.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

/// The parts between `separator` outside of parentheses, if it occurs there.
fn split_outside<'t>(text: &'t str, separator: &str) -> Option<Vec<&'t str>> {
    let places: Vec<usize> = text
        .match_indices(separator)
        .map(|(at, _)| at)
        .filter(|at| balanced(&text[..*at]))
        .collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for at in &places {
        parts.push(&text[start..*at]);
        start = at + separator.len();
    }
    parts.push(&text[start..]);
    (!places.is_empty()).then_some(parts)
}

#[test]
fn expressions_are_understood() {
    assert!(is_accepted("MIT/Apache-2.0"));
    assert!(is_accepted("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(is_accepted("GPL-3.0 OR MIT"));
    assert!(!is_accepted("MIT AND GPL-3.0"));
    assert!(!is_accepted("GPL-3.0"));
}

/// The platform of this machine: other platforms' dependencies need not have been fetched.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc names its host").to_owned()
}

#[test]
fn all_dependencies_are_permissive() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .args(["--filter-platform", &host()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !is_accepted(package["license"].as_str().unwrap_or("none")))
        .map(|package| {
            format!("{} {}: {}", package["name"], package["version"], package["license"])
        })
        .collect();
    assert!(refused.is_empty(), "licences to look at:\n{}", refused.join("\n"));
    assert!(packages.len() > 20, "cargo told of only {} packages", packages.len());
}
