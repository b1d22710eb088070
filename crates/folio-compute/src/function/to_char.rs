//! `to_char` of times, with PostgreSQL's patterns.

use crate::{Error, Result};
use folio_types::Value;
use folio_types::temporal::{self, DAY, SECOND};

use super::text_of;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The Julian day of 1970-01-01, counted from 4714 BC.
const JULIAN_1970: i64 = 2_440_588;

/// Patterns for words. The value takes the letter case of the pattern.
const WORDS: [&str; 20] = [
    "MONTH", "Month", "month", "MON", "Mon", "mon", "DAY", "Day", "day", "DY", "Dy", "dy", "AM",
    "PM", "am", "pm", "A.M.", "P.M.", "a.m.", "p.m.",
];

/// Patterns for digits, in upper or lower case.
const NUMBERS: [&str; 36] = [
    "Y,YYY", "YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "I", "CC", "Q", "MM", "WW", "W", "IW",
    "DDD", "DD", "D", "IDDD", "ID", "J", "HH24", "HH12", "HH", "MI", "SSSSS", "SSSS", "SS", "MS",
    "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6",
];

/// Patterns of PostgreSQL that are not supported.
const UNKNOWN: [&str; 10] = ["FX", "TZH", "TZM", "TZ", "OF", "RM", "A.D.", "B.C.", "AD", "BC"];

/// The next part of a format.
enum Pattern {
    Word(&'static str),
    Number(&'static str),
    Unknown(&'static str),
}

/// The longest pattern at the start of a text.
fn pattern(text: &str) -> Option<Pattern> {
    let small = |name: &str| text.starts_with(&name.to_lowercase());
    let begins = |name: &&&str| text.starts_with(**name) || small(name);
    let longest = |length: &&&str| length.len();
    let word = WORDS.iter().filter(|name| text.starts_with(**name)).max_by_key(longest);
    let number = NUMBERS.iter().filter(begins).max_by_key(longest);
    let unknown = UNKNOWN.iter().filter(begins).max_by_key(longest);
    let size = |name: Option<&&str>| name.map_or(0, |name| name.len());
    let most = size(word).max(size(number)).max(size(unknown));
    match (word, number, unknown) {
        (Some(word), _, _) if word.len() == most => Some(Pattern::Word(word)),
        (_, Some(number), _) if number.len() == most => Some(Pattern::Number(number)),
        (_, _, Some(unknown)) => Some(Pattern::Unknown(unknown)),
        _ => None,
    }
}

/// Formats a time. `"text"` is literal, `FM` drops the padding of the next field, and `TH` after
/// a number adds its ending.
pub(super) fn to_char(arguments: &[Value]) -> Result<Value> {
    let time = match arguments[0] {
        Value::Timestamp(time) => time,
        _ => 0,
    };
    let mut rest = text_of(&arguments[1]);
    let mut out = String::new();
    while let Some(first) = rest.chars().next() {
        if first == '"' {
            let (quoted, after) = rest[1..].split_once('"').unwrap_or((&rest[1..], ""));
            out.push_str(quoted);
            rest = after;
            continue;
        }
        let bare = rest.strip_prefix("FM").or_else(|| rest.strip_prefix("fm"));
        let after = bare.unwrap_or(rest);
        match pattern(after) {
            Some(Pattern::Word(name)) => {
                out.push_str(&word(name, time, bare.is_some()));
                rest = &after[name.len()..];
            }
            Some(Pattern::Number(name)) => {
                let mut number = field(name, time).ok_or_else(|| unknown(name))?;
                if bare.is_some() {
                    number = without_zeros(name, number);
                }
                rest = &after[name.len()..];
                if let Some(after) = rest.strip_prefix("TH").or_else(|| rest.strip_prefix("th")) {
                    let ending = ending(&number);
                    let is_upper = rest.starts_with('T');
                    number.push_str(&if is_upper { ending.to_uppercase() } else { ending.into() });
                    rest = after;
                }
                out.push_str(&number);
            }
            Some(Pattern::Unknown(name)) => return Err(unknown(name)),
            None if bare.is_some() => rest = after,
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    Ok(Value::Text(out))
}

fn unknown(name: &str) -> Error {
    Error::unsupported(format!("to_char does not know {name:?}"))
        .help("write literal text in \"double quotes\"")
}

/// The value of one pattern; `None` for an unknown pattern.
pub(super) fn field(name: &str, time: i64) -> Option<String> {
    let (year, month, day) = temporal::civil(time.div_euclid(DAY));
    let clock = time.rem_euclid(DAY);
    let hour = clock / temporal::HOUR;
    let weekday = usize::try_from((time.div_euclid(DAY) + 4).rem_euclid(7)).unwrap_or(0);
    let month_name = MONTHS[month.saturating_sub(1) as usize % 12];
    let part = |unit: &str| temporal::part(unit, time).unwrap_or_default();
    let (doy, isoyear, isoweek) = (part("doy"), part("isoyear"), part("week"));
    // Years before 0 have a sign, as in the text of a date. Their last digits have none.
    let sign = |is_negative| if is_negative { "-" } else { "" };
    let (sign, isosign) = (sign(year < 0), sign(isoyear < 0.0));
    let (digits, isodigits) = (year.unsigned_abs(), isoyear.abs());
    Some(match name {
        "Y,YYY" => format!("{sign}{},{:03}", digits / 1000, digits % 1000),
        "YYYY" => format!("{sign}{digits:04}"),
        "YYY" => format!("{:03}", digits % 1000),
        "YY" => format!("{:02}", digits % 100),
        "Y" => (digits % 10).to_string(),
        "IYYY" => format!("{isosign}{isodigits:04}"),
        "IYY" => format!("{:03}", isodigits % 1000.0),
        "IY" => format!("{:02}", isodigits % 100.0),
        "I" => (isodigits % 10.0).to_string(),
        "CC" => format!("{:02}", part("century")),
        "Q" => part("quarter").to_string(),
        "MM" => format!("{month:02}"),
        "WW" => format!("{:02}", ((doy - 1.0) / 7.0).floor() + 1.0),
        "W" => ((day - 1) / 7 + 1).to_string(),
        "IW" => format!("{isoweek:02}"),
        "DDD" => format!("{doy:03}"),
        "DD" => format!("{day:02}"),
        "D" => (weekday + 1).to_string(),
        "IDDD" => format!("{:03}", (isoweek - 1.0) * 7.0 + part("isodow")),
        "ID" => part("isodow").to_string(),
        "J" => (time.div_euclid(DAY) + JULIAN_1970).to_string(),
        "HH24" => format!("{hour:02}"),
        "HH12" | "HH" => format!("{:02}", (hour + 11) % 12 + 1),
        "MI" => format!("{:02}", clock / temporal::MINUTE % 60),
        "SSSSS" | "SSSS" => (clock / SECOND).to_string(),
        "SS" => format!("{:02}", clock / SECOND % 60),
        "MS" => format!("{:03}", clock / 1000 % 1000),
        "US" => format!("{:06}", clock % SECOND),
        "AM" | "PM" => (if hour < 12 { "AM" } else { "PM" }).to_owned(),
        "A.M." | "P.M." => (if hour < 12 { "A.M." } else { "P.M." }).to_owned(),
        "Month" => month_name.to_owned(),
        "Mon" => month_name[..3].to_owned(),
        "Day" => WEEKDAYS[weekday].to_owned(),
        "Dy" => WEEKDAYS[weekday][..3].to_owned(),
        // Of `strftime`: weeks that begin on Monday or Sunday, and the day of the week from Sunday.
        "%W" => week(doy, (weekday + 6) % 7),
        "%U" => week(doy, weekday),
        "%w" => weekday.to_string(),
        _ => {
            let digits = name.strip_prefix("FF")?.parse().ok()?;
            format!("{:06}", clock % SECOND).get(..digits)?.to_owned()
        }
    })
}

/// The number of whole weeks of a year up to a day, and of the one that it is in.
#[allow(clippy::cast_precision_loss, reason = "a week has few days")]
fn week(day_of_year: f64, day_of_week: usize) -> String {
    format!("{:02}", ((day_of_year + 6.0 - day_of_week as f64) / 7.0).floor())
}

/// A word in the letter case of its pattern. Months and days are padded unless `is_bare`.
fn word(name: &str, time: i64, is_bare: bool) -> String {
    let lower = name.to_lowercase();
    let known = match &*lower {
        "am" | "pm" | "a.m." | "p.m." => lower.to_uppercase(),
        _ => lower[..1].to_uppercase() + &lower[1..],
    };
    let value = field(&known, time).unwrap_or_default();
    let value = match name {
        _ if name == lower => value.to_lowercase(),
        _ if name == name.to_uppercase() => value.to_uppercase(),
        _ => value,
    };
    let is_wide = matches!(&*lower, "month" | "day");
    if is_wide && !is_bare { format!("{value:<9}") } else { value }
}

/// A number without leading zeros. Fractions keep theirs.
fn without_zeros(name: &str, number: String) -> String {
    let is_fraction = matches!(name, "MS" | "US" | "Y,YYY") || name.starts_with("FF");
    match number.trim_start_matches('0') {
        _ if is_fraction => number,
        "" => "0".to_owned(),
        bare => bare.to_owned(),
    }
}

/// The ending of an ordinal: `st`, `nd`, `rd` or `th`.
fn ending(number: &str) -> &'static str {
    let digits = number.as_bytes();
    let is_teen = digits.len() > 1 && digits[digits.len() - 2] == b'1';
    match digits.last() {
        Some(b'1') if !is_teen => "st",
        Some(b'2') if !is_teen => "nd",
        Some(b'3') if !is_teen => "rd",
        _ => "th",
    }
}
