//! How the command behaves whatever it is asked to do: slips, `--quiet`, `--color`, a full disk.

use std::process::{Command, Output, Stdio};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    command.args(arguments).stdin(Stdio::null());
    // What the caller of the tests has set shall not count.
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    command
}

fn anchorite(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn case_file(name: &str) -> String {
    format!("{}/../../cases/{name}.case", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_slip_is_answered_with_what_was_meant() {
    let case = case_file("probe/P4");
    let slips: [(&[&str], &str); 8] = [
        (&["--on", "postgers"], "did you mean postgres?"),
        (&["--on", "mariabd@10.11"], "did you mean mariadb?"),
        (&["--on", "sqlit"], "did you mean sqlite?"),
        (&["--on", "sqlite:wall"], "did you mean sqlite:wal?"),
        (&["--on", "mysqll://h"], "did you mean mysql?"),
        (&["--level", "serialisable"], "did you mean serializable?"),
        (&["--level", "read-comitted"], "did you mean read committed?"),
        (&["--oracle", "final-sate"], "did you mean final-state?"),
    ];
    for (arguments, expected) in slips {
        let output = anchorite(&[&["run", &case], arguments].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
    for (arguments, expected) in [
        (&["check", "-", "--level", "serializble"][..], "did you mean serializable?"),
        (&["export", &case, "--to", "commens"], "did you mean comments?"),
    ] {
        let told = text(&anchorite(arguments).stderr);
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
    let told = text(&anchorite(&["run", &case, "--on", "oracle"]).stderr);
    assert!(!told.contains("did you mean"), "{told}");
}

#[test]
fn every_oracle_is_named_where_one_can_be_chosen() {
    for command in ["run", "hunt", "reduce", "selftest"] {
        let help = text(&anchorite(&[command, "--help"]).stdout);
        for oracle in anchorite_judge::oracles::ALL {
            assert!(help.contains(oracle.name()), "{command}: {help}");
        }
    }
}

#[test]
fn a_mistake_is_told_before_anything_else() {
    for command in ["hunt", "probe", "selftest"] {
        let output = anchorite(&[command, "--on", "sqlite", "--level", "rc"]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert_eq!(text(&output.stdout), "", "{command}: no summary of nothing");
        let told = text(&output.stderr);
        assert!(told.contains("has no isolation level 'read committed'"), "{command}: {told}");
        assert_eq!(told.lines().count(), 1, "{command}: {told}");
    }
}

#[test]
fn quiet_commands_say_nothing_but_results() {
    let hunt = ["hunt", "--cases", "8", "--seed", "1", "--format", "json"];
    let loud = anchorite(&hunt);
    let quiet = anchorite(&[&hunt[..], &["--quiet"]].concat());
    assert!(text(&loud.stderr).contains("Hunting for"), "{}", text(&loud.stderr));
    assert_eq!((text(&quiet.stderr).as_str(), quiet.status.code()), ("", Some(0)));
    let result: serde_json::Value = serde_json::from_slice(&quiet.stdout).expect("a result");
    assert_eq!(result["cases"], 8);
    // What explains the exit code is no remark.
    let none = ["--quiet", "hunt", "--cases", "8", "--seed", "1", "--oracle", "none"];
    let told = anchorite(&none);
    assert!(text(&told.stderr).contains("nothing could be judged"), "{}", text(&told.stderr));
}

#[test]
fn colour_follows_the_option_and_the_environment() {
    let case = case_file("probe/P4");
    let coloured = |option: &[&str], set: &[(&str, &str)]| {
        let mut command = command(&[&["run", &case], option].concat());
        command.envs(set.iter().copied());
        text(&command.output().expect("the command starts").stdout).contains('\u{1b}')
    };
    assert!(!coloured(&[], &[]), "a file gets no colours");
    assert!(coloured(&["--color", "always"], &[]));
    assert!(coloured(&["--color", "always"], &[("NO_COLOR", "1")]));
    assert!(coloured(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!coloured(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn colour_counts_for_the_help_too() {
    let coloured = |arguments: &[&str]| text(&anchorite(arguments).stdout).contains('\u{1b}');
    assert!(coloured(&["--color", "always", "hunt", "--help"]));
    assert!(coloured(&["hunt", "--color=always", "--help"]));
    assert!(!coloured(&["hunt", "--help"]));
}

#[test]
fn one_is_not_many() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("history.txt").display().to_string();
    std::fs::write(&file, "w(1,1,0,0)\n").expect("written");
    let told = text(&anchorite(&["check", &file]).stdout);
    assert!(told.contains("1 transaction, 1 operation)"), "{told}");
    let hunt = ["hunt", "--cases", "1", "--seed", "1", "--jobs", "1", "--on", "sqlite"];
    let told = text(&anchorite(&hunt).stdout);
    assert!(
        told.contains(": 1 case, 1 worker, seed 1") && told.contains("  1 case with "),
        "{told}"
    );
}

#[test]
fn a_full_disk_is_no_mistake_of_the_user() {
    let full = |arguments: &[&str]| {
        let device = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let mut command = command(arguments);
        command.stdout(device.expect("every Linux has it")).output().expect("the command starts")
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("history.txt").display().to_string();
    std::fs::write(&file, "w(1,1,0,0)\nr(1,0,1,1)\n").expect("written");
    let case = case_file("probe/P4");
    for arguments in [
        &["run", &case][..],
        &["probe"],
        &["check", &file],
        &["check", &file, "--convert-to", "anchorite"],
    ] {
        let output = full(arguments);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{arguments:?}: {told}");
        assert!(told.contains("No space left on device"), "{arguments:?}: {told}");
    }
    std::fs::create_dir(folder.path().join("findings")).expect("a folder");
    let path = folder.path().display().to_string();
    let output = anchorite(&["report", &path, "--html", "/dev/full"]);
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
}

#[test]
fn a_hunt_that_may_write_no_more_says_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The campaign keeps the text of the weights file, which is more than a file may hold here.
    let weights = format!("[case]\n{}", "# so many words\n".repeat(100_000));
    std::fs::write(folder.path().join("weights.toml"), weights).expect("written");
    let program = env!("CARGO_BIN_EXE_anchorite");
    let script = format!(
        "ulimit -f 1000; exec '{program}' hunt --out out --weights weights.toml --cases 8 --seed 1"
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(folder.path()).stdin(Stdio::null());
    let output = shell.output().expect("the shell starts");
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{told}");
    assert!(told.contains("campaign.json: File too large"), "{told}");
}
