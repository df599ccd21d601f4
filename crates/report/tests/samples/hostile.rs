//! Text that tries to break out of every form.

use anchorite_model::{BlockingKnowledge, Ending, ErrorClass, Product, Verdict};
use anchorite_report::RunResult;

use super::build::{self, error, in_order, lines, notice, returned, rows, text};

/// Escape sequences, markup of all kinds, and line ends, in every field that can hold text.
pub const NASTY: &str = "\u{1b}[31mred\u{1b}[0m | `tick` ``` </testcase> \
    ]]> <b>&amp; \"q\" 'q' \\| \u{202e}rtl\r\n\0\u{7f}";

pub fn hostile() -> RunResult {
    let mut run = build::run(NASTY, Product::named("postgres"), NASTY, &["t\u{1b}[1m1", "t|2"]);
    run.target.variant = NASTY.to_owned();
    run.case.header.title = Some(NASTY.to_owned());
    run.case.header.source = lines(&[NASTY]);
    run.sessions.iter_mut().for_each(|s| s.level_read_back = NASTY.to_owned());
    run.blocking = BlockingKnowledge::Timeout { silence_ms: 1, reason: NASTY.to_owned() };
    let nasty_rows = rows(&[NASTY, "n"], vec![vec![text(NASTY), text("")]]);
    let answer = build::with_notices(returned(vec![nasty_rows.clone()]), vec![notice("N", NASTY)]);
    in_order(
        &mut run,
        vec![
            (1, 0, NASTY, answer),
            (2, 1, "SELECT '\n```\n|' || `a`", build::blocked(&[0], NASTY)),
            (2, 1, "", error(ErrorClass::Other, NASTY, NASTY, false)),
            (3, 0, "SELECT 1 \\| 2", build::skipped(NASTY)),
        ],
    );
    run.final_state = vec![(NASTY.to_owned(), nasty_rows)];
    run.checks = vec![(NASTY.to_owned(), Ok(build::answer(vec![])))];
    run.notes = lines(&[NASTY]);
    run.ending = Ending::TargetLost(NASTY.to_owned());
    let verdict = Verdict::broken(NASTY, lines(&[NASTY]));
    RunResult { verdicts: vec![(NASTY.to_owned(), verdict)], ..run.into() }
}
