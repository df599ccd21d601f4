//! The layout of the boxes and arrows of a witness.
//!
//! Idea: a witness is one cycle, so its transactions form a ring: the upper row from left to right, the lower one back.
//! Every arrow then joins neighbours, runs in the space between rows and columns, and has its label there, so nothing
//! can cross a box. Two transactions are side by side, one arrow above the other. Assumption: all boxes of a picture
//! have the same width. Blind spot: long rings get tall; use Graphviz for those.

/// A rectangle on the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Rect {
    fn centred(x: f64, y: f64, width: f64, height: f64) -> Self {
        Self { x: x - width / 2.0, y: y - height / 2.0, width, height }
    }

    /// Right edge.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// Lower edge.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// The middle.
    pub fn centre(&self) -> Point {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }
}

/// A point on the page.
pub(super) type Point = (f64, f64);

/// An arrow: its corners, each at a right angle, and its label.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Arrow {
    /// From where to where.
    pub points: Vec<Point>,
    /// Lies on the arrow.
    pub label: Rect,
}

/// A picture without its texts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    /// Of the whole picture.
    pub width: f64,
    /// Of the whole picture.
    pub height: f64,
    /// In the order of the transactions.
    pub boxes: Vec<Rect>,
    /// From each transaction to the next one.
    pub arrows: Vec<Arrow>,
}

/// The most boxes in a row; longer rows are hard to take in.
const ACROSS: usize = 4;
/// The height of a label.
pub(super) const LABEL_HEIGHT: f64 = 22.0;
/// The part of an arrow that is visible on each side of its label.
const STUB: f64 = 28.0;
/// The least space between two columns.
const GAP_MIN: f64 = 96.0;
/// The distance of the arrows between two transactions from the middle.
const ASIDE: f64 = 20.0;
/// Around the picture.
const MARGIN: f64 = 16.0;

/// A ring of boxes with these heights; `labels` are the widths of the arrows' labels, one per box, or none where there
/// are no arrows.
pub(super) fn ring(box_width: f64, heights: &[f64], labels: &[f64]) -> Layout {
    let cells = cells(heights.len());
    let widest = labels.iter().copied().fold(0.0, f64::max);
    let gap = (widest + 2.0 * STUB).max(GAP_MIN);
    let rows = cells.iter().map(|(_, row)| row + 1).max().unwrap_or(0);
    let tallest = |row: usize| {
        let of_row = cells.iter().zip(heights).filter(|((_, at), _)| *at == row);
        of_row.map(|(_, height)| *height).fold(0.0, f64::max)
    };
    let mut axes = Vec::new();
    let mut gaps = Vec::new();
    let mut top = 0.0;
    for row in 0..rows {
        axes.push(top + tallest(row) / 2.0);
        gaps.push(top + tallest(row) + LABEL_HEIGHT / 2.0 + STUB);
        top += tallest(row) + LABEL_HEIGHT + 2.0 * STUB;
    }
    let place = |((column, row), height): (&Cell, &f64)| {
        Rect::centred(column * (box_width + gap), axes[*row], box_width, *height)
    };
    let boxes: Vec<Rect> = cells.iter().zip(heights).map(place).collect();
    let arrow = |(from, width): (usize, &f64)| {
        let to = (from + 1) % boxes.len();
        let upper = cells[from].1.min(cells[to].1);
        let points = if boxes.len() == 2 {
            let aside = if from == 0 { -ASIDE } else { ASIDE };
            across(&boxes[from], &boxes[to], axes[0] + aside)
        } else {
            corners(cells[from], cells[to], &boxes[from], &boxes[to])
        };
        // On the part between two rows, if there is one, else on the part between two columns.
        let upright = points.windows(2).find(|pair| pair[0].0 == pair[1].0);
        let (x, y) = match upright {
            Some(pair) => (pair[0].0, gaps[upper]),
            None => (f64::midpoint(points[0].0, points[1].0), points[0].1),
        };
        Arrow { points, label: Rect::centred(x, y, *width, LABEL_HEIGHT) }
    };
    let arrows = labels.iter().enumerate().map(arrow).collect();
    moved_into_view(Layout { width: 0.0, height: 0.0, boxes, arrows })
}

/// Column and row; a short row is centred, so its columns may be halves.
type Cell = (f64, usize);

fn cells(count: usize) -> Vec<Cell> {
    if count <= 2 {
        return (0..count).map(|at| (at as f64, 0)).collect();
    }
    let upper = count.div_ceil(2).min(ACROSS);
    let mut cells: Vec<Cell> = (0..upper).map(|at| (at as f64, 0)).collect();
    let rest = count - upper;
    let lower = rest.min(upper);
    // Boxes that do not fit in the two rows are between them, at the sides.
    let sides = rest - lower;
    let (right, left) = (sides.div_ceil(2), sides / 2);
    let last = (upper - 1) as f64;
    cells.extend((1..=right).map(|row| (last, row)));
    let indent = (upper - lower) as f64 / 2.0;
    cells.extend((0..lower).map(|at| (last - indent - at as f64, right + 1)));
    cells.extend((0..left).map(|at| (0.0, right - at)));
    cells
}

/// The corners of an arrow between neighbours of the ring.
fn corners(from_cell: Cell, to_cell: Cell, from: &Rect, to: &Rect) -> Vec<Point> {
    if from_cell.1 == to_cell.1 {
        return across(from, to, from.centre().1);
    }
    let down = from_cell.1 < to_cell.1;
    let (x, y) = (from.centre().0, to.centre().1);
    if from_cell.0 == to_cell.0 {
        return if down {
            vec![(x, from.bottom()), (x, to.y)]
        } else {
            vec![(x, from.y), (x, to.bottom())]
        };
    }
    let side = |of: &Rect, towards: f64| if towards > of.centre().0 { of.right() } else { of.x };
    if down {
        vec![(x, from.bottom()), (x, y), (side(to, x), y)]
    } else {
        let (x, y) = (to.centre().0, from.centre().1);
        vec![(side(from, x), y), (x, y), (x, to.bottom())]
    }
}

/// A straight arrow between two boxes of a row.
fn across(from: &Rect, to: &Rect, y: f64) -> Vec<Point> {
    let right = from.x < to.x;
    let (start, end) = if right { (from.right(), to.x) } else { (from.x, to.right()) };
    vec![(start, y), (end, y)]
}

/// Moves everything so that it begins at the margin, and measures it.
fn moved_into_view(mut layout: Layout) -> Layout {
    let all: Vec<Rect> =
        layout.boxes.iter().copied().chain(layout.arrows.iter().map(|arrow| arrow.label)).collect();
    let least = |of: fn(&Rect) -> f64| all.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&Rect) -> f64| all.iter().map(of).fold(0.0, f64::max);
    if all.is_empty() {
        return layout;
    }
    let (left, top) = (least(|rect| rect.x) - MARGIN, least(|rect| rect.y) - MARGIN);
    layout.width = most(Rect::right) - left + MARGIN;
    layout.height = most(Rect::bottom) - top + MARGIN;
    let labels = layout.arrows.iter_mut().map(|arrow| &mut arrow.label);
    for rect in layout.boxes.iter_mut().chain(labels) {
        rect.x -= left;
        rect.y -= top;
    }
    for point in layout.arrows.iter_mut().flat_map(|arrow| &mut arrow.points) {
        *point = (point.0 - left, point.1 - top);
    }
    layout
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlap(a: &Rect, b: &Rect) -> bool {
        a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom()
    }

    /// A part of an arrow as a thin rectangle.
    fn strip(from: Point, to: Point) -> Rect {
        let (x, y) = (from.0.min(to.0), from.1.min(to.1));
        Rect { x, y, width: (from.0 - to.0).abs(), height: (from.1 - to.1).abs() }
    }

    fn strips(arrow: &Arrow) -> impl Iterator<Item = Rect> {
        arrow.points.windows(2).map(|pair| strip(pair[0], pair[1]))
    }

    /// Rings of every length, with boxes and labels of many sizes.
    fn layouts() -> Vec<Layout> {
        let mut all = Vec::new();
        for count in 1..=14_usize {
            for seed in 0..40_usize {
                let odd = |n: usize, most: usize| ((n * 7 + seed * 13 + n * seed) % most) as f64;
                let heights: Vec<f64> = (0..count).map(|n| 72.0 + 18.0 * odd(n, 9)).collect();
                let labels: Vec<f64> = (0..count).map(|n| 40.0 + 10.0 * odd(n, 17)).collect();
                let labels = if count == 1 { Vec::new() } else { labels };
                all.push(ring(150.0 + 15.0 * odd(1, 10), &heights, &labels));
            }
        }
        all
    }

    #[test]
    fn nothing_overlaps() {
        for layout in layouts() {
            let labels: Vec<Rect> = layout.arrows.iter().map(|arrow| arrow.label).collect();
            let all: Vec<Rect> = layout.boxes.iter().copied().chain(labels).collect();
            for (i, a) in all.iter().enumerate() {
                let inside = a.x >= 0.0 && a.y >= 0.0;
                assert!(inside && a.right() <= layout.width && a.bottom() <= layout.height);
                assert!(all[..i].iter().all(|b| !overlap(a, b)), "{layout:?}");
            }
        }
    }

    #[test]
    fn no_arrow_passes_through_a_box_or_a_label_of_another() {
        for layout in layouts() {
            for (i, arrow) in layout.arrows.iter().enumerate() {
                for strip in strips(arrow) {
                    assert!(layout.boxes.iter().all(|rect| !overlap(&strip, rect)), "{layout:?}");
                    let mut others = layout.arrows.iter().enumerate().filter(|(j, _)| *j != i);
                    assert!(others.all(|(_, other)| !overlap(&strip, &other.label)), "{layout:?}");
                }
            }
        }
    }

    #[test]
    fn every_arrow_joins_its_boxes_and_carries_its_label() {
        let touches = |rect: &Rect, (x, y): Point| {
            let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
            (near(x, rect.x) || near(x, rect.right())) && y >= rect.y && y <= rect.bottom()
                || (near(y, rect.y) || near(y, rect.bottom())) && x >= rect.x && x <= rect.right()
        };
        for layout in layouts() {
            let count = layout.boxes.len();
            for (i, arrow) in layout.arrows.iter().enumerate() {
                let (first, last) = (arrow.points[0], arrow.points[arrow.points.len() - 1]);
                assert!(touches(&layout.boxes[i], first), "{layout:?}");
                assert!(touches(&layout.boxes[(i + 1) % count], last), "{layout:?}");
                let (x, y) = arrow.label.centre();
                let around = Rect { x: x - 1.0, y: y - 1.0, width: 2.0, height: 2.0 };
                assert!(strips(arrow).any(|strip| overlap(&strip, &around)), "{layout:?}");
            }
        }
    }
}
