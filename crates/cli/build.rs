//! Lists the known-bug collection, so that an installed program has it.
//!
//! Idea: the cases are data that people add files to, so the list of files is made by the build and not kept by hand.
//! Source: `cases/bugs`, `cases/papers` and `cases/servers`. Blind spot: whether a file is a valid case; the tests read
//! them all.

use std::path::{Path, PathBuf};

const FOLDERS: [&str; 3] = ["../../cases/bugs", "../../cases/papers", "../../cases/servers"];

fn main() -> std::io::Result<()> {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = Vec::new();
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={folder}");
        for entry in std::fs::read_dir(root.join(folder))? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "case") {
                files.push(path);
            }
        }
    }
    files.sort_by_key(|file| name(file));
    let entry = |file: &PathBuf| {
        let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
        let folder = folder.to_string_lossy();
        format!("    ({folder:?}, {:?}, include_str!({file:?})),\n", name(file))
    };
    let entries: String = files.iter().map(entry).collect();
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    std::fs::write(out.join("collection.rs"), format!("&[\n{entries}]\n"))
}

fn name(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
