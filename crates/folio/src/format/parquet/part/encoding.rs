//! How the columns of a part are encoded, by what its first rows hold.
//!
//! | values | encoding | compression |
//! |---|---|---|
//! | texts, some of which repeat | dictionary | none |
//! | texts that do not repeat | lengths, then bytes; prefixes where neighbours begin alike | gzip, if it leaves little |
//! | integers, most of which repeat | dictionary | none |
//! | other integers | differences, packed | none |
//! | floats, booleans | those of the writer | none |
//!
//! Texts that never repeat are identifiers and prose. Prose is compressed. So are identifiers that
//! have much in common or few bits in a byte, as numbers in hexadecimal do. Random ones of 32 or 64
//! letters stay: they would take two thirds to four fifths of their size, for half the time of a whole
//! build and most of the time of a scan. What is a dictionary or packed is small already: Snappy took
//! a twentieth off a part of events, and inflating a dictionary of many texts took longer than
//! everything else that a grouping by them did.

use std::collections::HashSet;
use std::hash::Hash;
use std::io::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use flate2::write::GzEncoder;
use parquet::basic::{Compression, Encoding, GzipLevel};
use parquet::file::properties::WriterPropertiesBuilder;
use parquet::schema::types::{ColumnPath, SchemaDescriptor};

/// A dictionary grows up to this many bytes; the default, 1 MiB, is less than the distinct texts of
/// a row group.
const DICTIONARY_SIZE_MAX: usize = 4 << 20;

/// A dictionary pays where more than one text in so many repeats: a sample shows few of the
/// repetitions of a row group.
const REPEATED_TEXT: usize = 200;

/// Prefixes pay where texts share at least so much with the one before them, in 256ths of their size.
const SHARED_PREFIX: usize = 64;

/// Gzip pays where it leaves at most so much of a sample, in percent.
const GZIP_SHARE: usize = 55;

/// The bytes of a sample for [`GZIP_SHARE`], a few windows of its search for matches.
const GZIP_SAMPLE: usize = 128 << 10;

/// What matters more: size or time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// As in the table above.
    Small,
    /// Snappy instead of gzip: rows of tables are read in a fraction of the time that lines take, so
    /// the time to decompress is a larger part of it.
    Quick,
}

/// Sets the encodings of the columns of a schema, by the arrays of some rows.
pub(super) fn with_encodings(
    mut properties: WriterPropertiesBuilder,
    schema: &SchemaDescriptor,
    sample: &[ArrayRef],
    packing: Packing,
) -> WriterPropertiesBuilder {
    let mut leaves = Vec::new();
    sample.iter().for_each(|array| add_leaves(array, &mut leaves));
    for (column, leaf) in schema.columns().iter().zip(leaves) {
        let path = column.path().clone();
        properties = match leaf.data_type() {
            DataType::Utf8 => with_texts(properties, path, &leaf, packing),
            DataType::Int64 => with_integers(properties, path, &leaf),
            _ => properties,
        };
    }
    properties
}

/// Adds the arrays of the columns that a column becomes in Parquet, in the order of its schema.
fn add_leaves(array: &ArrayRef, leaves: &mut Vec<ArrayRef>) {
    match array.data_type() {
        DataType::Struct(_) => {
            array.as_struct().columns().iter().for_each(|member| add_leaves(member, leaves));
        }
        DataType::List(_) => add_leaves(array.as_list::<i32>().values(), leaves),
        DataType::Map(..) => {
            let map = array.as_map();
            add_leaves(map.keys(), leaves);
            add_leaves(map.values(), leaves);
        }
        _ => leaves.push(array.clone()),
    }
}

fn with_texts(
    properties: WriterPropertiesBuilder,
    path: ColumnPath,
    texts: &ArrayRef,
    packing: Packing,
) -> WriterPropertiesBuilder {
    let texts = || texts.as_string::<i32>().iter().flatten();
    let (count, distinct) = counts(texts());
    let (mut size, mut shared, mut before) = (0, 0, "");
    for text in texts() {
        size += text.len();
        shared += text.bytes().zip(before.bytes()).take_while(|(own, other)| own == other).count();
        before = text;
    }
    let encoding = match shared * 256 >= size * SHARED_PREFIX {
        true => Encoding::DELTA_BYTE_ARRAY,
        false => Encoding::DELTA_LENGTH_BYTE_ARRAY,
    };
    let properties = properties.set_column_encoding(path.clone(), encoding);
    if count == 0 || (count - distinct) * REPEATED_TEXT > count {
        return properties.set_column_dictionary_page_size_limit(path, DICTIONARY_SIZE_MAX);
    }
    let compression = match packing {
        Packing::Small if shrinks(texts()) => Compression::GZIP(fast_gzip()),
        Packing::Small => Compression::UNCOMPRESSED,
        Packing::Quick => Compression::SNAPPY,
    };
    properties
        .set_column_dictionary_enabled(path.clone(), false)
        .set_column_compression(path, compression)
}

/// Whether gzip leaves little of texts, by the first of them.
fn shrinks<'a>(texts: impl Iterator<Item = &'a str>) -> bool {
    let level = flate2::Compression::new(fast_gzip().compression_level());
    let mut encoder = GzEncoder::new(Vec::new(), level);
    let mut size = 0;
    for text in texts.take_while(|text| {
        size += text.len();
        size <= GZIP_SAMPLE
    }) {
        encoder.write_all(text.as_bytes()).expect("a vector takes all bytes");
    }
    let left = encoder.finish().expect("a vector takes all bytes").len();
    left * 100 <= size.min(GZIP_SAMPLE) * GZIP_SHARE
}

/// The lowest level with codes of its own. Higher levels search longer for matches: with the default
/// one a build of events took 1.25 times as long, for 0.6 % of the size.
fn fast_gzip() -> GzipLevel {
    GzipLevel::try_new(2).expect("levels are 0 to 10")
}

fn with_integers(
    properties: WriterPropertiesBuilder,
    path: ColumnPath,
    integers: &ArrayRef,
) -> WriterPropertiesBuilder {
    let (count, distinct) = counts(integers.as_primitive::<Int64Type>().iter().flatten());
    properties
        .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
        .set_column_dictionary_enabled(path, distinct * 2 <= count)
}

/// How many values there are, and how many different ones.
fn counts<T: Eq + Hash>(values: impl Iterator<Item = T>) -> (usize, usize) {
    let mut distinct = HashSet::new();
    let count = values.map(|value| distinct.insert(value)).count();
    (count, distinct.len())
}
