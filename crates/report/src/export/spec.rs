//! A spec for PostgreSQL's isolationtester.
//!
//! Idea: each statement is a separate step, named after its session and number; the only permutation is the observed
//! order, so a step never has to wait for its own session. The level is set in the session's set-up, the final state is
//! read by a last session. Source: the README of PostgreSQL's isolation tests. Each set-up statement gets its own
//! block, because a block runs as one transaction and some DDL does not allow that. Blind spot: a block of SQL ends at
//! the first `}`, even inside quotes; strings are rewritten without it, and a `}` elsewhere cannot be written.

use anchorite_model::sql::{Dialect, TokenKind, Tokens};

use super::moves::{Move, Wait, plan, told, waits_for};
use super::setup::{
    created_tables, final_tables, identifiers, opening, rows_told, session_settings,
    without_comments,
};
use super::{ExportError, Form, Script};
use crate::escape::visible;

/// The spec.
pub(super) fn spec(script: &Script<'_>) -> Result<String, ExportError> {
    let names = identifiers(script);
    let mut out = String::new();
    opening(script).iter().for_each(|line| out += &format!("# {line}\n"));
    out.push('\n');
    for setup in &script.case.setup {
        out += &format!("setup {}\n", block(&setup.sql)?);
    }
    let teardown = if script.case.teardown.is_empty() {
        created_tables(script).iter().map(|table| format!("DROP TABLE {table};")).collect()
    } else {
        let own = script.case.teardown.iter();
        own.map(|statement| format!("{};", statement.sql)).collect::<Vec<_>>()
    };
    if !teardown.is_empty() {
        out += &format!("teardown {}\n", block(&teardown.join(" "))?);
    }
    let moves = plan(script);
    let mut order: Vec<String> = Vec::new();
    let mut steps: Vec<Vec<String>> = vec![Vec::new(); names.len()];
    for step in &moves {
        let Some((session, name, sql)) = named(step, &names) else { continue };
        let remark = remark(script, step);
        steps[session].push(format!("step {name} {}{remark}\n", block(sql)?));
        order.push(name);
    }
    for (session, name) in names.iter().enumerate() {
        if steps[session].is_empty() {
            continue;
        }
        out += &format!("\nsession {name}\n");
        let settings = session_settings(Form::Spec.usual_product(), script.level(session));
        for setting in settings {
            out += &format!("setup {}\n", block(&setting)?);
        }
        steps[session].iter().for_each(|step| out += step);
    }
    out += &last_session(script, &names, &mut order)?;
    out += &format!("\n{}permutation {}\n", waits(&moves, &names), order.join(" "));
    Ok(out)
}

/// The steps in which waits occurred, for readers of isolationtester's output.
fn waits(moves: &[Move<'_>], names: &[String]) -> String {
    let waiting = moves.iter().filter(|step| matches!(step, Move::Send { wait: Wait::For(_), .. }));
    let waiting: Vec<String> =
        waiting.filter_map(|step| named(step, names)).map(|(_, name, _)| name).collect();
    if waiting.is_empty() {
        return String::new();
    }
    format!("# waits are expected in {}\n", waiting.join(", "))
}

/// The session, the name and the statement of a step; `None` for moves that are not statements.
fn named<'a>(step: &Move<'a>, names: &[String]) -> Option<(usize, String, &'a str)> {
    match step {
        Move::Send { n, session, sql, .. } => {
            Some((*session, format!("{}_{n}", names[*session]), sql))
        }
        Move::RollBack { session } => {
            Some((*session, format!("{}_rollback", names[*session]), "ROLLBACK"))
        }
        Move::Return { .. } | Move::Cancel { .. } => None,
    }
}

fn remark(script: &Script<'_>, step: &Move<'_>) -> String {
    let text = match step {
        Move::Send { wait: Wait::For(by), .. } => format!("waits{}", waits_for(script, by)),
        Move::Send { sql, outcome: Some(outcome), .. } => match told(sql, outcome) {
            told if told == "ok" => String::new(),
            told => told,
        },
        _ => String::new(),
    };
    if text.is_empty() { text } else { format!(" # {}", visible(&text)) }
}

/// The session that reads the tables at the end and runs the case's checks.
fn last_session(
    script: &Script<'_>,
    names: &[String],
    order: &mut Vec<String>,
) -> Result<String, ExportError> {
    let mut steps = String::new();
    let tables = final_tables(script).into_iter();
    let reads = tables.map(|(table, rows)| (format!("SELECT * FROM {table}"), rows));
    let checks = script.case.check.iter().map(|check| (check.sql.clone(), None));
    let mut name = "final".to_owned();
    while names.contains(&name) {
        name.push('_');
    }
    for (i, (sql, rows)) in reads.chain(checks).enumerate() {
        let step = format!("{name}_{}", i + 1);
        let rows = rows.map(|rows| format!(" # {}", rows_told(rows))).unwrap_or_default();
        steps += &format!("step {step} {}{rows}\n", block(&sql)?);
        order.push(step);
    }
    Ok(if steps.is_empty() { steps } else { format!("\nsession {name}\n{steps}") })
}

/// SQL in braces.
fn block(sql: &str) -> Result<String, ExportError> {
    let sql = without_closing_brace(&without_comments(sql, Dialect::Postgres))?;
    let semicolon = if sql.ends_with(';') { "" } else { ";" };
    let separator = if sql.contains('\n') { "\n" } else { " " };
    Ok(format!("{{{separator}{sql}{semicolon}{separator}}}"))
}

fn without_closing_brace(sql: &str) -> Result<String, ExportError> {
    if !sql.contains('}') {
        return Ok(sql.to_owned());
    }
    let mut out = String::new();
    for token in Tokens::new(sql, 0, Dialect::Postgres).map_while(Result::ok) {
        match token.kind {
            _ if !token.text.contains('}') => out += token.text,
            TokenKind::String if token.text.starts_with('\'') => {
                out += &format!("U&{}", token.text.replace('\\', "\\\\").replace('}', "\\007D"));
            }
            TokenKind::String => out += &token.text.replace('}', "\\x7d"),
            _ => {
                let reason = format!("a block of a spec ends at the first `}}`, as in {sql}");
                return Err(ExportError { form: Form::Spec, reason });
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brace_in_a_string_is_written_as_its_code() {
        assert_eq!(block("SELECT 1").as_deref(), Ok("{ SELECT 1; }"));
        let json = block("INSERT INTO t VALUES ('{\"a\\b\": 1}', E'}')");
        let written = "{ INSERT INTO t VALUES (U&'{\"a\\\\b\": 1\\007D', E'\\x7d'); }";
        assert_eq!(json.as_deref(), Ok(written));
        assert!(block("SELECT $$}$$").is_err());
    }
}
