//! Scripts in every form, as whole texts, and read back where we can read them.

mod samples;

use std::path::Path;

use anchorite_model::spec::Spec;
use anchorite_model::{Case, Run};
use anchorite_report::export::{Form, Script, export};
use anchorite_report::finding;
use samples::finding::{crowd, hostile_finding, left_open, missed_row, skew};

fn of_run(form: Form, run: &Run) -> String {
    export(form, &Script::of_run(run)).expect("a script")
}

#[test]
fn two_terminals() {
    insta::assert_snapshot!(finding::script(&missed_row(), Form::Sql).expect("a script"));
}

#[test]
fn an_mtr_test() {
    insta::assert_snapshot!(finding::script(&missed_row(), Form::Mtr).expect("a script"));
}

#[test]
fn an_isolation_spec() {
    insta::assert_snapshot!(finding::script(&skew(), Form::Spec).expect("a script"));
}

#[test]
fn a_case_with_remarks() {
    insta::assert_snapshot!(finding::script(&skew(), Form::Comments).expect("a script"));
}

#[test]
fn an_mtr_test_without_a_run_is_careful() {
    let case = samples::finding::case();
    insta::assert_snapshot!(export(Form::Mtr, &Script::of_case(&case)).expect("a script"));
}

#[test]
fn waits_that_end_by_a_roll_back_at_the_end() {
    insta::assert_snapshot!(of_run(Form::Sql, &left_open()));
}

#[test]
fn remarks_do_not_change_the_case() {
    for finding in [missed_row(), skew(), crowd()] {
        let text = finding::script(&finding, Form::Comments).expect("a script");
        let read =
            Case::parse(&finding.run.case.name, &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(schedule(&read), schedule(&finding.run.case));
        assert_eq!(read.header.level, finding.run.level);
    }
}

#[test]
fn hostile_text_cannot_leave_its_comment() {
    let finding = hostile_finding();
    for form in [Form::Sql, Form::Mtr, Form::Comments] {
        let text = finding::script(&finding, form).expect("a script");
        let remarks = text.lines().filter(|line| line.starts_with('#') || line.starts_with("--"));
        for remark in remarks {
            assert!(!remark.contains(['\u{1b}', '\u{202e}', '\0']), "{remark:?}");
        }
    }
}

#[test]
fn cases_of_the_collection_are_read_back() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    let mut seen = 0;
    for part in ["bugs", "waits"] {
        for entry in std::fs::read_dir(folder.join(part)).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            let text = std::fs::read_to_string(&path).expect("a case is readable");
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let case = Case::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"));
            check(&case);
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} cases");
}

fn check(case: &Case) {
    let script = Script::of_case(case);
    let text = export(Form::Comments, &script).expect("a script");
    let read = Case::parse(&case.name, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(schedule(&read), schedule(case), "{}", case.name);
    assert_eq!(read.header, case.header, "{}", case.name);
    let text = export(Form::Spec, &script).expect("a script");
    let spec = Spec::parse(&case.name, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let read = &spec.cases()[0];
    let ours = |(session, sql): &(String, String)| {
        session != "final" && !sql.starts_with("SET SESSION CHARACTERISTICS")
    };
    let steps: Vec<_> = schedule(read).into_iter().filter(ours).collect();
    let commentless = |sql: &str| {
        sql.lines().map(|l| l.split("--").next().unwrap_or_default()).collect::<Vec<_>>().join(" ")
    };
    let squeezed = |(session, sql): &(String, String)| {
        (session.clone(), commentless(sql).split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let expected: Vec<_> = schedule(case).iter().map(squeezed).collect();
    assert_eq!(steps.iter().map(squeezed).collect::<Vec<_>>(), expected, "{}", case.name);
    for form in [Form::Sql, Form::Mtr] {
        let text = export(form, &script).expect("a script");
        let first_words = |sql: &str| sql.lines().next().unwrap_or_default().to_owned();
        assert!(case.steps.iter().all(|step| text.contains(&first_words(&step.statement.sql))));
    }
}

/// Who says what, in order.
fn schedule(case: &Case) -> Vec<(String, String)> {
    let said = |step: &anchorite_model::Step| {
        (case.sessions[step.session].clone(), step.statement.sql.clone())
    };
    case.steps.iter().map(said).collect()
}
