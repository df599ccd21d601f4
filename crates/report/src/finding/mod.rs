//! Findings for the people who have to act on them.
//!
//! Idea: one Markdown text per finding that a developer of the DBMS can paste into a tracker and act upon
//! ([`markdown`]), one HTML page for a whole campaign ([`page`]), and scripts in the vendor's own dialect
//! ([`crate::export`]). All are made from the finding alone.
//!
//! Source: what PostgreSQL, MySQL, MariaDB and TiDB ask of a bug report: version, level read back, schema,
//! data, schedule with what blocked, expected and actual result, and a script that repeats it.
//! Assumption: the finding's run is the last one, on fresh tables; nothing is shown that did not just happen.
//! Blind spot: the reader's time. What is long (many serial orders, many rows) is cut, and says so.

mod brief;
mod compare;
mod headline;
mod lanes;
mod markdown;
mod outcomes;
mod page;
mod section;
mod versions;
mod words;

use anchorite_model::Finding;

pub(crate) use brief::in_brief;
pub use brief::{remarks, title};
pub use headline::headline;
pub use markdown::markdown;
pub use page::{page, page_of_one};
pub(crate) use words::{
    again as target_argument, anomaly as anomaly_told, blamed, product_and_version as product_told,
};
pub(crate) use words::{rate, replay, seen_by};

use crate::cycle::{cycle_of, dot};
use crate::export::{ExportError, Form, Script, export};
use crate::svg::svg;

/// The finding as a script in a form.
pub fn script(finding: &Finding, form: Form) -> Result<String, ExportError> {
    match form {
        Form::Svg => return Ok(picture(finding)),
        Form::Dot if !cycle_of(finding).is_empty() => {
            return Ok(dot(cycle_of(finding), &finding.run.case));
        }
        _ => {}
    }
    let remarks = remarks(finding);
    export(form, &Script { case: &finding.run.case, run: Some(&finding.run), remarks: &remarks })
}

/// What happened, as a separate picture.
pub fn picture(finding: &Finding) -> String {
    let (title, below) = (title(finding), anomaly_told(&finding.signature));
    let below = if title.ends_with(&below) { "" } else { &below };
    svg(&finding.run, (&title, below), blamed(finding).as_ref(), cycle_of(finding))
}

/// The files that accompany a finding: `(name, text)`. `version` is Anchorite's own.
pub fn pages(finding: &Finding, version: &str) -> Vec<(String, String)> {
    let mut pages = vec![
        ("report.md".to_owned(), markdown(finding, version)),
        ("report.html".to_owned(), page_of_one(finding, version)),
    ];
    pages.extend(has_picture(finding).then(|| (PICTURE.to_owned(), picture(finding))));
    let scripts = scripts(finding).into_iter();
    pages.extend(scripts.map(|(form, text)| (script_file(form), text)));
    pages
}

/// Whether anything happened that a picture could show: a crash may leave nothing behind.
fn has_picture(finding: &Finding) -> bool {
    !finding.run.events.is_empty()
}

/// The picture's file.
const PICTURE: &str = "lanes.svg";

/// The file of a script.
fn script_file(form: Form) -> String {
    let ending = match form {
        Form::Sql => "sql",
        Form::Mtr => "test",
        Form::Spec => "spec",
        Form::Comments => "case",
        Form::Svg => "svg",
        Form::Dot => "dot",
    };
    format!("reproduce.{ending}")
}

/// The forms that suit the finding's product, with their texts. A form that cannot express the case is left out, and so
/// are all of them where the case alone does not show it.
fn scripts(finding: &Finding) -> Vec<(Form, String)> {
    if !finding.before.is_empty() {
        return Vec::new();
    }
    let native = Form::native_to(finding.run.target.product);
    let forms = [Form::Sql, Form::Comments].into_iter().chain(native);
    forms.filter_map(|form| Some((form, script(finding, form).ok()?))).collect()
}
