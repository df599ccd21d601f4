//! The modules of a crate, and where a name of it is written.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::Imports;

/// Names on the way from the crate's root to a module.
pub type Place = Vec<String>;

/// One module.
#[derive(Default)]
pub struct Module {
    /// The file that it is in.
    pub path: String,
    /// The paths that it takes something by, as they are written.
    pub taken: Vec<Vec<String>>,
    /// Names that it can be asked for, because it imports them: what they stand for.
    passed_on: BTreeMap<String, Vec<String>>,
    /// Modules of which it passes everything on.
    globs: Vec<Vec<String>>,
    /// Modules that exist for tests only.
    for_tests: BTreeSet<String>,
    /// Names that are written in it.
    written: BTreeSet<String>,
}

/// The modules of a crate.
#[derive(Default)]
pub struct Crate {
    modules: BTreeMap<Place, Module>,
}

/// How far names are followed.
const STEPS_MAX: usize = 16;

impl Crate {
    /// Adds a file; `path` is the one below `src`.
    pub fn add(&mut self, path: &str, tree: &syn::File) {
        let mut place: Place = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        if matches!(place.last().map(String::as_str), Some("lib" | "main" | "mod")) {
            place.pop();
        }
        let imports = Imports::of(&tree.items);
        self.insert(path, place, imports);
    }

    fn insert(&mut self, path: &str, place: Place, imports: Imports) {
        for (name, inner) in imports.inner {
            let place = place.iter().cloned().chain([name]).collect();
            self.insert(path, place, inner);
        }
        let module = Module {
            path: path.to_owned(),
            taken: imports.taken,
            passed_on: imports.passed_on,
            globs: imports.globs,
            for_tests: imports.for_tests,
            written: imports.written,
        };
        self.modules.insert(place, module);
    }

    /// Every module that is not for tests only.
    pub fn modules(&self) -> impl Iterator<Item = (&Place, &Module)> {
        let is_for_tests = |place: &[String]| {
            (0..place.len()).any(|at| {
                let parent = self.modules.get(&place[..at]);
                parent.is_some_and(|parent| parent.for_tests.contains(&place[at]))
            })
        };
        self.modules.iter().filter(move |(place, _)| !is_for_tests(place))
    }

    /// The module in which the thing is written that a module takes by this path; `None` if it is of another crate.
    pub fn home_of(&self, from: &[String], path: &[String]) -> Option<Place> {
        self.follow(from, path, STEPS_MAX)
    }

    fn follow(&self, from: &[String], path: &[String], steps: usize) -> Option<Place> {
        let steps = steps.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.below(Vec::new(), rest, steps),
            "self" => self.below(from.to_vec(), rest, steps),
            "super" => {
                let parent = &from[..from.len().checked_sub(1)?];
                match rest.first().map(String::as_str) {
                    Some("super") => self.follow(parent, rest, steps),
                    _ => self.below(parent.to_vec(), rest, steps),
                }
            }
            name => {
                let child: Place = from.iter().cloned().chain([name.to_owned()]).collect();
                let module = self.modules.get(from)?;
                if self.modules.contains_key(&child) {
                    self.below(child, rest, steps)
                } else {
                    let known = module.passed_on.get(name).filter(|known| known[0] != name)?;
                    let whole: Vec<String> = known.iter().chain(rest).cloned().collect();
                    self.follow(from, &whole, steps)
                }
            }
        }
    }

    /// Goes on from a module.
    fn below(&self, place: Place, path: &[String], steps: usize) -> Option<Place> {
        let steps = steps.checked_sub(1)?;
        let Some((first, rest)) = path.split_first() else { return Some(place) };
        let child: Place = place.iter().cloned().chain([first.clone()]).collect();
        if self.modules.contains_key(&child) {
            return self.below(child, rest, steps);
        }
        let module = self.modules.get(&place)?;
        if module.written.contains(first) {
            return Some(place);
        }
        if let Some(known) = module.passed_on.get(first) {
            let whole: Vec<String> = known.iter().chain(rest).cloned().collect();
            return self.follow(&place, &whole, steps);
        }
        let globs = module.globs.iter().filter_map(|glob| self.follow(&place, glob, steps));
        let mut written = globs.filter(|glob| self.modules[glob].written.contains(first));
        Some(written.next().unwrap_or(place))
    }
}
