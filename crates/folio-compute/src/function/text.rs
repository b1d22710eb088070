//! Functions on text. Positions and lengths are in characters and count from 1.

use crate::pattern::MatchKind;
use crate::{Error, Result, cast, pattern};
use folio_types::{ColumnType, Value};
use regex::Regex;

use super::Body::{Lenient, Strict, Typed};
use super::Takes::{Any, Bytes, Integer, Number, Text};
use super::{Overload, Returns, function, integer_of, text_of, variadic};

/// Maximum size of a text that a function makes, in bytes.
const SIZE_MAX: usize = 256 << 20;

pub(super) const OVERLOADS: &[Overload] = &[
    function("lower", &[Text], Returns::Text, Strict(|a| text(text_of(&a[0]).to_lowercase()))),
    function("upper", &[Text], Returns::Text, Strict(|a| text(text_of(&a[0]).to_uppercase()))),
    function("initcap", &[Text], Returns::Text, Strict(|a| text(initcap(text_of(&a[0]))))),
    function(
        "length",
        &[Text],
        Returns::Integer,
        Strict(|a| count(text_of(&a[0]).chars().count())),
    ),
    function("length", &[Bytes], Returns::Integer, Strict(|a| count(bytes_of(&a[0]).len()))),
    function(
        "char_length",
        &[Text],
        Returns::Integer,
        Strict(|a| count(text_of(&a[0]).chars().count())),
    ),
    function(
        "character_length",
        &[Text],
        Returns::Integer,
        Strict(|a| count(text_of(&a[0]).chars().count())),
    ),
    function("octet_length", &[Text], Returns::Integer, Strict(|a| count(text_of(&a[0]).len()))),
    function("octet_length", &[Bytes], Returns::Integer, Strict(|a| count(bytes_of(&a[0]).len()))),
    function("bit_length", &[Text], Returns::Integer, Strict(|a| count(text_of(&a[0]).len() * 8))),
    function("trim", &[Text], Returns::Text, Strict(|a| trim(a, true, true))),
    function("trim", &[Text, Text], Returns::Text, Strict(|a| trim(a, true, true))),
    function("btrim", &[Text], Returns::Text, Strict(|a| trim(a, true, true))),
    function("btrim", &[Text, Text], Returns::Text, Strict(|a| trim(a, true, true))),
    function("ltrim", &[Text], Returns::Text, Strict(|a| trim(a, true, false))),
    function("ltrim", &[Text, Text], Returns::Text, Strict(|a| trim(a, true, false))),
    function("rtrim", &[Text], Returns::Text, Strict(|a| trim(a, false, true))),
    function("rtrim", &[Text, Text], Returns::Text, Strict(|a| trim(a, false, true))),
    function("substr", &[Text, Integer], Returns::Text, Strict(substring)),
    function("substr", &[Text, Integer, Integer], Returns::Text, Strict(substring)),
    function("substring", &[Text, Integer], Returns::Text, Strict(substring)),
    function("substring", &[Text, Integer, Integer], Returns::Text, Strict(substring)),
    function("substring", &[Text, Text], Returns::Text, Strict(regexp_substring)),
    function("left", &[Text, Integer], Returns::Text, Strict(left)),
    function("right", &[Text, Integer], Returns::Text, Strict(right)),
    function("lpad", &[Text, Integer], Returns::Text, Strict(|a| pad(a, true))),
    function("lpad", &[Text, Integer, Text], Returns::Text, Strict(|a| pad(a, true))),
    function("rpad", &[Text, Integer], Returns::Text, Strict(|a| pad(a, false))),
    function("rpad", &[Text, Integer, Text], Returns::Text, Strict(|a| pad(a, false))),
    function("repeat", &[Text, Integer], Returns::Text, Strict(repeat)),
    function(
        "reverse",
        &[Text],
        Returns::Text,
        Strict(|a| text(text_of(&a[0]).chars().rev().collect())),
    ),
    function("replace", &[Text, Text, Text], Returns::Text, Strict(replace)),
    function("translate", &[Text, Text, Text], Returns::Text, Strict(translate)),
    function("position", &[Text, Text], Returns::Integer, Strict(|a| position(&a[1], &a[0]))),
    function("strpos", &[Text, Text], Returns::Integer, Strict(|a| position(&a[0], &a[1]))),
    function("instr", &[Text, Text], Returns::Integer, Strict(|a| position(&a[0], &a[1]))),
    function("split_part", &[Text, Text, Integer], Returns::Text, Strict(split_part)),
    function("string_to_array", &[Text, Text], Returns::TextList, Lenient(string_to_array)),
    function("string_to_array", &[Text, Text, Text], Returns::TextList, Lenient(string_to_array)),
    function(
        "starts_with",
        &[Text, Text],
        Returns::Boolean,
        Strict(|a| Ok(Value::Boolean(text_of(&a[0]).starts_with(text_of(&a[1]))))),
    ),
    function(
        "ends_with",
        &[Text, Text],
        Returns::Boolean,
        Strict(|a| Ok(Value::Boolean(text_of(&a[0]).ends_with(text_of(&a[1]))))),
    ),
    function(
        "contains",
        &[Text, Text],
        Returns::Boolean,
        Strict(|a| Ok(Value::Boolean(text_of(&a[0]).contains(text_of(&a[1]))))),
    ),
    function(
        "ascii",
        &[Text],
        Returns::Integer,
        Strict(|a| {
            Ok(Value::Integer(
                text_of(&a[0]).chars().next().map_or(0, |first| u32::from(first).into()),
            ))
        }),
    ),
    function("chr", &[Integer], Returns::Text, Strict(chr)),
    function("hex", &[Bytes], Returns::Text, Strict(|a| text(hex(bytes_of(&a[0]))))),
    function("encode", &[Bytes, Text], Returns::Text, Strict(encode)),
    function("decode", &[Text, Text], Returns::Bytes, Strict(decode)),
    function(
        "quote_literal",
        &[Text],
        Returns::Text,
        Strict(|a| text(format!("'{}'", text_of(&a[0]).replace('\'', "''")))),
    ),
    function(
        "quote_ident",
        &[Text],
        Returns::Text,
        Strict(|a| text(format!("\"{}\"", text_of(&a[0]).replace('"', "\"\"")))),
    ),
    function("overlay", &[Text, Text, Integer], Returns::Text, Strict(overlay)),
    function("overlay", &[Text, Text, Integer, Integer], Returns::Text, Strict(overlay)),
    function("regexp_replace", &[Text, Text, Text], Returns::Text, Strict(regexp_replace)),
    function("regexp_replace", &[Text, Text, Text, Text], Returns::Text, Strict(regexp_replace)),
    function("regexp_matches", &[Text, Text], Returns::TextList, Strict(regexp_match)),
    function("regexp_match", &[Text, Text], Returns::TextList, Strict(regexp_match)),
    function("regexp_match", &[Text, Text, Text], Returns::TextList, Strict(regexp_match)),
    function("regexp_like", &[Text, Text], Returns::Boolean, Strict(regexp_like)),
    function("regexp_like", &[Text, Text, Text], Returns::Boolean, Strict(regexp_like)),
    function("regexp_count", &[Text, Text], Returns::Integer, Strict(regexp_count)),
    function("regexp_count", &[Text, Text, Integer], Returns::Integer, Strict(regexp_count)),
    function("regexp_count", &[Text, Text, Integer, Text], Returns::Integer, Strict(regexp_count)),
    function(
        "regexp_split_to_array",
        &[Text, Text],
        Returns::TextList,
        Strict(|a| texts(regexp_split(text_of(&a[0]), &regex(&a[1])?).into_iter())),
    ),
    function(
        "textcat",
        &[Text, Text],
        Returns::Text,
        Strict(|a| text([text_of(&a[0]), text_of(&a[1])].concat())),
    ),
    variadic("concat", &[Any], Returns::Text, Lenient(concat)),
    variadic("concat_ws", &[Text, Any], Returns::Text, Lenient(concat_ws)),
    variadic("format", &[Text, Any], Returns::Text, Lenient(format_text)),
    function("to_hex", &[Number], Returns::Text, Typed(to_hex)),
    function("text", &[Any], Returns::Text, Typed(|a, types| text(cast::format(&a[0], &types[0])))),
];

fn text(text: String) -> Result<Value> {
    Ok(Value::Text(text))
}

fn texts<'t>(parts: impl Iterator<Item = &'t str>) -> Result<Value> {
    Ok(Value::List(parts.map(|part| Value::Text(part.to_owned())).collect()))
}

fn count(count: usize) -> Result<Value> {
    Ok(Value::Integer(i64::try_from(count).unwrap_or(i64::MAX)))
}

fn bytes_of(value: &Value) -> &[u8] {
    match value {
        Value::Bytes(bytes) => bytes,
        _ => &[],
    }
}

fn regex(pattern: &Value) -> Result<Regex> {
    pattern::compile(MatchKind::Regex, text_of(pattern), None)
}

/// A regular expression; the flag `i` ignores letter case.
fn flagged(pattern: &Value, flags: Option<&Value>) -> Result<Regex> {
    let flags = flags.map_or("", text_of);
    if let Some(unknown) = flags.chars().find(|flag| !"gic".contains(*flag)) {
        return Err(Error::invalid(format!("unknown flag {unknown:?} of a regular expression"))
            .help("the flags are 'i', 'c' and, to replace all matches, 'g'"));
    }
    let kind = if flags.contains('i') { MatchKind::IRegex } else { MatchKind::Regex };
    pattern::compile(kind, text_of(pattern), None)
}

fn initcap(text: &str) -> String {
    let mut is_start = true;
    text.chars()
        .flat_map(|character| {
            let changed: Vec<char> = match is_start {
                // Some letters are two in upper case, where one of them would be small.
                true if character.to_uppercase().count() > 1 => vec![character],
                true => character.to_uppercase().collect(),
                false => character.to_lowercase().collect(),
            };
            is_start = !character.is_alphanumeric();
            changed
        })
        .collect()
}

fn trim(arguments: &[Value], from_start: bool, from_end: bool) -> Result<Value> {
    let set: Vec<char> = arguments.get(1).map_or(vec![' '], |set| text_of(set).chars().collect());
    let mut rest = text_of(&arguments[0]);
    if from_start {
        rest = rest.trim_start_matches(&set[..]);
    }
    if from_end {
        rest = rest.trim_end_matches(&set[..]);
    }
    text(rest.to_owned())
}

/// Characters from a position on. The position may be before the text.
fn substring(arguments: &[Value]) -> Result<Value> {
    let start = integer_of(&arguments[1]);
    let end = match arguments.get(2) {
        None => i64::MAX,
        Some(size) if integer_of(size) < 0 => {
            return Err(Error::invalid("the length of substring must not be negative"));
        }
        Some(size) => start.saturating_add(integer_of(size)),
    };
    let skipped = usize::try_from(start - 1).unwrap_or(0);
    let taken = usize::try_from(end.saturating_sub(start.max(1))).unwrap_or(0);
    text(text_of(&arguments[0]).chars().skip(skipped).take(taken).collect())
}

fn regexp_substring(arguments: &[Value]) -> Result<Value> {
    let regex = regex(&arguments[1])?;
    let found =
        regex.captures(text_of(&arguments[0])).and_then(|found| found.get(1).or(found.get(0)));
    Ok(found.map_or(Value::Null, |found| Value::Text(found.as_str().to_owned())))
}

fn left(arguments: &[Value]) -> Result<Value> {
    let (whole, size) = (text_of(&arguments[0]), integer_of(&arguments[1]));
    let length = i64::try_from(whole.chars().count()).unwrap_or(i64::MAX);
    let taken = if size < 0 { length + size } else { size };
    text(whole.chars().take(usize::try_from(taken).unwrap_or(0)).collect())
}

fn right(arguments: &[Value]) -> Result<Value> {
    let (whole, size) = (text_of(&arguments[0]), integer_of(&arguments[1]));
    let length = i64::try_from(whole.chars().count()).unwrap_or(i64::MAX);
    let skipped = if size < 0 { size.saturating_neg() } else { length - size };
    text(whole.chars().skip(usize::try_from(skipped).unwrap_or(0)).collect())
}

fn pad(arguments: &[Value], at_start: bool) -> Result<Value> {
    let whole: Vec<char> = text_of(&arguments[0]).chars().collect();
    let size = usize::try_from(integer_of(&arguments[1])).unwrap_or(0);
    let fill: Vec<char> =
        arguments.get(2).map_or(vec![' '], |fill| text_of(fill).chars().collect());
    if size > SIZE_MAX {
        return Err(too_long());
    }
    if size <= whole.len() || fill.is_empty() {
        return text(whole.into_iter().take(size).collect());
    }
    let padding: String = fill.iter().cycle().take(size - whole.len()).collect();
    let whole: String = whole.into_iter().collect();
    text(if at_start { padding + &whole } else { whole + &padding })
}

fn too_long() -> Error {
    Error::invalid("the text would be longer than 256 MB")
}

fn repeat(arguments: &[Value]) -> Result<Value> {
    let (part, times) = (text_of(&arguments[0]), integer_of(&arguments[1]));
    let times = usize::try_from(times).unwrap_or(0);
    match part.len().checked_mul(times) {
        Some(size) if size <= SIZE_MAX => text(part.repeat(times)),
        _ => Err(too_long()),
    }
}

fn replace(arguments: &[Value]) -> Result<Value> {
    let (whole, from, to) =
        (text_of(&arguments[0]), text_of(&arguments[1]), text_of(&arguments[2]));
    text(if from.is_empty() { whole.to_owned() } else { whole.replace(from, to) })
}

fn translate(arguments: &[Value]) -> Result<Value> {
    let from: Vec<char> = text_of(&arguments[1]).chars().collect();
    let to: Vec<char> = text_of(&arguments[2]).chars().collect();
    let replaced = |character: char| match from.iter().position(|other| *other == character) {
        None => Some(character),
        Some(index) => to.get(index).copied(),
    };
    text(text_of(&arguments[0]).chars().filter_map(replaced).collect())
}

fn position(whole: &Value, part: &Value) -> Result<Value> {
    let whole = text_of(whole);
    let found = whole.find(text_of(part)).map_or(0, |at| whole[..at].chars().count() + 1);
    count(found)
}

fn split_part(arguments: &[Value]) -> Result<Value> {
    let (whole, by, index) =
        (text_of(&arguments[0]), text_of(&arguments[1]), integer_of(&arguments[2]));
    let parts: Vec<&str> = if by.is_empty() { vec![whole] } else { whole.split(by).collect() };
    let index = match index {
        0 => return Err(Error::invalid("split_part counts from 1")),
        index if index < 0 => {
            parts.len().checked_sub(usize::try_from(-index).unwrap_or(usize::MAX))
        }
        index => usize::try_from(index - 1).ok(),
    };
    text(index.and_then(|index| parts.get(index)).map_or("", |part| part).to_owned())
}

/// Splits by a separator, or into characters if it is null. Parts equal to the third argument
/// become null.
fn string_to_array(arguments: &[Value], _: &[ColumnType]) -> Result<Value> {
    let Value::Text(whole) = &arguments[0] else { return Ok(Value::Null) };
    let parts: Vec<String> = match &arguments[1] {
        _ if whole.is_empty() => Vec::new(),
        Value::Text(by) if by.is_empty() => vec![whole.clone()],
        Value::Text(by) => whole.split(by).map(str::to_owned).collect(),
        _ => whole.chars().map(String::from).collect(),
    };
    let null = arguments.get(2).map_or("", text_of);
    let has_null = matches!(arguments.get(2), Some(Value::Text(_)));
    let value = |part: String| match has_null && part == null {
        true => Value::Null,
        false => Value::Text(part),
    };
    Ok(Value::List(parts.into_iter().map(value).collect()))
}

/// Hexadecimal digits. A negative number has as many as its type has bits for.
fn to_hex(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let Value::Integer(value) = &arguments[0] else {
        return Err(Error::mismatch("function to_hex takes integers"));
    };
    text(match (types[0] == ColumnType::Int64, i32::try_from(*value)) {
        (false, Ok(value)) => format!("{value:x}"),
        _ => format!("{value:x}"),
    })
}

fn chr(arguments: &[Value]) -> Result<Value> {
    let code = integer_of(&arguments[0]);
    let character =
        u32::try_from(code).ok().and_then(char::from_u32).filter(|found| *found != '\0');
    let character =
        character.ok_or_else(|| Error::invalid(format!("{code} is not a character code")))?;
    text(character.to_string())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn encode(arguments: &[Value]) -> Result<Value> {
    match text_of(&arguments[1]) {
        "hex" => text(hex(bytes_of(&arguments[0]))),
        "escape" => text(escape(bytes_of(&arguments[0]))),
        other => Err(Error::invalid(format!("encoding {other:?} is not known"))
            .help("use 'hex' or 'escape'")),
    }
}

/// Bytes as text: zero and what is not ASCII in octal digits, a backslash twice, as in PostgreSQL.
fn escape(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            0 | 0x80.. => out.push_str(&format!("\\{byte:03o}")),
            _ => out.push(char::from(*byte)),
        }
    }
    out
}

/// The parts between matches. One without characters counts only between two characters.
fn regexp_split<'a>(whole: &'a str, pattern: &Regex) -> Vec<&'a str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for found in pattern.find_iter(whole) {
        if found.is_empty() && (found.start() == 0 || found.end() == whole.len()) {
            continue;
        }
        parts.push(&whole[start..found.start()]);
        start = found.end();
    }
    parts.push(&whole[start..]);
    parts
}

fn decode(arguments: &[Value]) -> Result<Value> {
    let whole = text_of(&arguments[0]);
    match text_of(&arguments[1]) {
        "hex" => cast::parse(&format!("\\x{whole}"), &ColumnType::Binary),
        "escape" => {
            let bytes = cast::unescape(whole);
            let advice = "a backslash begins \\\\ or three octal digits, as in \\351";
            let error = || Error::invalid("the text has another escape").help(advice);
            Ok(Value::Bytes(bytes.ok_or_else(error)?))
        }
        other => Err(Error::invalid(format!("encoding {other:?} is not known"))
            .help("use 'hex' or 'escape'")),
    }
}

fn overlay(arguments: &[Value]) -> Result<Value> {
    if integer_of(&arguments[2]) < 1 {
        return Err(Error::invalid("overlay counts characters from 1"));
    }
    let whole: Vec<char> = text_of(&arguments[0]).chars().collect();
    let put = text_of(&arguments[1]);
    let start = usize::try_from(integer_of(&arguments[2]) - 1).unwrap_or(0).min(whole.len());
    let size = arguments
        .get(3)
        .map_or(put.chars().count(), |size| usize::try_from(integer_of(size)).unwrap_or(0));
    let before: String = whole[..start].iter().collect();
    let after: String = whole[start.saturating_add(size).min(whole.len())..].iter().collect();
    text(before + put + &after)
}

/// Replaces matches. `\1` in the replacement is the first group, as in PostgreSQL; flag `g`
/// replaces all.
fn regexp_replace(arguments: &[Value]) -> Result<Value> {
    let flags = arguments.get(3).map_or("", text_of);
    let regex = flagged(&arguments[1], arguments.get(3))?;
    let mut with = String::new();
    let mut characters = text_of(&arguments[2]).chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(digit) if digit.is_ascii_digit() => with.push_str(&format!("${{{digit}}}")),
                Some('&') => with.push_str("${0}"),
                Some(other) => with.push(other),
                None => with.push('\\'),
            },
            '$' => with.push_str("$$"),
            other => with.push(other),
        }
    }
    let whole = text_of(&arguments[0]);
    let limit = usize::from(!flags.contains('g'));
    text(regex.replacen(whole, limit, with.as_str()).into_owned())
}

fn regexp_like(arguments: &[Value]) -> Result<Value> {
    let regex = flagged(&arguments[1], arguments.get(2))?;
    Ok(Value::Boolean(regex.is_match(text_of(&arguments[0]))))
}

/// Counts matches from a character on, counting from 1.
fn regexp_count(arguments: &[Value]) -> Result<Value> {
    let regex = flagged(&arguments[1], arguments.get(3))?;
    let start = arguments.get(2).map_or(1, integer_of);
    let Some(skipped) = usize::try_from(start).ok().and_then(|start| start.checked_sub(1)) else {
        return Err(Error::invalid("regexp_count counts characters from 1"));
    };
    let whole = text_of(&arguments[0]);
    let from = whole.char_indices().nth(skipped).map_or(whole.len(), |(at, _)| at);
    count(regex.find_iter(&whole[from..]).count())
}

fn regexp_match(arguments: &[Value]) -> Result<Value> {
    let regex = flagged(&arguments[1], arguments.get(2))?;
    let Some(found) = regex.captures(text_of(&arguments[0])) else { return Ok(Value::Null) };
    let skipped = usize::from(found.len() > 1);
    let group = |group: Option<regex::Match<'_>>| {
        group.map_or(Value::Null, |group| Value::Text(group.as_str().to_owned()))
    };
    Ok(Value::List(found.iter().skip(skipped).map(group).collect()))
}

fn concat(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    text(arguments.iter().zip(types).map(|(value, ty)| cast::format_short(value, ty)).collect())
}

fn concat_ws(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    if matches!(arguments[0], Value::Null) {
        return Ok(Value::Null);
    }
    let parts: Vec<String> = arguments
        .iter()
        .zip(types)
        .skip(1)
        .filter(|(value, _)| !matches!(value, Value::Null))
        .map(|(value, ty)| cast::format_short(value, ty))
        .collect();
    text(parts.join(text_of(&arguments[0])))
}

/// Formats with `%s`, `%I`, `%L` and `%%`.
fn format_text(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    if matches!(arguments[0], Value::Null) {
        return Ok(Value::Null);
    }
    let mut out = String::new();
    let mut characters = text_of(&arguments[0]).chars();
    let mut next = 1;
    while let Some(character) = characters.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        let kind = characters.next();
        if kind == Some('%') {
            out.push('%');
            continue;
        }
        let (Some(value), Some(ty)) = (arguments.get(next), types.get(next)) else {
            return Err(Error::invalid("format has more placeholders than values"));
        };
        next += 1;
        let shown = cast::format_short(value, ty);
        match kind {
            Some('s') => out.push_str(&shown),
            Some('L') if matches!(value, Value::Null) => out.push_str("NULL"),
            Some('I') => out.push_str(&format!("\"{}\"", shown.replace('"', "\"\""))),
            Some('L') => out.push_str(&format!("'{}'", shown.replace('\'', "''"))),
            _ => return Err(Error::invalid("format knows %s, %I, %L and %% only")),
        }
    }
    text(out)
}
