//! How the columns of a part are encoded, by what its first rows hold.
//!
//! | values | encoding | compression |
//! |---|---|---|
//! | texts, some of which repeat | dictionary | none |
//! | texts that do not repeat, or rise and seldom repeat | lengths, then bytes; prefixes where neighbours begin alike | gzip, if it leaves little |
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

/// A dictionary pays where more than one byte in so many is of a text that repeats: a sample shows
/// few of the repetitions of a row group. Texts are weighed by their bytes, as short ones repeat
/// more often than long ones in a column of both.
const REPEATED_BYTES: usize = 200;

/// Prefixes pay where texts share at least so much with the one before them, in 256ths of their size.
const SHARED_PREFIX: usize = 64;

/// Where they share so much, prefixes are small too, and a dictionary is for texts that come again
/// later. Times in the order of events do not: neighbours are equal, or differ in their last letters.
const SHARED_MOST: usize = 192;

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
    let sample = TextSample::of(texts());
    let encoding = match sample.shares(SHARED_PREFIX) {
        true => Encoding::DELTA_BYTE_ARRAY,
        false => Encoding::DELTA_LENGTH_BYTE_ARRAY,
    };
    let properties = properties.set_column_encoding(path.clone(), encoding);
    if sample.wants_dictionary() {
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

/// Bytes of some texts.
struct TextSample {
    size: usize,
    /// Of texts that occurred before, in either half of the texts.
    repeated: [usize; 2],
    /// Of prefixes that each text shares with the one before it.
    shared: usize,
}

impl TextSample {
    fn of<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Self {
        let mut sample = Self { size: 0, repeated: [0; 2], shared: 0 };
        let middle = texts.clone().count() / 2;
        let (mut distinct, mut before) = (HashSet::new(), "");
        for (place, text) in texts.enumerate() {
            sample.size += text.len();
            let half = usize::from(place >= middle);
            sample.repeated[half] += if distinct.insert(text) { 0 } else { text.len() };
            let alike = text.bytes().zip(before.bytes()).take_while(|(own, other)| own == other);
            sample.shared += alike.count();
            before = text;
        }
        sample
    }

    /// Whether at least so much is shared, in 256ths.
    fn shares(&self, part: usize) -> bool {
        self.shared * 256 >= self.size * part
    }

    fn wants_dictionary(&self) -> bool {
        let [first, second] = self.repeated;
        let repeated = first + second;
        if self.size == 0 || repeated * REPEATED_BYTES <= self.size {
            return self.size == 0;
        }
        // Of texts that are drawn from a set, ever more repeat.
        let is_drawn = second * 2 > first * 3;
        !self.shares(SHARED_MOST) || repeated * 2 > self.size || is_drawn
    }
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
    let distinct: HashSet<i64> = integers.as_primitive::<Int64Type>().iter().flatten().collect();
    let count = integers.len() - integers.null_count();
    properties
        .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
        .set_column_dictionary_enabled(path, distinct.len() * 2 <= count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dictionary_is_for_texts_that_repeat_and_do_not_rise() {
        let numbered = |form: fn(usize) -> String| (0..8_000).map(form).collect();
        let cases: [(&str, Vec<String>, bool); 7] = [
            ("few words", numbered(|n| format!("word {}", n % 7)), true),
            ("users, 1 % of them again", numbered(|n| format!("{:x}", n * 7919 % 7_920)), true),
            ("clerks", numbered(|n| format!("Clerk#{:09}", n * 40_503 % 65_536 % 9_000)), true),
            ("identifiers", numbered(|n| format!("{:x}", n * 7919 % 8_009)), false),
            ("days in order", numbered(|n| format!("2025-01-{:02}", n / 400)), true),
            (
                "times in order",
                numbered(|n| format!("2025-01-01T00:00:{:06}", n - n % 5 % 2)),
                false,
            ),
            (
                "long texts, and short ones that repeat",
                numbered(|n| match n % 50 {
                    0 => "short".to_owned(),
                    _ => format!("{n:x}").repeat(80),
                }),
                false,
            ),
        ];
        for (name, texts, expected) in cases {
            let sample = TextSample::of(texts.iter().map(String::as_str));
            assert_eq!(sample.wants_dictionary(), expected, "{name}");
        }
    }
}
