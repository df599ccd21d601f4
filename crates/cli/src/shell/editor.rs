//! The prompt: lines from a terminal, with editing, completion and history.
//!
//! Source: the crate `rustyline`. What the desk shows while a line is being edited goes through its external printer,
//! which puts the text above the line.

use std::cell::Cell;

use anchorite_model::sql::Dialect;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, ExternalPrinter, Helper};

use super::desk::Show;
use super::history::{History, is_secret};
use super::input::Request;
use super::words::Words;
use super::{Lines, Typed};
use crate::output::print;

/// A terminal.
pub struct Prompt {
    editor: Editor<Completion, DefaultHistory>,
    history: History,
}

impl Prompt {
    /// The prompt, and how to show something above it.
    pub fn new(dialect: Dialect) -> anyhow::Result<(Self, Show)> {
        let config = Config::builder().completion_type(CompletionType::List).build();
        let mut editor = Editor::with_config(config)?;
        let words = Words::new(dialect);
        editor.set_helper(Some(Completion { words, is_blank: Cell::new(true) }));
        let history = History::open();
        for entry in history.entries() {
            editor.add_history_entry(entry)?;
        }
        let mut printer = editor.create_external_printer()?;
        let show = move |text: &str| {
            if !text.is_empty() && printer.print(text.to_owned()).is_err() {
                print(text);
            }
        };
        Ok((Self { editor, history }, Box::new(show)))
    }

    fn is_blank(&self) -> bool {
        self.editor.helper().is_none_or(|helper| helper.is_blank.get())
    }
}

impl Lines for Prompt {
    fn next(&mut self, prompt: &str) -> Typed {
        if let Some(helper) = self.editor.helper() {
            helper.is_blank.set(true);
        }
        match self.editor.readline(prompt) {
            Ok(line) => {
                let entry = line.trim();
                let is_new = !entry.is_empty() && !is_secret(entry);
                if is_new && self.editor.add_history_entry(entry).is_ok_and(|added| added) {
                    self.history.add(entry);
                }
                Typed::Line(line)
            }
            // Ctrl-C on a line that was begun drops it, and means nothing else.
            Err(ReadlineError::Interrupted) if !self.is_blank() => Typed::Line(String::new()),
            Err(ReadlineError::Interrupted) => Typed::Cancel,
            // The end of the input, or a terminal that is gone.
            Err(_) => Typed::End,
        }
    }

    fn notice(&mut self, request: &Request) {
        if let (Request::Statement { sql, .. } | Request::SetUp(sql), Some(helper)) =
            (request, self.editor.helper_mut())
        {
            helper.words.learn(sql);
        }
    }
}

/// What the editor asks for completion.
struct Completion {
    words: Words,
    /// Whether nothing is on the line; an interrupted line is not returned by the editor.
    is_blank: Cell<bool>,
}

impl Completer for Completion {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.words.complete(line, pos))
    }
}

/// Called whenever the line changes.
impl Hinter for Completion {
    type Hint = String;

    fn hint(&self, line: &str, _pos: usize, _context: &Context<'_>) -> Option<String> {
        self.is_blank.set(line.trim().is_empty());
        None
    }
}

impl Highlighter for Completion {}

impl Validator for Completion {}

impl Helper for Completion {}
