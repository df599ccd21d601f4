//! What one module takes by its paths, passes on and has written in it.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, UseTree};

/// What a module imports.
#[derive(Default)]
pub struct Imports {
    /// See `Module`.
    pub taken: Vec<Vec<String>>,
    pub passed_on: BTreeMap<String, Vec<String>>,
    pub globs: Vec<Vec<String>>,
    pub for_tests: BTreeSet<String>,
    pub written: BTreeSet<String>,
    /// Modules that are written inside of it.
    pub inner: Vec<(String, Imports)>,
}

impl Imports {
    /// Of these items.
    pub fn of(items: &[Item]) -> Self {
        let mut imports = Self::default();
        items.iter().for_each(|item| imports.visit_item(item));
        imports
    }

    fn add_use(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &syn::Ident| -> Vec<String> {
            before.iter().cloned().chain([name.to_string()]).collect()
        };
        match tree {
            UseTree::Path(path) => self.add_use(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.add_use(item, before));
            }
            UseTree::Name(name) if name.ident == "self" => self.pass_on(before.to_vec(), None),
            UseTree::Name(name) => self.pass_on(with(&name.ident), None),
            UseTree::Rename(rename) => {
                self.pass_on(with(&rename.ident), Some(rename.rename.to_string()));
            }
            UseTree::Glob(_) => {
                self.taken.push(before.to_vec());
                self.globs.push(before.to_vec());
            }
        }
    }

    fn pass_on(&mut self, path: Vec<String>, name: Option<String>) {
        if let Some(name) = name.or_else(|| path.last().cloned()) {
            self.passed_on.insert(name, path.clone());
        }
        self.taken.push(path);
    }

    /// Paths that begin at the root or above, inside of what a macro is given.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        for token in tokens {
            match token {
                TokenTree::Ident(name) if path.is_empty() => {
                    if name == "crate" || name == "super" {
                        path.push(name.to_string());
                    }
                }
                TokenTree::Ident(name) => path.push(name.to_string()),
                TokenTree::Punct(mark) if mark.as_char() == ':' => {}
                other => {
                    self.taken.extend(Some(std::mem::take(&mut path)).filter(|p| p.len() > 1));
                    if let TokenTree::Group(group) = other {
                        self.add_tokens(group.stream());
                    }
                }
            }
        }
        self.taken.extend(Some(path).filter(|path| path.len() > 1));
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test")
    })
}

/// The attributes and the name of an item, where it has a name.
fn head(item: &Item) -> (&[Attribute], Option<String>) {
    let (attributes, name) = match item {
        Item::Const(item) => (&item.attrs, &item.ident),
        Item::Enum(item) => (&item.attrs, &item.ident),
        Item::Fn(item) => (&item.attrs, &item.sig.ident),
        Item::Static(item) => (&item.attrs, &item.ident),
        Item::Struct(item) => (&item.attrs, &item.ident),
        Item::Trait(item) => (&item.attrs, &item.ident),
        Item::Type(item) => (&item.attrs, &item.ident),
        Item::Impl(item) => return (&item.attrs, None),
        Item::Use(item) => return (&item.attrs, None),
        Item::Mod(item) => return (&item.attrs, None),
        _ => return (&[], None),
    };
    (attributes, Some(name.to_string()))
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = head(item);
        if is_for_tests(attributes) && !matches!(item, Item::Mod(_)) {
            return;
        }
        self.written.extend(name);
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let name = module.ident.to_string();
        if is_for_tests(&module.attrs) {
            self.for_tests.insert(name);
        } else if let Some((_, items)) = &module.content {
            self.inner.push((name, Self::of(items)));
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.add_use(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if names.len() > 1 {
            self.taken.push(names);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.add_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}
