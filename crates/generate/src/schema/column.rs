//! Random columns in a product's types.

use anchorite_model::sql::Dialect;

use super::Column;
use crate::random::Random;
use crate::value::Kind;
use crate::{Grammar, Weights};

const TINY: i64 = i8::MAX as i64;
const SMALL: i64 = i16::MAX as i64;
const REGULAR: i64 = i32::MAX as i64;
const BIG: i64 = i64::MAX;

/// Integers that occasionally hold the extremes of their type.
const EXTREME_PERCENT: u32 = 6;

/// Strings that are equal although their letters' case or their trailing spaces differ.
const GENERAL_CI: &str = "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci";
const NOCASE: &str = "TEXT COLLATE NOCASE";
const RTRIM: &str = "TEXT COLLATE RTRIM";

/// A name for what is spelt like another type.
const LONG_TEXT: &str = "long TEXT";

/// A column of any type that the target has.
pub(super) fn any_column(grammar: &Grammar<'_>, random: &mut Random, name: String) -> Column {
    let Weights { r#type: weights, .. } = grammar.weights;
    let if_has = |name: &str, weight: u32| if grammar.has(name) { weight } else { 0 };
    let is_postgres = grammar.dialect == Dialect::Postgres;
    let has_bytes = is_postgres || grammar.has("blob");
    let has_moment = is_postgres || grammar.has("datetime");
    let column = |kind, sql_type: &str, limit| plain(name.clone(), kind, sql_type, limit);
    let choice = random.weighted(&[
        (weights.int, "INT"),
        (weights.small_int, "SMALLINT"),
        (weights.big_int, "BIGINT"),
        (if_has("tinyint", weights.tiny_int), "TINYINT"),
        (if_has("unsigned", weights.unsigned), "INT UNSIGNED"),
        (weights.decimal, "DECIMAL(10, 2)"),
        (weights.float, "DOUBLE PRECISION"),
        (weights.varchar, "VARCHAR(40)"),
        (weights.text, "TEXT"),
        (weights.char, "CHAR(8)"),
        (weights.bool, "BOOLEAN"),
        (weights.date, "DATE"),
        (if has_moment { weights.moment } else { 0 }, "DATETIME"),
        (if has_bytes { weights.bytes } else { 0 }, "BLOB"),
        (if_has("enum", weights.word), "ENUM('a', 'b', 'c')"),
        (if_has("set", weights.set), "SET('a', 'b', 'c')"),
        (if_has("collation-general-ci", weights.folded), GENERAL_CI),
        (if_has("collation-nocase", weights.folded), NOCASE),
        (if_has("collation-nocase", weights.folded), RTRIM),
        (if_has("json", weights.json), "JSON"),
        (if_has("jsonb", weights.json), "JSONB"),
        (weights.long, LONG_TEXT),
    ]);
    match choice {
        "INT" => extreme(random, column(Kind::Int, choice, REGULAR)),
        "SMALLINT" => extreme(random, column(Kind::Int, choice, SMALL)),
        "BIGINT" => extreme(random, column(Kind::Int, choice, BIG)),
        "TINYINT" => column(Kind::Int, choice, TINY),
        "INT UNSIGNED" => column(Kind::Unsigned, choice, REGULAR),
        "DECIMAL(10, 2)" => column(Kind::Decimal, choice, REGULAR),
        "DOUBLE PRECISION" => column(Kind::Float, choice, REGULAR),
        "VARCHAR(40)" => column(Kind::Text, choice, REGULAR),
        "TEXT" => long(grammar, column(Kind::Text, choice, REGULAR)),
        "CHAR(8)" => column(Kind::Fixed, choice, REGULAR),
        "BOOLEAN" => column(Kind::Bool, choice, REGULAR),
        "DATE" => column(Kind::Date, choice, REGULAR),
        "DATETIME" => {
            let sql_type = if is_postgres { "TIMESTAMP" } else { choice };
            column(Kind::Moment, sql_type, REGULAR)
        }
        "SET('a', 'b', 'c')" => column(Kind::Set, choice, REGULAR),
        GENERAL_CI | NOCASE | RTRIM => column(Kind::Folded, choice, REGULAR),
        "JSON" | "JSONB" => without_index(column(Kind::Json, choice, REGULAR)),
        LONG_TEXT => without_index(column(Kind::Long, "TEXT", REGULAR)),
        "BLOB" => {
            let sql_type = if is_postgres { "BYTEA" } else { choice };
            long(grammar, column(Kind::Bytes, sql_type, REGULAR))
        }
        _ => column(Kind::Word, choice, REGULAR),
    }
}

/// A column for a key: a whole number or a short string.
pub(super) fn key_column(
    grammar: &Grammar<'_>,
    random: &mut Random,
    name: String,
    is_text: bool,
) -> Column {
    let mut column = if is_text {
        let sql_type =
            if grammar.has("text-key") && random.percent(40) { "TEXT" } else { "VARCHAR(20)" };
        plain(name, Kind::Text, sql_type, REGULAR)
    } else {
        let regular = if grammar.dialect == Dialect::Sqlite && random.percent(50) {
            "INTEGER"
        } else {
            "INT"
        };
        let (sql_type, limit) = random.weighted(&[
            (80, (regular, REGULAR)),
            (12, ("BIGINT", BIG)),
            (8, ("SMALLINT", SMALL)),
        ]);
        plain(name, Kind::Int, sql_type, limit)
    };
    column.is_nullable = false;
    column
}

/// A generated column: one more than another one.
pub(super) fn generated_column(
    grammar: &Grammar<'_>,
    random: &mut Random,
    base: &Column,
) -> Option<Column> {
    let ways: Vec<&str> = ["STORED", "VIRTUAL"]
        .into_iter()
        .filter(|way| grammar.has(&format!("generated-{}", way.to_lowercase())))
        .collect();
    let way = random.try_pick(&ways)?;
    let mut column = plain("g0".to_owned(), Kind::Int, "BIGINT", BIG);
    let expression = random.pick(&["+ 1", "* 2", "- 3"]);
    column.generated = Some(format!("GENERATED ALWAYS AS ({} {expression}) {way}", base.name));
    Some(column)
}

fn plain(name: String, kind: Kind, sql_type: &str, limit: i64) -> Column {
    Column {
        name,
        kind,
        sql_type: sql_type.to_owned(),
        limit,
        is_extreme: false,
        is_long: false,
        is_nullable: true,
        default: None,
        generated: None,
        prefix: None,
    }
}

fn extreme(random: &mut Random, column: Column) -> Column {
    Column { is_extreme: random.percent(EXTREME_PERCENT), ..column }
}

fn without_index(column: Column) -> Column {
    Column { is_long: true, ..column }
}

fn long(grammar: &Grammar<'_>, column: Column) -> Column {
    Column { is_long: grammar.dialect == Dialect::Mysql, ..column }
}
