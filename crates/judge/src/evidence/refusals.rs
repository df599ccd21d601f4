//! INSERTs that were refused because a key was taken, and left no trace.
//!
//! Idea: a refusal says something about the tables at that moment. So such an INSERT can be placed in a serial order,
//! where it has to be refused again.
//!
//! Blind spot: INSERTs after other writes of their transaction, and those that read what they insert.

use anchorite_claims::WriteView;
use anchorite_model::Product;
use anchorite_model::sql::{StatementKind, Tokens};

use super::transactions::{Performed, Transaction, is_optimistic};

/// INSERTs of constants that were refused because a key was taken, in transactions that left no trace and had written
/// nothing before; each treated as if it were alone. Where a transaction has one snapshot, the key may have been taken
/// there: then it counts from its beginning.
pub fn refused_inserts<'r>(
    transactions: &[Transaction<'r>],
    product: Product,
    sees: WriteView,
) -> Vec<Transaction<'r>> {
    let mut found = Vec::new();
    for transaction in transactions.iter().filter(|transaction| !transaction.committed) {
        let first = transaction.statements.iter().find(|statement| statement.is_write());
        let Some(insert) = first.filter(|statement| is_refused_insert(statement, product)) else {
            continue;
        };
        if transaction.begin.is_some_and(is_optimistic) {
            continue;
        }
        found.push(Transaction {
            begin: None,
            statements: vec![insert.clone()],
            committed: true,
            began: match sees {
                WriteView::TransactionSnapshot | WriteView::LateSnapshot => transaction.began,
                WriteView::Latest | WriteView::Retried | WriteView::StatementSnapshot => {
                    insert.start
                }
            },
            ended: insert.end,
            ..transaction.clone()
        });
    }
    found
}

fn is_refused_insert(statement: &Performed<'_>, product: Product) -> bool {
    let taken = &product.descriptor().duplicate_key;
    let mut tokens = Tokens::new(statement.sql, 0, product.dialect()).filter_map(Result::ok);
    statement.kind == StatementKind::Insert
        && matches!(statement.reply, Err(error) if taken.contains(&error.code))
        && !tokens.any(|token| token.is_word("SELECT"))
}
