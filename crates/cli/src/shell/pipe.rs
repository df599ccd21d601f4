//! Lines from a pipe or a file: no prompt, no editing.

use std::io;

use super::input::Request;
use super::{Lines, Typed};

/// Standard input.
pub struct Pipe;

impl Lines for Pipe {
    fn next(&mut self, _prompt: &str) -> Typed {
        let mut line = String::new();
        match io::stdin().read_line(&mut line) {
            // What is no text ends a script as its end does.
            Ok(0) | Err(_) => Typed::End,
            Ok(_) => Typed::Line(line),
        }
    }

    fn notice(&mut self, _request: &Request) {}
}
