//! The page of `anchorite bugs matrix --format html`, in a real browser: its form hides the rows that do not fit.
//!
//! Idea: a copy of the page gets a script that uses the form as a person would and writes down how many rows are
//! visible; a browser without a window runs it and prints the page. Where there is no browser the test says so.

#![allow(clippy::print_stdout, reason = "tests tell what they skip")]

use std::path::{Path, PathBuf};
use std::process::Command;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Types a word, chooses a kind, and clears both again; the number of visible rows after each.
const VISITOR: &str = r#"<script>
window.addEventListener("load", () => {
  const form = document.querySelector("form");
  const rows = [...document.querySelectorAll("tbody tr")];
  const visible = () => rows.filter((row) => row.getClientRects().length > 0).length;
  const set = (name, value) => {
    form[name].value = value;
    form[name].dispatchEvent(new Event("input", { bubbles: true }));
    return visible();
  };
  const seen = [visible(), set("words", "mdev-27992"), set("words", ""), set("kind", "locking"), set("kind", "")];
  document.title = "visible: " + seen.join(" ");
});
</script></body>"#;

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut all =
        BROWSERS.iter().flat_map(|name| std::env::split_paths(&path).map(move |f| f.join(name)));
    all.find(|program| program.is_file())
}

fn page() -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    let output = command.args(["bugs", "matrix", "--format", "html"]).output().expect("it starts");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn seen(browser: &Path, page: &str) -> Vec<usize> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("bugs.html");
    std::fs::write(&file, page.replace("</body>", VISITOR)).expect("it can be written");
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=5000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("the browser starts");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let title = printed.split("<title>visible: ").nth(1).and_then(|rest| rest.split('<').next());
    let title = title.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    title.split(' ').map(|count| count.parse().expect("a number")).collect()
}

#[test]
fn the_form_hides_the_rows_that_do_not_fit() {
    let Some(browser) = browser() else {
        println!("skipped: there is no {} here", BROWSERS.join(", "));
        return;
    };
    let page = page();
    let [all, one, again, locking, end] = seen(&browser, &page)[..] else { panic!("five counts") };
    assert!(all > 100, "{all}");
    assert_eq!((again, end), (all, all));
    // Those that name it: itself, its variants, and bugs that mention it.
    assert!((1..10).contains(&one), "{one}");
    let kinds = page.matches("data-kind=\"locking\"").count();
    assert_eq!(locking, kinds);
}
