//! Dates, times, timestamps and intervals: text, parts and arithmetic.
//!
//! Days count from 1970-01-01 in the proleptic Gregorian calendar. The conversion is Howard
//! Hinnant's `days_from_civil`. Timestamps are microseconds.

use crate::Interval;

/// Microseconds of a second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds of a minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Microseconds of an hour.
pub const HOUR: i64 = 60 * MINUTE;
/// Microseconds of a day.
pub const DAY: i64 = 24 * HOUR;

/// Year, month and day of a day number.
#[allow(clippy::cast_possible_truncation, reason = "a day within 32 bits is a year within them")]
#[inline]
pub fn civil(days: i64) -> (i32, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year as i32, month as u32, day as u32)
}

/// The day number of a date; `None` if there is no such date.
pub fn days(year: i32, month: u32, day: u32) -> Option<i64> {
    if !(1..=12).contains(&month) || day == 0 || day > month_length(year, month) {
        return None;
    }
    let (month, day) = (i64::from(month), i64::from(day));
    let year = i64::from(year) - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// The number of days in a month.
pub fn month_length(year: i32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Adds months, days and nanoseconds to a timestamp. If the month is too short for the day, the
/// result is its last day.
pub fn add(timestamp: i64, interval: Interval) -> Option<i64> {
    let (day, time) = (timestamp.div_euclid(DAY), timestamp.rem_euclid(DAY));
    let (year, month, day_of_month) = civil(day);
    let months = i64::from(year) * 12 + i64::from(month) - 1 + i64::from(interval.months);
    let year = i32::try_from(months.div_euclid(12)).ok()?;
    let month = u32::try_from(months.rem_euclid(12)).ok()? + 1;
    let day = days(year, month, day_of_month.min(month_length(year, month)))?;
    (day + i64::from(interval.days))
        .checked_mul(DAY)?
        .checked_add(time)?
        .checked_add(interval.nanoseconds / 1000)
}

/// The negative interval.
pub fn negate(interval: Interval) -> Option<Interval> {
    Some(Interval {
        months: interval.months.checked_neg()?,
        days: interval.days.checked_neg()?,
        nanoseconds: interval.nanoseconds.checked_neg()?,
    })
}

/// `2024-01-31`, also with slashes.
pub fn parse_date(text: &str) -> Option<i32> {
    let (text, sign) = match text.strip_prefix('-') {
        Some(rest) => (rest, -1),
        None => (text, 1),
    };
    let mut parts = text.splitn(3, ['-', '/']);
    let mut part = || {
        let part = parts.next()?;
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { part.parse::<u32>().ok() } else { None }
    };
    let (year, month, day) = (part()?, part()?, part()?);
    i32::try_from(days(sign * i32::try_from(year).ok()?, month, day)?).ok()
}

/// `12:04`, `12:04:05` or `12:04:05.123456`, as microseconds since midnight.
pub fn parse_time(text: &str) -> Option<i64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':');
    let mut part = |limit: i64| {
        let part = parts.next()?;
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let number = if is_number { part.parse::<i64>().ok()? } else { return None };
        (number <= limit).then_some(number)
    };
    let (hour, minute) = (part(24)?, part(59)?);
    let second = if clock.matches(':').count() == 2 { part(59)? } else { 0 };
    let time = hour * HOUR + minute * MINUTE + second * SECOND + parse_fraction(fraction)?;
    (parts.next().is_none() && time <= DAY).then_some(time)
}

/// Digits after the point as microseconds, rounded.
fn parse_fraction(digits: &str) -> Option<i64> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) || digits.len() > 18 {
        return None;
    }
    let padded = format!("{digits:0<7}");
    let number: i64 = padded[..7].parse().ok()?;
    Some((number + 5) / 10)
}

/// A date, then perhaps a space or `T` and a time, then perhaps a zone. With a zone, the result is in
/// UTC.
pub fn parse_timestamp(text: &str) -> Option<i64> {
    let (clock, zone) = clock_and_zone(text)?;
    clock.checked_sub(zone)
}

/// The same without the zone: the local time.
pub fn parse_clock(text: &str) -> Option<i64> {
    Some(clock_and_zone(text)?.0)
}

/// The local time, and its offset east of Greenwich.
fn clock_and_zone(text: &str) -> Option<(i64, i64)> {
    let at = text
        .char_indices()
        .position(|(at, _)| at >= 8 && matches!(text.as_bytes()[at], b' ' | b'T' | b't'));
    let Some(at) = at else {
        let (day, zone) = day_and_zone(text)?;
        return Some((i64::from(day) * DAY, zone));
    };
    let day = parse_date(text.get(..at)?)?;
    let rest = text.get(at + 1..)?.trim();
    let (clock, zone) = match rest.find(['+', '-', 'Z', 'z']) {
        Some(at) => (rest[..at].trim_end(), parse_zone(&rest[at..])?),
        None => (rest, 0),
    };
    let time = if clock.is_empty() && !rest.is_empty() { 0 } else { parse_time(clock)? };
    Some(((i64::from(day) * DAY).checked_add(time)?, zone))
}

/// A date, and the zone that may follow it.
fn day_and_zone(text: &str) -> Option<(i32, i64)> {
    if let Some(day) = parse_date(text) {
        return Some((day, 0));
    }
    let (day, zone) = text.split_at(text.rfind(['+', '-', 'Z', 'z'])?);
    Some((parse_date(day)?, parse_zone(zone)?))
}

/// A zone has at most so many hours and 59 minutes, as in PostgreSQL.
const ZONE_HOURS_MAX: i64 = 15;

/// `Z`, `+02`, `+02:00` or `+0200`, as microseconds east of Greenwich.
fn parse_zone(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits: String = text[1..].chars().filter(|character| *character != ':').collect();
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: i64 = if is_number { digits.parse().ok()? } else { return None };
    let (hours, minutes) = match digits.len() {
        1 | 2 => (number, 0),
        4 => (number / 100, number % 100),
        _ => return None,
    };
    let is_zone = hours <= ZONE_HOURS_MAX && minutes < 60;
    is_zone.then_some(sign * (hours * HOUR + minutes * MINUTE))
}

/// `1 year 2 days 03:04:05`, with units in any order.
pub fn parse_interval(text: &str) -> Option<Interval> {
    let mut interval = Interval::default();
    let mut words = text.split_whitespace().peekable();
    words.peek()?;
    while let Some(word) = words.next() {
        if word.contains(':') {
            let (sign, clock) = match word.strip_prefix('-') {
                Some(clock) => (-1, clock),
                None => (1, word.trim_start_matches('+')),
            };
            let nanoseconds = i64::try_from(sign * parse_duration(clock)?).ok()?;
            interval.nanoseconds = interval.nanoseconds.checked_add(nanoseconds)?;
            continue;
        }
        let split = word.find(|character: char| character.is_alphabetic()).unwrap_or(word.len());
        let (number, unit) = word.split_at(split);
        let unit = if unit.is_empty() { words.next().unwrap_or("second") } else { unit };
        add_unit(&mut interval, number.parse().ok()?, unit)?;
    }
    Some(interval)
}

/// `12:04`, `12:04:05` or `12:04:05.123456789`, of any number of hours, as nanoseconds.
fn parse_duration(text: &str) -> Option<i128> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = clock.split(':').collect();
    if !is_number(fraction) || !parts.iter().all(|part| !part.is_empty() && is_number(part)) {
        return None;
    }
    let (hour, minute, second) = match parts[..] {
        [hour, minute] => (hour, minute, "0"),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let hour = i128::from(hour.parse::<u32>().ok()?);
    let within = |part: &str| part.parse::<i128>().ok().filter(|number| *number <= 59);
    let seconds = hour * 3600 + within(minute)? * 60 + within(second)?;
    // Nine digits, and one that rounds them.
    let padded = format!("{fraction:0<10}");
    let fraction: i128 = padded.get(..10)?.parse().ok()?;
    Some(seconds * 1_000_000_000 + (fraction + 5) / 10)
}

/// Adds `number` of a unit. A part of a year is months, to the nearest; one of a month is days, of which
/// it has 30, and one of a day time, as in PostgreSQL.
#[allow(clippy::cast_possible_truncation, reason = "checked by the range of the result")]
pub fn add_unit(interval: &mut Interval, number: f64, unit: &str) -> Option<()> {
    let lower = unit.to_lowercase();
    let unit = lower.strip_suffix('s').filter(|unit| unit.len() > 1).unwrap_or(&lower);
    let nanoseconds = |micros: i64| {
        let nanoseconds = number * micros as f64 * 1000.0;
        (nanoseconds.abs() < 9.2e18).then_some(nanoseconds.round() as i64)
    };
    let whole = |number: f64| i32::try_from(number as i64).ok();
    let months_of_years = |count: f64| whole((number * count).round());
    let (mut more, mut days) = (Interval::default(), 0.0);
    match unit {
        "millennium" | "millennia" => more.months = months_of_years(12_000.0)?,
        "century" | "centurie" => more.months = months_of_years(1200.0)?,
        "decade" => more.months = months_of_years(120.0)?,
        "year" | "y" | "yr" => more.months = months_of_years(12.0)?,
        "quarter" | "month" | "mon" => {
            let months = if unit == "quarter" { number * 3.0 } else { number };
            more.months = whole(months.trunc())?;
            days = months.fract() * 30.0;
        }
        "week" | "w" => days = number * 7.0,
        "day" | "d" => days = number,
        "hour" | "h" | "hr" => more.nanoseconds = nanoseconds(HOUR)?,
        "minute" | "m" | "min" => more.nanoseconds = nanoseconds(MINUTE)?,
        "second" | "s" | "sec" => more.nanoseconds = nanoseconds(SECOND)?,
        "millisecond" | "ms" => more.nanoseconds = nanoseconds(1000)?,
        "microsecond" | "us" => more.nanoseconds = nanoseconds(1)?,
        _ => return None,
    }
    let day_nanoseconds = (DAY * 1000) as f64;
    let part = (days.fract() * day_nanoseconds).round();
    // Almost a day is one: 0.7 of 30 days is a little less than 21.
    let is_day = part.abs() == day_nanoseconds;
    more.days = whole(days.trunc() + if is_day { days.signum() } else { 0.0 })?;
    more.nanoseconds += if is_day { 0 } else { part as i64 };
    interval.months = interval.months.checked_add(more.months)?;
    interval.days = interval.days.checked_add(more.days)?;
    interval.nanoseconds = interval.nanoseconds.checked_add(more.nanoseconds)?;
    Some(())
}

/// A day as text: `2024-01-31`. A year has four digits or more, as in ISO 8601, and those before the
/// year 0 a sign before them.
pub fn format_date(day: i32) -> String {
    format_day(i64::from(day))
}

fn format_day(day: i64) -> String {
    let (year, month, day) = civil(day);
    let sign = if year < 0 { "-" } else { "" };
    format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// A time of day as text.
pub fn format_time(time: i64) -> String {
    let time = time.unsigned_abs();
    format_clock(time / SECOND.unsigned_abs(), time % SECOND.unsigned_abs(), 6)
}

/// A timestamp as text.
pub fn format_timestamp(timestamp: i64, utc: bool) -> String {
    let (day, time) = (timestamp.div_euclid(DAY), timestamp.rem_euclid(DAY));
    let zone = if utc { "+00" } else { "" };
    format!("{} {}{zone}", format_day(day), format_time(time))
}

/// An interval as text.
pub fn format_interval(interval: Interval) -> String {
    let mut parts = Vec::new();
    let mut push = |count: i32, unit: &str| {
        if count != 0 {
            parts.push(format!("{count} {unit}{}", if count == 1 { "" } else { "s" }));
        }
    };
    push(interval.months / 12, "year");
    push(interval.months % 12, "mon");
    push(interval.days, "day");
    if interval.nanoseconds != 0 || parts.is_empty() {
        let sign = if interval.nanoseconds < 0 { "-" } else { "" };
        let nanoseconds = interval.nanoseconds.unsigned_abs();
        let (second, fraction) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
        parts.push(format!("{sign}{}", format_clock(second, fraction, 9)));
    }
    parts.join(" ")
}

/// Hours, minutes and seconds, and the digits of a fraction of the last.
fn format_clock(second: u64, fraction: u64, digits: usize) -> String {
    let clock = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    match fraction {
        0 => clock,
        _ => format!("{clock}.{fraction:0digits$}").trim_end_matches('0').to_owned(),
    }
}

/// A part of a timestamp by its name, as in `extract(year from …)`.
pub fn part(name: &str, timestamp: i64) -> Option<f64> {
    let (day, time) = (timestamp.div_euclid(DAY), timestamp.rem_euclid(DAY));
    // Those that need no calendar.
    match name {
        "hour" => return Some((time / HOUR) as f64),
        "minute" => return Some((time / MINUTE % 60) as f64),
        "epoch" => return Some(timestamp as f64 / SECOND as f64),
        _ => {}
    }
    let (year, month, day_of_month) = civil(day);
    let weekday = (day + 4).rem_euclid(7);
    let day_of_year = day - days(year, 1, 1)? + 1;
    let seconds = (time % MINUTE) as f64 / SECOND as f64;
    Some(match name {
        "year" => f64::from(year),
        "month" => f64::from(month),
        "day" => f64::from(day_of_month),
        "second" => seconds,
        "millisecond" => seconds * 1000.0,
        "microsecond" => (time % MINUTE) as f64,
        "dow" => weekday as f64,
        "isodow" => (if weekday == 0 { 7 } else { weekday }) as f64,
        "doy" => day_of_year as f64,
        "quarter" => f64::from((month - 1) / 3 + 1),
        "decade" => f64::from(year.div_euclid(10)),
        "century" => f64::from((year - 1).div_euclid(100) + 1),
        "millennium" => f64::from((year - 1).div_euclid(1000) + 1),
        "week" => iso_week(day).1 as f64,
        "isoyear" => iso_week(day).0 as f64,
        _ => return None,
    })
}

/// ISO 8601 year and week of a day: weeks begin on Monday and belong to the year of their Thursday.
fn iso_week(day: i64) -> (i64, i64) {
    let thursday = day - (day + 3).rem_euclid(7) + 3;
    let (year, _, _) = civil(thursday);
    let first = days(year, 1, 1).unwrap_or(thursday);
    (i64::from(year), (thursday - first) / 7 + 1)
}

/// The start of the unit that contains a timestamp.
pub fn truncate(unit: &str, timestamp: i64) -> Option<i64> {
    let day = timestamp.div_euclid(DAY);
    let (year, month, _) = civil(day);
    let start = |year: i32, month: u32| Some(days(year, month, 1)? * DAY);
    match unit {
        "microsecond" => Some(timestamp),
        "millisecond" => Some(timestamp - timestamp.rem_euclid(1000)),
        "second" => Some(timestamp - timestamp.rem_euclid(SECOND)),
        "minute" => Some(timestamp - timestamp.rem_euclid(MINUTE)),
        "hour" => Some(timestamp - timestamp.rem_euclid(HOUR)),
        "day" => Some(day * DAY),
        "week" => Some((day - (day + 3).rem_euclid(7)) * DAY),
        "month" => start(year, month),
        "quarter" => start(year, (month - 1) / 3 * 3 + 1),
        "year" => start(year, 1),
        "decade" => start(year.div_euclid(10) * 10, 1),
        "century" => start((year - 1).div_euclid(100) * 100 + 1, 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_agree() {
        for day in (-1_000_000..1_000_000).step_by(97) {
            let (year, month, of_month) = civil(day);
            assert_eq!(days(year, month, of_month), Some(day));
        }
        assert_eq!(days(2024, 2, 30), None);
        assert_eq!(parse_date("2024-02-29").map(format_date).as_deref(), Some("2024-02-29"));
        assert_eq!(parse_date("2023-02-29"), None);
    }

    #[test]
    fn text_comes_back() {
        for text in ["2024-01-31 12:04:05", "1969-12-31 23:59:59.5", "0001-01-01 00:00:00"] {
            let parsed = parse_timestamp(text).map(|parsed| format_timestamp(parsed, false));
            assert_eq!(parsed.as_deref(), Some(text));
        }
        let utc = parse_timestamp("2024-01-31T12:00:00+02:00");
        assert_eq!(utc, parse_timestamp("2024-01-31 10:00:00"));
        for (text, time) in [
            ("2024-01-31+00", "2024-01-31 00:00:00"),
            ("2024-01-31Z", "2024-01-31 00:00:00"),
            ("2024-01-31-05", "2024-01-31 05:00:00"),
            ("2024-1-5+02:30", "2024-01-04 21:30:00"),
            ("2024-01-31 +0230", "2024-01-30 21:30:00"),
        ] {
            assert_eq!(parse_timestamp(text), parse_timestamp(time), "{text}");
        }
        for text in [
            "2024-01-31+",
            "2024-01-31-",
            "2024-01+00",
            "+00",
            "Z",
            "2024-01-31x+00",
            "2024-01-31+-5",
        ] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
        for text in [
            "1 year 2 mons 3 days 04:05:06",
            "-1 days",
            "00:00:00",
            "00:00:01.123456789",
            "-00:00:00.0000005",
            "-1 years -1 mons 100:00:00.5",
            "2562047:47:16.854775807",
            "-2562047:47:16.854775808",
        ] {
            let parsed = parse_interval(text).map(format_interval);
            assert_eq!(parsed.as_deref(), Some(text));
        }
        for text in ["1:60", "1:00:60", "1:", "2562047:47:16.854775808"] {
            assert_eq!(parse_interval(text), None, "{text}");
        }
    }

    #[test]
    fn months_keep_to_their_length() {
        let jan = parse_timestamp("2024-01-31 10:00:00").expect("a timestamp");
        let later = add(jan, Interval { months: 1, days: 0, nanoseconds: 0 });
        assert_eq!(later, parse_timestamp("2024-02-29 10:00:00"));
    }
}
