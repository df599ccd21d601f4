//! No function is longer than a screen, tests neither.
//!
//! Counted from the line of `fn` to the line of its closing brace, both included; documentation and attributes are
//! not counted.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

use crate::{Source, example};

/// A function that is longer does more than one thing.
const LINES_MAX: usize = 60;

/// Functions that are known and wait for their turn.
const TOLERATED: [&str; 15] = [
    "check/benches/speed/generate.rs groups",
    "check/benches/speed/generate.rs transaction",
    "check/tests/brute/judge.rs new",
    "check/tests/brute/judge.rs satisfies",
    "cli/src/reduce.rs reduce",
    "cli/tests/regression.rs what_the_case_says_is_compared_and_decides",
    "generate/src/set.rs assignment",
    "hunt/src/campaign/worker.rs work_with_target",
    "judge/src/classic/sight.rs seen_by",
    "model/src/case/tests.rs errors_say_where_and_what_was_expected",
    "report/src/finding/headline.rs titles_tell_what_the_statement_did",
    "report/tests/samples/finding.rs hunt",
    "report/tests/samples/finding.rs missed_row",
    "report/tests/samples/mod.rs failed_commit",
    "store/tests/killed.rs write_until_killed",
];

struct Functions<'s> {
    path: &'s str,
    complaints: Vec<String>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &Signature, block: &Block) {
        let from = signature.span().start().line;
        let lines = block.span().end().line + 1 - from;
        let name = &signature.ident;
        let is_tolerated = TOLERATED.contains(&format!("{} {name}", self.path).as_str());
        if lines > LINES_MAX && !is_tolerated {
            self.complaints.push(format!("{}:{from}: {name} has {lines} lines", self.path));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(block) = &function.default {
            self.measure(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

/// Its functions that are too long.
pub fn complaints(source: &Source) -> Vec<String> {
    let mut functions = Functions { path: &source.path, complaints: Vec::new() };
    functions.visit_file(&source.tree);
    functions.complaints
}

#[test]
fn a_long_function_is_complained_about_wherever_it_stands() {
    let body = "    f();\n".repeat(LINES_MAX - 1);
    let free = format!("fn free() {{\n{body}}}\n");
    let inner = format!("impl A {{\nfn method() {{\n{body}}}\n}}\n");
    let given = format!("trait A {{\nfn given() {{\n{body}}}\n}}\n");
    for text in [free, inner, given] {
        assert_eq!(complaints(&example(&text)).len(), 1, "{text}");
    }
    let text = format!("fn free() {{\n{}}}\n", "    f();\n".repeat(LINES_MAX - 2));
    assert!(complaints(&example(&text)).is_empty());
}
