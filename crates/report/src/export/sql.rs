//! SQL for several terminals, with a numbered comment above each statement that says where to run it.
//!
//! Idea: what a developer does by hand: open a client per session, paste, see the prompt hang where the comment says
//! that it will, continue in the other terminal. Each answer is below its statement. Source: the reports that were
//! verified within a day are such scripts. Blind spot: pasted as a whole into one client it runs everything in one
//! session and proves nothing; the first lines say so.

use super::Script;
use super::moves::{Move, Wait, plan, told, waits_for};
use super::setup::{created_tables, final_tables, opening, rows_told, session_settings};
use crate::escape::visible;

/// The script.
pub(super) fn sql(script: &Script<'_>) -> String {
    let names: Vec<String> = script.case.sessions.iter().map(|name| visible(name)).collect();
    let mut out = String::new();
    opening(script).iter().for_each(|line| comment(&mut out, line));
    comment(&mut out, "");
    comment(
        &mut out,
        &match &names[..] {
            [name] => format!("Open a terminal with a client on the database, and call it {name}."),
            _ => format!(
                "Open {} terminals, each with a client on the same database, and call them {}.",
                names.len(),
                names.join(", ")
            ),
        },
    );
    comment(&mut out, "Run the statements in this order, each in the terminal named above it.");
    comment(
        &mut out,
        "Where a statement waits, leave it waiting and continue in the next terminal.",
    );
    if !script.case.setup.is_empty() {
        heading(&mut out, "set-up, in any terminal");
        script.case.setup.iter().for_each(|setup| statement(&mut out, &setup.sql));
    }
    for (session, name) in names.iter().enumerate() {
        let settings = session_settings(script.product(), script.level(session));
        match (settings.is_empty(), script.level(session)) {
            (true, Some(level)) => heading(&mut out, &format!("{name}: set the level {level}")),
            (true, None) => {}
            (false, _) => heading(&mut out, name),
        }
        settings.iter().for_each(|setting| statement(&mut out, setting));
    }
    for step in plan(script) {
        write_move(&mut out, script, &names, &step);
    }
    ending(&mut out, script);
    out
}

fn write_move(out: &mut String, script: &Script<'_>, names: &[String], step: &Move<'_>) {
    match step {
        Move::Send { n, session, sql, wait, outcome } => {
            let waits = match wait {
                Wait::For(by) => format!(": WAITS{}", visible(&waits_for(script, by))),
                Wait::No | Wait::Unknown => String::new(),
            };
            heading(out, &format!("{n}, {}{waits}", names[*session]));
            statement(out, sql);
            if let Some(told) =
                outcome.map(|outcome| told(sql, outcome)).filter(|told| told != "ok")
            {
                comment(out, &visible(&told));
            }
        }
        Move::Return { n, session, sql, outcome: Some(outcome) } => {
            let name = &names[*session];
            comment(out, &format!("now {n} in {name} resumes: {}", visible(&told(sql, outcome))));
        }
        // Without a run it is not known when the answer arrives.
        Move::Return { outcome: None, .. } => {}
        Move::Cancel { session } => {
            heading(out, &format!("{}: still waits; cancel it (Ctrl-C)", names[*session]));
        }
        Move::RollBack { session } => {
            heading(out, &format!("{}: still in its transaction", names[*session]));
            statement(out, "ROLLBACK");
        }
    }
}

fn ending(out: &mut String, script: &Script<'_>) {
    let tables = final_tables(script);
    if !tables.is_empty() {
        heading(out, "at the end, in any terminal");
    }
    for (table, rows) in &tables {
        statement(out, &format!("SELECT * FROM {table}"));
        rows.iter().for_each(|rows| comment(out, &rows_told(rows)));
    }
    script.case.check.iter().for_each(|check| statement(out, &check.sql));
    let created = created_tables(script);
    if script.case.teardown.is_empty() && created.is_empty() {
        return;
    }
    heading(out, "to clean up");
    if script.case.teardown.is_empty() {
        created.iter().for_each(|table| statement(out, &format!("DROP TABLE {table}")));
    }
    script.case.teardown.iter().for_each(|teardown| statement(out, &teardown.sql));
}

fn heading(out: &mut String, text: &str) {
    *out += &format!("\n-- [{text}]\n");
}

fn comment(out: &mut String, text: &str) {
    *out += format!("-- {text}").trim_end();
    out.push('\n');
}

/// A statement with its `;`, which must not become part of a trailing comment.
pub(super) fn statement(out: &mut String, sql: &str) {
    let comment_at_the_end =
        sql.lines().last().is_some_and(|line| line.contains("--") || line.contains('#'));
    *out += &format!("{sql}{};\n", if comment_at_the_end { "\n" } else { "" });
}
