//! Nobody sleeps: whoever waits, waits for something, and a limit bounds it.
//!
//! Idea: besides functions whose name says that they sleep, a wait for readable descriptors of which there are none is
//! a sleep, too. [`THE_ONE_PLACE`] has the only ones: there the thing that is waited for is the interrupt.
//!
//! Blind spot: a list of descriptors that happens to be empty at run time, and a channel that nobody sends to.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, ExprMethodCall};

use crate::{Source, example};

/// Functions that let time pass, and nothing else.
const SLEEPS: [&str; 7] =
    ["sleep", "sleep_ms", "sleep_until", "nanosleep", "clock_nanosleep", "usleep", "park_timeout"];
/// Functions that wait for one of a list of things.
const WAITS_FOR_LIST: [&str; 5] = ["wait_readable", "poll", "ppoll", "select", "epoll_wait"];
/// Where waiting for an interrupt is written.
const THE_ONE_PLACE: &str = "drivers/src/wait.rs";

struct Waits<'s> {
    path: &'s str,
    complaints: Vec<String>,
}

fn last_word(expr: &Expr) -> Option<String> {
    let Expr::Path(path) = expr else { return None };
    path.path.segments.last().map(|segment| segment.ident.to_string())
}

/// `&[]`, `&mut []`, `[]`, `vec![]`, `Vec::new()`.
fn is_empty_list(expr: &Expr) -> bool {
    match expr {
        Expr::Reference(reference) => is_empty_list(&reference.expr),
        Expr::Array(array) => array.elems.is_empty(),
        Expr::Macro(call) => call.mac.path.is_ident("vec") && call.mac.tokens.is_empty(),
        Expr::Call(call) => call.args.is_empty() && last_word(&call.func).as_deref() == Some("new"),
        _ => false,
    }
}

impl Waits<'_> {
    fn look(&mut self, place: &impl Spanned, name: &str, first: Option<&Expr>, is_value: bool) {
        let line = place.span().start().line;
        if SLEEPS.contains(&name) && (first.is_some() || is_value) {
            self.complaints.push(format!("{}:{line}: `{name}` sleeps", self.path));
        }
        let waits_for_nothing = WAITS_FOR_LIST.contains(&name) && first.is_some_and(is_empty_list);
        if waits_for_nothing && self.path != THE_ONE_PLACE {
            self.complaints.push(format!("{}:{line}: `{name}` waits for nothing", self.path));
        }
    }
}

impl<'ast> Visit<'ast> for Waits<'_> {
    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let Some(name) = last_word(&call.func) {
            self.look(call, &name, call.args.first(), false);
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.look(call, &call.method.to_string(), call.args.first(), false);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        // Also as a value: `let pause = thread::sleep;`
        if let Some(name) = path.path.segments.last().map(|segment| segment.ident.to_string())
            && path.path.segments.len() > 1
            && SLEEPS.contains(&name.as_str())
        {
            self.look(path, &name, None, true);
        }
        visit::visit_expr_path(self, path);
    }
}

/// Its waits for nothing.
pub fn complaints(source: &Source) -> Vec<String> {
    let mut waits = Waits { path: &source.path, complaints: Vec::new() };
    waits.visit_file(&source.tree);
    waits.complaints.dedup();
    waits.complaints
}

#[test]
fn every_way_to_wait_for_nothing_is_complained_about() {
    // In two pieces, so that who searches the sources for a sleep does not find this line.
    let sleep = concat!("std::thread::", "sleep(PAUSE)");
    for wait in [
        sleep,
        "sleep(PAUSE)",
        "thread::park_timeout(PAUSE)",
        "let pause = std::thread::sleep",
        "wait_readable(&[], PAUSE)",
        "anchorite_drivers::wait_readable(&Vec::new(), PAUSE)",
        "let _ = poll(&mut [], Some(&timespec(PAUSE)))",
        "rustix::event::poll(&mut vec![], None)",
    ] {
        let source = example(&format!("fn wait() {{ {wait}; }}"));
        assert_eq!(complaints(&source).len(), 1, "{wait}");
    }
    for wait in ["wait_readable(&[fd], LIMIT)", "poll(&mut polled, None)", "session.poll()"] {
        let source = example(&format!("fn wait() {{ {wait}; }}"));
        assert!(complaints(&source).is_empty(), "{wait}");
    }
}
