//! Modules of a crate import each other in one direction only.
//!
//! Idea: of each crate the files are a tree of modules. For each folder, what the modules in it (each with everything
//! below it) take from one another must have no circle. Names are followed through `use`, so that taking something from
//! where it is only passed on counts as taking it from where it is written.
//!
//! What a module takes from the folder that it is in, or a folder from what is in it, is no circle: that is how a
//! folder is put together. Code that is compiled for tests only does not count.
//!
//! Blind spot: methods are not followed, only names in paths.

mod imports;
mod modules;

use std::collections::{BTreeMap, BTreeSet};

use modules::Crate;

use crate::Source;

/// Who takes something from whom, in one folder, with one place where it does.
type Arrows = BTreeMap<(String, String), String>;

/// The arrows of each folder of a crate.
fn arrows(all: &Crate) -> BTreeMap<Vec<String>, Arrows> {
    let mut folders: BTreeMap<Vec<String>, Arrows> = BTreeMap::new();
    for (from, module) in all.modules() {
        for taken in &module.taken {
            let Some(to) = all.home_of(from, taken) else { continue };
            let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if let (Some(a), Some(b)) = (from.get(shared), to.get(shared)) {
                let place = format!("{} takes {}", module.path, taken.join("::"));
                let arrows = folders.entry(from[..shared].to_vec()).or_default();
                arrows.entry((a.clone(), b.clone())).or_insert(place);
            }
        }
    }
    folders
}

/// The arrows that belong to a circle.
fn circle(arrows: &Arrows) -> Vec<(&(String, String), &String)> {
    let reaches = |from: &str, to: &str| {
        let mut seen = BTreeSet::from([from]);
        let mut next = vec![from];
        while let Some(at) = next.pop() {
            let ahead = arrows.keys().filter(|(a, _)| a == at).map(|(_, b)| b.as_str());
            next.extend(ahead.filter(|b| seen.insert(b)));
        }
        seen.contains(to)
    };
    arrows.iter().filter(|((a, b), _)| reaches(b, a)).collect()
}

fn of_crate(name: &str, all: &Crate) -> Vec<String> {
    let folders = arrows(all);
    let told = |(folder, arrows): (&Vec<String>, _)| {
        let circle = circle(arrows);
        let line = |((a, b), place): &(&(String, String), &String)| format!("  {a} → {b}: {place}");
        let lines: Vec<String> = circle.iter().map(line).collect();
        let place = format!("{name}::{}", folder.join("::"));
        (!lines.is_empty()).then(|| format!("a circle in {place}\n{}", lines.join("\n")))
    };
    folders.iter().filter_map(told).collect()
}

/// The circles of every crate.
pub fn complaints(sources: &[Source]) -> Vec<String> {
    let mut crates: BTreeMap<&str, Crate> = BTreeMap::new();
    for source in sources {
        if let Some((name, path)) = source.path.split_once("/src/") {
            crates.entry(name).or_default().add(path, &source.tree);
        }
    }
    crates.iter().flat_map(|(name, modules)| of_crate(name, modules)).collect()
}

fn example(files: &[(&str, &str)]) -> Crate {
    let mut all = Crate::default();
    for (path, text) in files {
        all.add(path, &syn::parse_file(text).expect("valid Rust"));
    }
    all
}

#[test]
fn a_circle_is_found_through_names_that_are_passed_on() {
    let straight = [
        ("lib.rs", "mod a; mod b; pub use b::B;"),
        ("a.rs", "use crate::B; pub struct A;"),
        ("b.rs", "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }"),
    ];
    assert!(of_crate("x", &example(&straight)).is_empty());
    for back in ["use crate::a::A;", "fn f() { super::a::f() }", "fn f() { g!(crate::a::A) }"] {
        let text = format!("pub struct B; {back}");
        let round = [straight[0], straight[1], ("b.rs", text.as_str())];
        let told = of_crate("x", &example(&round));
        assert_eq!(told.len(), 1, "{back}");
        assert!(told[0].contains("a → b") && told[0].contains("b → a"), "{told:?}");
    }
}

#[test]
fn a_circle_inside_a_folder_is_found_and_the_folder_itself_is_none() {
    let files = [
        ("lib.rs", "mod f;"),
        ("f/mod.rs", "mod a; mod b; mod c; pub use a::A; pub struct F;"),
        ("f/a.rs", "use super::b::B; use super::F; pub struct A;"),
        ("f/b.rs", "use super::c::C; pub struct B;"),
        ("f/c.rs", "use super::A; pub struct C;"),
    ];
    let told = of_crate("x", &example(&files));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("x::f") && told[0].contains("c → a"), "{told:?}");
    let straight = [files[0], files[1], files[2], files[3], ("f/c.rs", "use super::F;")];
    assert!(of_crate("x", &example(&straight)).is_empty());
}
