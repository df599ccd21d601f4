//! Rows before and after a commit, for the sabotage that writes the old ones back.
//!
//! Blind spot: rows are compared by value. Of several rows that changed at once, those with the most values in common
//! are taken for the same row.

use anchorite_model::{Rows, Value};

use super::records::{Image, Key, Records};

/// The rows that changed between two states, for sessions other than `writer` that are inside a transaction.
pub(super) fn remembered_by(
    records: &Records,
    writer: Key,
    before: &[(String, Rows)],
    after: &[(String, Rows)],
) -> Vec<Image> {
    let others = records.others(writer).filter(|other| other.transaction.open);
    let open_for: Vec<Key> = others.map(|other| other.key).collect();
    let mut images = changed_rows(before, after);
    images.iter_mut().for_each(|image| image.open_for.clone_from(&open_for));
    images
}

fn changed_rows(before: &[(String, Rows)], after: &[(String, Rows)]) -> Vec<Image> {
    let mut images = Vec::new();
    for (table, old) in before {
        let Some((_, new)) = after.iter().find(|(name, _)| name == table) else { continue };
        if old.columns != new.columns {
            continue;
        }
        let gone = missing_from(&old.rows, &new.rows);
        let mut arrived = missing_from(&new.rows, &old.rows);
        for before in gone {
            let alike = |row: &Vec<Value>| row.iter().zip(&before).filter(|(a, b)| a == b).count();
            // The first of the most similar ones.
            let best = (0..arrived.len()).rev().max_by_key(|at| alike(&arrived[*at]));
            let Some(best) = best.filter(|at| alike(&arrived[*at]) > 0) else { continue };
            images.push(Image {
                table: table.clone(),
                columns: old.columns.clone(),
                after: arrived.remove(best),
                before,
                open_for: Vec::new(),
            });
        }
    }
    images
}

/// The rows of `these` that `those` has fewer of.
fn missing_from(these: &[Vec<Value>], those: &[Vec<Value>]) -> Vec<Vec<Value>> {
    let mut left = those.to_vec();
    let mut missing = Vec::new();
    for row in these {
        match left.iter().position(|other| other == row) {
            Some(at) => drop(left.swap_remove(at)),
            None => missing.push(row.clone()),
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[i128; 2]]) -> Vec<(String, Rows)> {
        let rows = rows.iter().map(|row| row.iter().copied().map(Value::Int).collect()).collect();
        vec![("t".to_owned(), Rows { columns: vec!["id".to_owned(), "a".to_owned()], rows })]
    }

    #[test]
    fn rows_are_paired_with_what_became_of_them() {
        let images =
            changed_rows(&table(&[[1, 5], [2, 6], [3, 7]]), &table(&[[1, 9], [3, 8], [2, 6]]));
        let pairs: Vec<_> =
            images.iter().map(|image| (&image.before[1], &image.after[1])).collect();
        let int = Value::Int;
        assert_eq!(pairs, [(&int(5), &int(9)), (&int(7), &int(8))]);
    }

    #[test]
    fn a_deleted_row_has_no_later_image() {
        assert_eq!(changed_rows(&table(&[[1, 5]]), &table(&[])), []);
        assert_eq!(changed_rows(&table(&[[1, 5]]), &table(&[[2, 6]])), []);
    }
}
