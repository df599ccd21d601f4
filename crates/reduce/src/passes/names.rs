//! Short names: tables t, u, v, …; columns a, b, c, …; indexes i, j, k; savepoints s; sessions t1, t2, ….
//!
//! A name is changed wherever it occurs as a word. Blind spot: a name that is also a function or keyword in the same
//! case; then the answer is most likely no, and the names stay.

use std::collections::{BTreeMap, BTreeSet};

use anchorite_model::StatementKind;
use anchorite_model::sql::Tokens;
use anchorite_sql::ast::Statement;

use crate::draft::Draft;
use crate::search::{Search, Stop};
use anchorite_sql::schema;
use anchorite_sql::syntax::last_name;
use anchorite_sql::{ParsedStatement, bare};

/// Gives everything a short name, if the case is then still interesting: all names at once, else by kind.
pub(super) fn tidy(search: &mut Search<'_, '_>) -> Result<(), Stop> {
    let named = |draft: &Draft, sessions: bool, names: bool| {
        let mut candidate = draft.clone();
        if names {
            rename(&mut candidate);
        }
        if sessions {
            for (number, session) in candidate.speakers().into_iter().enumerate() {
                candidate.sessions[session] = format!("t{}", number + 1);
            }
        }
        candidate
    };
    for (sessions, names) in [(true, true), (false, true), (true, false)] {
        let candidate = named(&search.best, sessions, names);
        if candidate.to_case() == search.best.to_case() {
            return Ok(());
        }
        let levels = &search.best.to_case().header.session_levels;
        let names_matter = sessions && !levels.is_empty();
        if !names_matter && search.offer_whatever_it_costs(candidate)? {
            return Ok(());
        }
    }
    Ok(())
}

fn rename(draft: &mut Draft) {
    let tables = schema::tables(&draft.setup);
    let mut renaming: BTreeMap<String, String> = BTreeMap::new();
    let mut taken = words(draft);
    let mut give = |names: Vec<String>, letters: &str| {
        taken.retain(|word| !names.contains(word));
        let mut free = letters.chars().map(String::from);
        for name in names {
            if !renaming.contains_key(&name)
                && let Some(new) = free.by_ref().find(|new| !taken.contains(new))
            {
                taken.insert(new.clone());
                renaming.insert(name, new);
            }
        }
    };
    give(tables.iter().map(|table| table.name.clone()).collect(), "tuvwxyz");
    give(tables.into_iter().flat_map(|table| table.columns).collect(), "abcdefgh");
    give(indexes(draft), "ijklmn");
    give(savepoints(draft), "spqr");
    for parsed in draft.sentences_mut() {
        let text = renamed(parsed, &renaming);
        parsed.rewrite(&text);
    }
}

/// Every word of the case, in lower case.
fn words(draft: &Draft) -> BTreeSet<String> {
    let tokens = draft.parsed_statements().flat_map(|parsed| parsed.tokens());
    tokens.map(|token| bare(&token).to_lowercase()).collect()
}

fn indexes(draft: &Draft) -> Vec<String> {
    let trees = draft.setup.iter().filter_map(ParsedStatement::tree);
    trees
        .filter_map(|tree| match tree {
            Statement::CreateIndex(index) => index.name.as_ref().map(last_name),
            _ => None,
        })
        .collect()
}

fn savepoints(draft: &Draft) -> Vec<String> {
    let kinds = draft.lines.iter().map(|line| line.parsed.kind());
    kinds
        .filter_map(|kind| match kind {
            StatementKind::Savepoint(name) => Some(name.to_lowercase()),
            _ => None,
        })
        .collect()
}

fn renamed(parsed: &ParsedStatement, renaming: &BTreeMap<String, String>) -> String {
    let tokens = Tokens::new(parsed.text(), 0, parsed.dialect()).map_while(Result::ok);
    let new = |name: &str| renaming.get(&name.to_lowercase()).cloned();
    tokens.map(|token| new(bare(&token)).unwrap_or_else(|| token.text.to_owned())).collect()
}
