//! Reproduction scripts in the dialects that the developers of each DBMS use themselves.
//!
//! Idea: the same schedule in four forms: SQL for as many terminals as there are sessions ([`Form::Sql`]), an mtr test
//! for MariaDB and MySQL, a spec for PostgreSQL's isolationtester, and our own `.case` text with remarks, which is how
//! TiDB's developers write theirs. All follow one plan (`moves`): who sends what, who waits for whom, who resumes when.
//! A fifth form is a picture of what happened, a sixth the cycle of dependencies that was found in it.
//!
//! Source: DBMS developers first rewrote the reports that they acted on into these forms. Assumption: with a run, the
//! order is the observed one, so no session is sent a statement while it waits. Without a run it is not known what
//! blocks: the order is that of submission, and the mtr form lets every statement run on its own while the next ones
//! are sent. Blind spot: nothing is translated. A statement that only one product understands stays as it is.

mod comments;
mod moves;
mod mtr;
mod setup;
mod spec;
mod sql;

use std::str::FromStr;

use anchorite_model::nearest::did_you_mean;
use anchorite_model::{Case, Level, Product, Run, SessionIndex};

use crate::result::level_label;
use crate::svg::svg;

/// A form of script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// SQL for several terminals.
    Sql,
    /// A test for MariaDB's and MySQL's `mtr` and `mysqltest`.
    Mtr,
    /// A spec for PostgreSQL's isolationtester.
    Spec,
    /// A `.case` file with remarks about what blocked.
    Comments,
    /// A picture of what happened.
    Svg,
    /// The cycle of dependencies that was found, for Graphviz.
    Dot,
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 6] =
        [Self::Sql, Self::Mtr, Self::Spec, Self::Comments, Self::Svg, Self::Dot];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sql => "sql",
            Self::Mtr => "mtr",
            Self::Spec => "spec",
            Self::Comments => "comments",
            Self::Svg => "svg",
            Self::Dot => "dot",
        }
    }

    /// The form that a product's own developers use, where they have one.
    pub fn native_to(product: Product) -> Option<Self> {
        product.descriptor().scripts.native.as_deref()?.parse().ok()
    }

    /// The product that a script of this form is written for where the script's own has another form, or none.
    pub(crate) fn usual_product(self) -> Option<Product> {
        Product::all().into_iter().find(|product| Self::native_to(*product) == Some(self))
    }
}

impl FromStr for Form {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|form| form.name() == text);
        found.ok_or_else(|| {
            let hint = did_you_mean(text, Self::ALL.into_iter().map(Self::name));
            format!("unknown form '{text}': expected sql, mtr, spec, comments, svg or dot{hint}")
        })
    }
}

/// What is exported.
#[derive(Debug, Clone, Copy)]
pub struct Script<'a> {
    /// The case.
    pub case: &'a Case,
    /// What happened when it ran; without it, it is not known what blocks.
    pub run: Option<&'a Run>,
    /// Lines for the top of the script: what it shows, what was expected.
    pub remarks: &'a [String],
}

/// A case that a form cannot express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot be written as {}: {reason}", .form.name())]
pub struct ExportError {
    /// The form.
    pub form: Form,
    /// Why not.
    pub reason: String,
}

impl<'a> Script<'a> {
    /// A case alone.
    pub const fn of_case(case: &'a Case) -> Self {
        Self { case, run: None, remarks: &[] }
    }

    /// A run, with its case.
    pub const fn of_run(run: &'a Run) -> Self {
        Self { case: &run.case, run: Some(run), remarks: &[] }
    }

    /// The product that the script is written for, if that is known.
    pub(crate) fn product(&self) -> Option<Product> {
        let ran_on = self.run.map(|run| run.target.product);
        ran_on.or_else(|| self.case.header.targets.first().copied())
    }

    /// The level of a session: that of the run, else that of the case.
    pub(crate) fn level(&self, session: SessionIndex) -> Option<Level> {
        let ran = self.run.and_then(|run| run.sessions.get(session));
        let ran = ran.and_then(|info| info.level.or_else(|| info.effective_level()));
        ran.or_else(|| self.case.level_of(session))
    }
}

/// The title of a picture of a run.
fn title_of(run: &Run) -> String {
    let title = run.case.header.title.as_ref().filter(|title| !title.is_empty());
    title.unwrap_or(&run.case.name).clone()
}

/// The script in a form.
pub fn export(form: Form, script: &Script<'_>) -> Result<String, ExportError> {
    match form {
        Form::Sql => Ok(sql::sql(script)),
        Form::Mtr => Ok(mtr::mtr(script)),
        Form::Spec => spec::spec(script),
        Form::Comments => Ok(comments::comments(script)),
        Form::Svg => match script.run {
            Some(run) => {
                let below = format!("{}, {}", run.target, level_label(run));
                Ok(svg(run, (&title_of(run), &below), None, &[]))
            }
            None => {
                let reason = "a picture shows what happened, so it has to be run first (--on)";
                Err(ExportError { form, reason: reason.to_owned() })
            }
        },
        Form::Dot => {
            let reason = "no cycle of dependencies was found (the graph oracle looks for one)";
            Err(ExportError { form, reason: reason.to_owned() })
        }
    }
}
