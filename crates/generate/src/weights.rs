//! The weights of all choices, read from a small TOML file.
//!
//! Idea: `weights.toml` in this crate lists all weights and what each of them means; it is built in and is the default.
//! A user's file overrides single lines of it. A misspelling is rejected with the file, the line and what was expected.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// The built-in file.
const BUILT_IN: &str = include_str!("../weights.toml");

/// A larger weight is a typing error.
const LARGEST: i64 = 1_000_000;

/// Why a weights file is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}")]
pub struct WeightsError {
    /// The file.
    pub file: String,
    /// The line, 1-based.
    pub line: usize,
    /// What is wrong and what was expected.
    pub reason: String,
}

/// Declares the sections, so that a name occurs once here and once in the file.
macro_rules! weights {
    ($($section:ident: $kind:ident { $($name:ident)* })*) => {
        /// How often each option is chosen.
        #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Weights {
            $(pub(crate) $section: $kind,)*
        }

        $(
            #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub(crate) struct $kind {
                $(pub(crate) $name: u32,)*
            }
        )*
    };
}

weights! {
    case: CaseWeights {
        group one_table two_tables three_tables shape_percent
    }
    schema: SchemaWeights {
        no_key_percent composite_key_percent text_key_percent key_last_percent unique_percent
        composite_unique_percent not_null_percent default_percent check_percent
        foreign_key_percent generated_percent index_percent partition_percent
        without_rowid_percent self_reference_percent deferred_percent unique_prefix_percent
        unique_expression_percent view_percent trigger_percent
    }
    r#type: TypeWeights {
        int small_int big_int tiny_int unsigned decimal float varchar text char bool date moment
        bytes word set folded json long
    }
    index: IndexWeights {
        plain several_columns descending prefix expression partial including hash
    }
    rows: RowsWeights {
        none one two three four five six many_percent null_percent edge_percent
    }
    transactions: TransactionsWeights {
        one two three four five one_statement two_statements three_statements four_statements
        five_statements autocommit_percent rollback_percent savepoint_percent
        begin_immediate_percent begin_optimistic_percent consistent_snapshot_percent
        same_session_percent nested_savepoint_percent read_only_percent deferrable_percent
        autocommit_off_percent
    }
    schedule: ScheduleWeights {
        uniform open_together nested
    }
    statement: StatementWeights {
        update delete insert replace merge select ddl
    }
    select: SelectWeights {
        rows locking aggregate group join compound common_table distinct first_rows nowait_percent hint_percent
        skip_locked_percent lock_of_percent locking_join_percent
    }
    insert: InsertWeights {
        plain ignore upsert query several_rows_percent existing_key_percent returning_percent
    }
    predicate: PredicateWeights {
        all_rows key key_range compare between in_list null like columns arithmetic truth and_or
        not subquery
    }
    set: SetWeights {
        constant same_value add copy negate append case coalesce query own_query default null
        join_percent own_table_percent
        several_columns_percent move_key_percent update_ignore_percent ordered_limit_percent
    }
    conflict: ConflictWeights {
        same_table_percent same_predicate_percent written_column_percent same_column_percent
        row_value_percent
    }
    shape: ShapeWeights {
        key_moves lost_update semi_consistent phantom reinsert write_skew crossing undone
        index_move same_key parent_leaves upsert locked shared
    }
    ddl: DdlWeights {
        add_column create_index drop_index truncate inside_transaction_percent
    }
}

/// The parsed file: sections of names and numbers, with their positions.
type File = BTreeMap<Spanned<String>, BTreeMap<Spanned<String>, Spanned<i64>>>;

impl Weights {
    /// Reads a file that overrides some of the built-in weights; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, WeightsError> {
        let error = |at: usize, reason: String| {
            let line = text[..at.min(text.len())].matches('\n').count() + 1;
            WeightsError { file: file.to_owned(), line, reason }
        };
        let given: File = toml::from_str(text).map_err(|problem| {
            error(problem.span().map_or(0, |span| span.start), problem.message().to_owned())
        })?;
        let mut merged = built_in();
        for (section, weights) in &given {
            let known: Vec<String> = merged.keys().cloned().collect();
            let Some(merged) = merged.get_mut(section.get_ref()) else {
                let reason = unknown("section", section.get_ref(), &known);
                return Err(error(section.span().start, reason));
            };
            for (name, weight) in weights {
                let known: Vec<String> = merged.keys().cloned().collect();
                let Some(slot) = merged.get_mut(name.get_ref()) else {
                    return Err(error(
                        name.span().start,
                        unknown("weight", name.get_ref(), &known),
                    ));
                };
                let largest = if name.get_ref().ends_with("_percent") { 100 } else { LARGEST };
                let least = i64::from(name.get_ref() == "group");
                if !(least..=largest).contains(weight.get_ref()) {
                    let reason = format!(
                        "{} = {}: expected a number from {least} to {largest}",
                        name.get_ref(),
                        weight.get_ref()
                    );
                    return Err(error(weight.span().start, reason));
                }
                *slot = *weight.get_ref();
            }
        }
        Ok(Self::read(&merged))
    }

    fn read(table: &Plain) -> Self {
        let table = toml::Value::try_from(table).expect("numbers are TOML");
        table.try_into().expect("the built-in file names every weight, and no other")
    }
}

impl Default for Weights {
    fn default() -> Self {
        Self::read(&built_in())
    }
}

/// Sections of names and numbers.
type Plain = BTreeMap<String, BTreeMap<String, i64>>;

fn built_in() -> Plain {
    toml::from_str(BUILT_IN).expect("the built-in file is TOML")
}

fn unknown(what: &str, name: &str, known: &[String]) -> String {
    format!("unknown {what} '{name}': expected one of {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_file_names_every_weight() {
        let weights = Weights::default();
        assert_eq!(weights.case.group, 100);
        assert_eq!(Weights::parse("empty.toml", ""), Ok(weights));
    }

    #[test]
    fn single_lines_are_overridden() {
        let weights = Weights::parse("my.toml", "[statement]\nselect = 0\n").expect("it is right");
        assert_eq!(weights.statement.select, 0);
        assert_eq!(weights.statement.update, Weights::default().statement.update);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let table = [
            (
                "[case]\n\n[stetement]\nselect = 1",
                "my.toml:3: unknown section 'stetement': expected one of case",
            ),
            ("[ddl]\nselct = 1", "my.toml:2: unknown weight 'selct': expected one of add_column"),
            (
                "[ddl]\ntruncate = -1",
                "my.toml:2: truncate = -1: expected a number from 0 to 1000000",
            ),
            ("[case]\ngroup = 0", "my.toml:2: group = 0: expected a number from 1 to"),
            (
                "[case]\nshape_percent = 101",
                "my.toml:2: shape_percent = 101: expected a number from 0 to 100",
            ),
            ("[ddl]\ntruncate = \"x\"", "my.toml:2: "),
            ("[ddl]\n\ntruncate", "my.toml:3: "),
        ];
        for (text, message) in table {
            let error = Weights::parse("my.toml", text).expect_err(text).to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
