//! The scalar functions: `to_ion`, `to_ion_binary`, `ion_valid`, `ion_extract`.

use crate::host::Vector;
use crate::host_type::Kind;
use crate::path::Path;
use crate::vector_value::{Shape, View};
use folio_ion::read_all;
use folio_ion::write::{BinaryWriter, Layout, TextWriter, to_text};

/// A function with its parameter and result types.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) parameters: &'static [Kind],
    pub(crate) result: Kind,
    pub(crate) body: Body,
}

/// Evaluates a function for a number of rows of its arguments, into the result vector.
///
/// # Safety
///
/// The arguments are flat vectors of that many rows, and the results have room for them; types are
/// those that the function names.
type Body = unsafe fn(arguments: &[Vector], count: usize, output: Vector) -> Result<(), String>;

/// All functions. NULL is passed as a value: `to_ion(NULL)` is the Ion null.
pub(crate) const FUNCTIONS: [Function; 4] = [
    Function { name: "to_ion", parameters: &[Kind::Any], result: Kind::Varchar, body: to_ion },
    Function {
        name: "to_ion_binary",
        parameters: &[Kind::Any],
        result: Kind::Blob,
        body: to_ion_binary,
    },
    Function {
        name: "ion_valid",
        parameters: &[Kind::Any],
        result: Kind::Boolean,
        body: ion_valid,
    },
    Function {
        name: "ion_extract",
        parameters: &[Kind::Any, Kind::Varchar],
        result: Kind::Varchar,
        body: ion_extract,
    },
];

/// # Safety
///
/// As [`Body`].
unsafe fn to_ion(arguments: &[Vector], count: usize, output: Vector) -> Result<(), String> {
    // SAFETY: the caller's promise.
    unsafe {
        let shape = Shape::of(arguments[0].logical_type().0)?;
        let view = View::of(arguments[0], &shape)?;
        let mut writer = TextWriter::new(Layout::Compact);
        for row in 0..count {
            writer.restart();
            view.write(row, &mut writer)?;
            output.set_bytes(row, writer.bytes());
        }
    }
    Ok(())
}

/// # Safety
///
/// As [`Body`].
unsafe fn to_ion_binary(arguments: &[Vector], count: usize, output: Vector) -> Result<(), String> {
    // SAFETY: the caller's promise.
    unsafe {
        let shape = Shape::of(arguments[0].logical_type().0)?;
        let view = View::of(arguments[0], &shape)?;
        for row in 0..count {
            let mut writer = BinaryWriter::new();
            view.write(row, &mut writer)?;
            output.set_bytes(row, &writer.take());
        }
    }
    Ok(())
}

/// # Safety
///
/// As [`Body`].
unsafe fn ion_valid(arguments: &[Vector], count: usize, output: Vector) -> Result<(), String> {
    // SAFETY: the caller's promise; the output holds booleans.
    unsafe {
        let shape = Shape::of(arguments[0].logical_type().0)?;
        check_stream(&shape)?;
        let view = View::of(arguments[0], &shape)?;
        let target = output.data().cast::<bool>();
        for row in 0..count {
            match shape.is_null() || view.is_null(row) {
                true => output.set_null(row),
                false => target.add(row).write(read_all(view.bytes(row)).is_ok()),
            }
        }
    }
    Ok(())
}

/// # Safety
///
/// As [`Body`].
unsafe fn ion_extract(arguments: &[Vector], count: usize, output: Vector) -> Result<(), String> {
    // SAFETY: the caller's promise; the second argument holds texts.
    unsafe {
        let shape = Shape::of(arguments[0].logical_type().0)?;
        check_stream(&shape)?;
        let view = View::of(arguments[0], &shape)?;
        let paths = View::of(arguments[1], &Shape::Text)?;
        for row in 0..count {
            if shape.is_null() || view.is_null(row) || paths.is_null(row) {
                output.set_null(row);
                continue;
            }
            let path = Path::parse(&String::from_utf8_lossy(paths.bytes(row)))?;
            let values =
                read_all(view.bytes(row)).map_err(|error| format!("ion_extract: {error}"))?;
            match values.first().and_then(|value| path.find(value)) {
                Some(found) => output.set_bytes(row, to_text(found).as_bytes()),
                None => output.set_null(row),
            }
        }
    }
    Ok(())
}

/// Refuses types other than texts and blobs, which alone hold Ion.
fn check_stream(shape: &Shape) -> Result<(), String> {
    match shape {
        Shape::Text | Shape::Json | Shape::Blob | Shape::Null => Ok(()),
        _ => Err("ion functions read VARCHAR (text Ion) or BLOB (binary Ion); use to_ion first"
            .to_owned()),
    }
}
