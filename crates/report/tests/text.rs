//! Whole reports as text.

mod samples;

use std::time::Duration;

use anchorite_model::{Run, Value};
use anchorite_report::{Glyphs, RunResult, Runs, Style, TextOptions, text};

fn drawn(results: &[RunResult], width: usize, glyphs: Glyphs) -> String {
    text(results, &TextOptions { width, style: Style::Plain, glyphs })
}

fn wide(run: Run) -> String {
    drawn(&[run.into()], 120, Glyphs::Unicode)
}

#[test]
fn a_wait_is_told_in_both_columns() {
    insta::assert_snapshot!(wide(samples::lost_update()));
}

#[test]
fn a_deadlock_and_an_error_of_one_statement() {
    insta::assert_snapshot!(wide(samples::deadlock()));
}

#[test]
fn a_commit_that_answered_rollback() {
    insta::assert_snapshot!(wide(samples::failed_commit()));
}

#[test]
fn every_kind_of_value() {
    insta::assert_snapshot!(wide(samples::shapes::values()));
}

#[test]
fn statements_of_several_lines() {
    insta::assert_snapshot!(drawn(&[samples::shapes::multi_line().into()], 100, Glyphs::Unicode));
}

#[test]
fn a_lost_server() {
    insta::assert_snapshot!(wide(samples::server_lost()));
}

#[test]
fn three_sessions_at_120_columns() {
    insta::assert_snapshot!(wide(samples::chain()));
}

#[test]
fn five_sessions_at_80_columns_are_stacked() {
    insta::assert_snapshot!(drawn(&[samples::five().into()], 80, Glyphs::Unicode));
}

#[test]
fn a_narrow_terminal() {
    let results = [samples::failed_commit().into(), samples::shapes::multi_line().into()];
    insta::assert_snapshot!(drawn(&results, 60, Glyphs::Unicode));
}

#[test]
fn verdicts_with_their_sentences() {
    insta::assert_snapshot!(drawn(&[samples::judged()], 100, Glyphs::Unicode));
}

#[test]
fn ascii_only() {
    insta::assert_snapshot!(drawn(&[samples::shapes::values().into()], 60, Glyphs::Ascii));
}

#[test]
fn hostile_text_stays_text() {
    insta::assert_snapshot!(drawn(&[samples::hostile::hostile()], 100, Glyphs::Unicode));
}

#[test]
fn colours() {
    let options = TextOptions { width: 100, style: Style::Ansi, glyphs: Glyphs::Unicode };
    let painted = text(&[samples::judged(), samples::deadlock().into()], &options);
    insta::assert_snapshot!(painted.replace('\u{1b}', "ESC"));
}

#[test]
fn repeats_that_came_out_the_same_are_shown_once() {
    let mut later = samples::lost_update();
    later.events.iter_mut().for_each(|event| event.at_us += 77);
    let results = [samples::lost_update().into(), later.into(), samples::lost_update().into()];
    insta::assert_snapshot!(drawn(&results, 100, Glyphs::Unicode));
}

#[test]
fn repeats_that_differ_are_counted() {
    let mut other = samples::lost_update();
    other.final_state[0].1.rows[0][1] = Value::Int(110);
    let results = [
        samples::lost_update().into(),
        samples::lost_update().into(),
        other.into(),
        samples::lost_update().into(),
    ];
    insta::assert_snapshot!(drawn(&results, 100, Glyphs::Unicode));
}

#[test]
fn a_regression_run_tells_what_differs_in_full() {
    let results = samples::regression();
    let failures = [samples::not_run()];
    let elapsed = Some(Duration::from_millis(12_345));
    let runs = Runs { results: &results, failures: &failures, elapsed, brief: true };
    let options = TextOptions { width: 100, style: Style::Plain, glyphs: Glyphs::Unicode };
    insta::assert_snapshot!(text(runs, &options));
}

#[test]
fn nothing_at_all() {
    assert_eq!(drawn(&[], 80, Glyphs::Unicode), "nothing was run\n");
}
