//! A release archive (`scripts/release`) has what a user needs, where shells and `man` look for it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_anchorite");

fn succeeds(command: &mut Command) -> Output {
    let output = command.output().expect("it starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {complaint}");
    output
}

fn text(output: Output) -> String {
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn archive(folder: &Path) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/release");
    let output = succeeds(Command::new(script).arg(folder).arg(PROGRAM));
    PathBuf::from(text(output).trim())
}

#[test]
fn an_archive_that_is_unpacked_into_a_prefix_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = archive(folder.path());
    let prefix = folder.path().join("prefix");
    std::fs::create_dir(&prefix).expect("a folder");
    succeeds(
        Command::new("tar")
            .args(["--strip-components=1", "-xzf"])
            .arg(&archive)
            .arg("-C")
            .arg(&prefix),
    );
    let program = prefix.join("bin/anchorite");
    let version = text(succeeds(Command::new(&program).arg("--version")));
    assert!(archive.to_string_lossy().contains(version.trim().rsplit(' ').next().expect("words")));
    // Stripped, it still has everything that it was built with.
    let listed = text(succeeds(Command::new(&program).args(["bugs", "list", "^MDEV-27992$"])));
    assert!(listed.contains("MDEV-27992"), "{listed}");
    for (file, content) in [
        ("share/man/man1/anchorite.1", "anchorite"),
        ("share/man/man1/anchorite-server-start.1", "--keep"),
        ("share/bash-completion/completions/anchorite", "_anchorite"),
        ("share/zsh/site-functions/_anchorite", "#compdef anchorite"),
        ("share/fish/vendor_completions.d/anchorite.fish", "complete -c anchorite"),
        ("share/doc/anchorite/LICENSE-MIT", "MIT"),
        ("share/doc/anchorite/docs/tutorial.md", "# A first visit"),
    ] {
        let found = std::fs::read_to_string(prefix.join(file)).unwrap_or_default();
        assert!(found.replace("\\-", "-").contains(content), "{file}");
    }
    // What is installed there is found without being named.
    let ask = "for file in /usr/share/bash-completion/bash_completion; do [ -r $file ] && . $file; done; \
               . $0/share/bash-completion/completions/anchorite; complete -p anchorite";
    let said = succeeds(Command::new("bash").args(["--norc", "-c", ask]).arg(&prefix));
    assert!(text(said).contains("_anchorite"));
}
