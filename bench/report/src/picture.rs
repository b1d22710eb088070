//! The main chart as a PNG, for places that show no SVG.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};

use crate::Result;

/// Pixels for each unit of the drawing.
const SCALE: f32 = 1.5;

/// Draws an SVG.
///
/// # Errors
/// When the machine has no font to draw text with, or the SVG is not one.
pub fn png(svg: &str) -> Result<Vec<u8>> {
    let mut fonts = Database::new();
    fonts.load_system_fonts();
    if fonts.is_empty() {
        return Err("no font is installed to draw the chart with; install fonts-dejavu-core".into());
    }
    let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options)?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or("the chart has no size")?;
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or("the chart has no size")?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    Ok(pixels.encode_png()?)
}
