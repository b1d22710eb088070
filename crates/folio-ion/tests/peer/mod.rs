//! Reads the same bytes with ion-rs and compares the results.

use folio_ion::{Element, IonType, Limits, Reader, Value};
use ion_rs::Element as Peer;
use ion_rs::IonType as PeerType;

/// Both readers reject `bytes`, or both read the same values.
pub(crate) fn assert_agrees(bytes: &[u8], seed: u64) {
    let ours: Result<Vec<Element>, _> =
        Reader::new(bytes).with_limits(Limits { depth: 100, ..Limits::default() }).collect();
    let theirs = std::panic::catch_unwind(|| Peer::read_all(bytes));
    let Ok(theirs) = theirs else { return };
    let shown = || format!("seed {seed}: {:?}", String::from_utf8_lossy(bytes));
    match (ours, theirs) {
        (Ok(_), Ok(_)) if dollar_word(bytes) => {}
        (Ok(ours), Ok(theirs)) => {
            let theirs: Vec<&Peer> = theirs.iter().filter(|value| !is_nop(value)).collect();
            assert_eq!(ours.len(), theirs.len(), "{}", shown());
            for (ours, theirs) in ours.iter().zip(theirs) {
                assert!(same(ours, theirs), "{}\nours {ours:?}\ntheirs {theirs:?}", shown());
            }
        }
        (Err(_), Err(_)) => {}
        (Ok(_), Err(theirs)) => {
            assert!(
                accepted_only_by_us(bytes, &theirs.to_string()),
                "{}\nthey say {theirs}",
                shown()
            );
        }
        (Err(ours), Ok(theirs)) => {
            assert!(
                refused_only_by_us(&ours, bytes),
                "{}\nwe say {ours}\nthey read {theirs:?}",
                shown()
            );
        }
    }
}

/// Whether ion-rs 1.2 treats a value without meaning as data: the version marker's name as a
/// symbol.
fn is_nop(theirs: &Peer) -> bool {
    let name = theirs.as_symbol().and_then(|symbol| symbol.text());
    name == Some("$ion_1_0") && theirs.annotations().is_empty()
}

/// Known cases that ion-rs 1.2 rejects although the specification allows them.
fn accepted_only_by_us(bytes: &[u8], theirs: &str) -> bool {
    let text = String::from_utf8_lossy(bytes);
    // It requires a numeric stop character after a keyword too, where the grammar allows a comment,
    // an operator or a number.
    let keywords = ["null", "true", "false", "nan", "inf", "int"];
    let follows =
        |rest: &str| rest.chars().next().is_some_and(|next| "/+-.*!#%&;<=>?@^`|~".contains(next));
    let keyword = keywords.iter().any(|word| text.split(word).skip(1).any(follows));
    let comment = bytes
        .windows(3)
        .any(|three| three[0].is_ascii_alphanumeric() && matches!(&three[1..], b"//" | b"/*"));
    // It counts at most eighteen digits of a second.
    let fraction = theirs.contains("fractional seconds precision");
    // It requires both padding characters of a blob to be adjacent.
    let packed: Vec<u8> =
        bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let padding = packed.windows(4).any(|four| four == b"==}}");
    dollar_word(bytes)
        || keyword
        || comment
        || fraction
        || (padding && theirs.contains("unrecognized syntax"))
}

/// Known cases that ion-rs 1.2 reads although the specification forbids them, or does not check.
fn refused_only_by_us(error: &folio_ion::Error, bytes: &[u8]) -> bool {
    let message = error.message();
    let binary = bytes.starts_with(&folio_ion::VERSION_MARKER);
    // It has no comparable limits.
    matches!(error.kind(), folio_ion::ErrorKind::Limit | folio_ion::ErrorKind::Size)
        // It decodes blobs without their padding.
        || message.contains("do not fill whole groups of four")
        // It accepts underscores in exponents.
        || message.contains("found `_`")
        // It accepts a carriage return inside a quoted symbol.
        || message.contains("a line break inside quotes")
        // It reads symbol tables lazily and never sees errors in a field that it skips.
        || (binary && bytes.windows(3).any(|bytes| bytes[1] == 0x81 && bytes[2] == 0x83))
        || dollar_word(bytes)
}

/// A word such as `$10a`: one identifier in the specification, two values in ion-rs 1.2.
fn dollar_word(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'$').any(|(at, _)| {
        let rest = &bytes[at + 1..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let next = rest.get(digits).copied().unwrap_or(b' ');
        digits > 0 && (next.is_ascii_alphabetic() || next == b'_' || next == b'$')
    })
}

fn same(ours: &Element, theirs: &Peer) -> bool {
    let annotations: Vec<Option<&str>> = theirs.annotations().iter().map(|a| a.text()).collect();
    let own: Vec<Option<&str>> = ours.annotations.iter().map(|a| a.text()).collect();
    own == annotations && same_value(ours, theirs)
}

fn same_value(ours: &Element, theirs: &Peer) -> bool {
    if theirs.is_null() {
        return ours.is_null() && ours.ion_type() == ion_type(theirs.ion_type());
    }
    match &ours.value {
        Value::Null(_) => false,
        Value::Bool(value) => theirs.as_bool() == Some(*value),
        Value::Int(value) => {
            theirs.as_int().is_some_and(|int| int.to_string() == value.to_string())
        }
        Value::Float(value) => theirs.as_float().is_some_and(|float| {
            float.to_bits() == value.to_bits() || (float.is_nan() && value.is_nan())
        }),
        Value::Decimal(value) => theirs.as_decimal().is_some_and(|decimal| {
            let coefficient = decimal.coefficient();
            decimal.exponent() == i64::from(value.exponent())
                && coefficient.is_negative() == value.is_negative()
                && coefficient.magnitude().to_string()
                    == value.coefficient().to_string().trim_start_matches('-')
        }),
        Value::Timestamp(value) => theirs.as_timestamp().is_some_and(|timestamp| {
            let text = timestamp.to_string().replace("+00:00", "Z");
            text == value.to_string() || text.trim_end_matches('T') == value.to_string()
        }),
        Value::Symbol(value) => {
            theirs.as_symbol().is_some_and(|symbol| symbol.text() == value.text())
        }
        Value::String(value) => theirs.as_string() == Some(value),
        Value::Clob(value) => theirs.as_clob() == Some(value),
        Value::Blob(value) => theirs.as_blob() == Some(value),
        Value::List(elements) => {
            theirs.as_list().is_some_and(|list| all_same(elements, list.iter().collect()))
        }
        Value::SExp(elements) => {
            theirs.as_sexp().is_some_and(|list| all_same(elements, list.iter().collect()))
        }
        Value::Struct(fields) => theirs.as_struct().is_some_and(|other| {
            let other: Vec<_> = other.iter().collect();
            fields.len() == other.len()
                && fields.iter().all(|(name, element)| {
                    other
                        .iter()
                        .any(|(peer, value)| peer.text() == name.text() && same(element, value))
                })
        }),
    }
}

fn all_same(ours: &[Element], theirs: Vec<&Peer>) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| same(a, b))
}

fn ion_type(theirs: PeerType) -> IonType {
    let name = theirs.to_string();
    IonType::ALL.into_iter().find(|own| own.name() == name).expect("both know the same types")
}
