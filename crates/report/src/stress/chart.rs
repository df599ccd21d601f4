//! Values over time as a picture: one line per series, drawn as SVG.
//!
//! Blind spot: a picture has at most as many points as a run has intervals; a peak within one of them is not seen.

use maud::{Markup, html as markup};

/// The size of the drawing.
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 160.0;
/// Room for the words on the left and below.
const LEFT: f64 = 70.0;
const BELOW: f64 = 20.0;

/// One line of a chart.
pub(super) struct Curve<'a> {
    /// Its name.
    pub name: &'a str,
    /// The class that gives it its colour.
    pub class: &'static str,
    /// Its values; `None` where there is none.
    pub values: Vec<Option<f64>>,
}

/// Draws curves that share one scale; `tell` puts a value into words.
pub(super) fn chart(curves: &[Curve<'_>], seconds: u64, tell: impl Fn(f64) -> String) -> Markup {
    let all = curves.iter().flat_map(|curve| &curve.values).flatten();
    let top = all.fold(0.0_f64, |top, value| top.max(*value));
    let count = curves.iter().map(|curve| curve.values.len()).max().unwrap_or(0);
    let x = |at: usize| LEFT + (WIDTH - LEFT) * at as f64 / count.saturating_sub(1).max(1) as f64;
    let y = |value: f64| HEIGHT - HEIGHT * value / top.max(f64::MIN_POSITIVE);
    let points = |curve: &Curve<'_>| {
        let told =
            curve.values.iter().enumerate().filter_map(|(at, value)| {
                value.map(|value| format!("{:.1},{:.1}", x(at), y(value)))
            });
        told.collect::<Vec<_>>().join(" ")
    };
    let view = format!("0 0 {WIDTH} {}", HEIGHT + BELOW);
    markup! {
        @if count > 1 && top > 0.0 {
            svg.chart viewBox=(view) role="img" {
                line.axis x1=(LEFT) y1=(HEIGHT) x2=(WIDTH) y2=(HEIGHT) {}
                text x="0" y="12" { (tell(top)) }
                text x="0" y=(HEIGHT) { "0" }
                text x=(LEFT) y=(HEIGHT + BELOW - 4.0) { "0 s" }
                text x=(WIDTH) y=(HEIGHT + BELOW - 4.0) text-anchor="end" {
                    (count as u64 * seconds) " s"
                }
                @for curve in curves { polyline class=(curve.class) points=(points(curve)) {} }
            }
            p.legend { @for curve in curves { span class=(curve.class) { (curve.name) } " " } }
        } @else {
            p.aside { "The run was too short for a picture." }
        }
    }
}
