//! What targets reject, remembered from one campaign to the next.
//!
//! Idea: what a server does not understand depends on its product and version, and trying all options takes seconds on
//! a slow one. So the answer is kept in the state folder, as a small text file per version that a user can read, change
//! or delete. Another release of Anchorite may know other options, so it asks again.
//!
//! Assumption: servers of one version understand the same SQL. Blind spot: settings that switch syntax off; then
//! statements fail, which the summary shows as errors of no class.

use std::fs;
use std::path::{Path, PathBuf};

use anchorite_generate::{FEATURES, Support};
use anchorite_model::TargetInfo;

/// What was learnt earlier about a target of this version.
pub fn recall(target: &TargetInfo) -> Option<Support> {
    read(&file(target)?)
}

/// Remembers what was learnt. If it cannot be written, the next campaign learns it again.
pub fn keep(target: &TargetInfo, support: &Support) {
    if let Some(path) = file(target) {
        let _ = write(&path, support);
    }
}

fn file(target: &TargetInfo) -> Option<PathBuf> {
    let name: String = target
        .to_string()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' })
        .collect();
    Some(anchorite_servers::state_folder().ok()?.join("learnt").join(format!("{name}.txt")))
}

/// The first line: which options were tried, and how. Files from before options were asked for twice took a lost
/// connection for a rejected option; they are ignored.
fn heading() -> String {
    let (version, options) = (env!("CARGO_PKG_VERSION"), FEATURES.len());
    format!("# anchorite {version}, {options} options, asked twice where a connection was lost")
}

fn read(path: &Path) -> Option<Support> {
    let text = fs::read_to_string(path).ok()?;
    (text.lines().next() == Some(&heading())).then(|| Support::parse(&text))
}

/// Another process may read it at any moment, so the file is replaced atomically.
fn write(path: &Path, support: &Support) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension(std::process::id().to_string());
    fs::write(&beside, format!("{}\n{support}", heading()))?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learnt_is_read_again_unless_other_options_were_tried() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("learnt/x.txt");
        let support = Support::without(["replace"]);
        assert_eq!(read(&path), None);
        write(&path, &support).unwrap();
        assert_eq!(read(&path), Some(support));
        let earlier =
            format!("# anchorite {}, {} options", env!("CARGO_PKG_VERSION"), FEATURES.len());
        for heading in ["# anchorite 0.0.1, 3 options", &earlier] {
            fs::write(&path, format!("{heading}\nreplace\n")).unwrap();
            assert_eq!(read(&path), None, "{heading}");
        }
    }
}
