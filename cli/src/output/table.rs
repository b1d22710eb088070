//! Tables that fit the terminal.
//!
//! A column is as wide as its longest cell, up to a limit. If the total is too wide for the
//! terminal, the widest columns shrink until it fits. If none can shrink further, the last columns
//! are left out, and a note names them.

use std::io::{self, Write};

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::cell::Cell;
use crate::console::Console;
use crate::failure::Failure;

/// The maximum width of a cell.
const WIDEST: usize = 60;

/// The minimum width that a column shrinks to.
const NARROWEST: usize = 8;

/// The width of a cell in addition to its text: a border and two spaces.
const FRAME: usize = 3;

/// Prints a table.
pub(super) fn print(
    names: &[String],
    rows: &[Vec<Cell>],
    console: &Console,
) -> Result<(), Failure> {
    let natural: Vec<usize> = (0..names.len())
        .map(|column| {
            let cells = rows.iter().map(|row| row[column].text.width()).max().unwrap_or_default();
            cells.max(names[column].width()).clamp(1, WIDEST)
        })
        .collect();
    let widths = match console.width() {
        Some(width) => fit(&natural, width),
        None => natural,
    };
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(names.iter().zip(&widths).map(|(name, &width)| truncate(name, width)));
    for row in rows {
        table.add_row(row.iter().zip(&widths).map(|(cell, &width)| {
            let align = if cell.is_number { CellAlignment::Right } else { CellAlignment::Left };
            comfy_table::Cell::new(truncate(&cell.text, width)).set_alignment(align)
        }));
    }
    writeln!(io::stdout(), "{table}")?;
    if let Some(which) = names_left_out(&names[widths.len()..]) {
        console.note(&format!("no room for {which}; {} shows all", console.jsonl));
    }
    Ok(())
}

fn names_left_out(names: &[String]) -> Option<String> {
    match names {
        [] => None,
        [only] => Some(format!("column {only:?}")),
        [first, .., last] => Some(format!("columns {first:?} to {last:?}")),
    }
}

/// Column widths that fit into `width`; fewer than given when there is no room.
fn fit(natural: &[usize], width: usize) -> Vec<usize> {
    let total = |widths: &[usize]| widths.iter().sum::<usize>() + widths.len() * FRAME + 1;
    let least: Vec<usize> = natural.iter().map(|&width| width.min(NARROWEST)).collect();
    let count = (1..=natural.len()).rev().find(|&count| total(&least[..count]) <= width);
    let mut widths = natural[..count.unwrap_or(1).min(natural.len())].to_vec();
    while total(&widths) > width {
        let widest = widths.iter().copied().max().unwrap_or_default();
        if widest <= NARROWEST {
            break;
        }
        // Shrink the widest columns together to the next narrower width, or as far as needed.
        let others = widths.iter().copied().filter(|&other| other < widest);
        let floor = others.max().unwrap_or_default().max(NARROWEST);
        let count = widths.iter().filter(|&&other| other == widest).count();
        let step = (total(&widths) - width).div_ceil(count).min(widest - floor);
        widths.iter_mut().filter(|other| **other == widest).for_each(|other| *other -= step);
    }
    widths
}

/// The text cut to a display width, with an ellipsis if it was cut.
fn truncate(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut left = width.saturating_sub(1);
    for character in text.chars() {
        let size = character.width().unwrap_or_default();
        if size > left {
            break;
        }
        left -= size;
        kept.push(character);
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widest_columns_give_way_first() {
        assert_eq!(fit(&[5, 60, 20], 200), [5, 60, 20]);
        assert_eq!(fit(&[5, 60, 20], 60), [5, 25, 20]);
        assert_eq!(fit(&[5, 60, 60], 60), [5, 22, 22]);
        assert_eq!(fit(&[60, 60, 60, 60], 30), [11, 11]);
        assert_eq!(fit(&[60], 10), [8], "the last column stays");
        assert_eq!(fit(&[], 10), [0; 0]);
    }

    #[test]
    fn fitted_tables_fit() {
        for width in 12..200 {
            for natural in [vec![3, 9, 60, 2], vec![60; 9], vec![8, 9, 10, 11]] {
                let widths = fit(&natural, width);
                let total = widths.iter().sum::<usize>() + widths.len() * FRAME + 1;
                assert!(total <= width || widths.len() == 1, "{natural:?} in {width}: {widths:?}");
            }
        }
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(truncate("日本語", 6), "日本語");
        assert_eq!(truncate("日本語", 5), "日本…");
        assert_eq!(truncate("abcdef", 4), "abc…");
    }
}
