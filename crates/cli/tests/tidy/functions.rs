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

struct Functions<'s> {
    path: &'s str,
    complaints: Vec<String>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &Signature, block: &Block) {
        let from = signature.span().start().line;
        let lines = block.span().end().line + 1 - from;
        let name = &signature.ident;
        if lines > LINES_MAX {
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
