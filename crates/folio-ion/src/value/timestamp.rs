//! Points in time with their written precision and offset.
//!
//! Ion distinguishes `2024T`, `2024-01-01T` and `2024-01-01T00:00Z`, and a known offset from an
//! unknown one (`-00:00`). So a timestamp here has the fields as written, in local time. Arithmetic
//! happens only for columns and for the binary form, which stores UTC fields.
//!
//! Calendar conversion follows Howard Hinnant, "chrono-compatible low-level date algorithms".

use super::decimal::Decimal;
use std::fmt;

/// The finest written field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precision {
    /// `2024T`
    Year,
    /// `2024-06T`
    Month,
    /// `2024-06-01T`
    Day,
    /// `2024-06-01T12:30Z`; there is no precision of hours.
    Minute,
    /// `2024-06-01T12:30:15Z`
    Second,
    /// `2024-06-01T12:30:15.250Z`
    Fraction,
}

/// A timestamp in Ion's form. Fields finer than the precision have their smallest value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Timestamp {
    pub(crate) precision: Precision,
    pub(crate) year: u16,
    pub(crate) month: u8,
    pub(crate) day: u8,
    pub(crate) hour: u8,
    pub(crate) minute: u8,
    pub(crate) second: u8,
    /// Minutes east of UTC; `None` if unknown or if the precision is coarser than minutes.
    pub(crate) offset: Option<i16>,
    /// The fraction of a second, with its digits. Present exactly at [`Precision::Fraction`].
    pub(crate) fraction: Option<Box<Decimal>>,
}

const MICROS_PER_DAY: i64 = 86_400_000_000;
const MINUTES_PER_DAY: i64 = 1_440;

impl Timestamp {
    /// A date.
    pub fn from_date(year: u16, month: u8, day: u8) -> Option<Timestamp> {
        let timestamp = Timestamp { year, month, day, ..Timestamp::START };
        Timestamp { precision: Precision::Day, ..timestamp }.checked()
    }

    /// The day `days` after 1970-01-01.
    pub fn from_days(days: i32) -> Option<Timestamp> {
        let (year, month, day) = civil_from_days(i64::from(days));
        Timestamp::from_date(u16::try_from(year).ok()?, month, day)
    }

    /// The instant `units` of `10^-digits` seconds after the Unix epoch, in UTC, with `digits`
    /// digits of fraction (0 to 9).
    pub fn from_epoch(units: i64, digits: u8) -> Option<Timestamp> {
        let per_second = 10i64.checked_pow(u32::from(digits))?;
        let seconds = units.div_euclid(per_second);
        let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
        let of_day = seconds.rem_euclid(86_400);
        let fraction = (digits > 0)
            .then(|| Box::new(Decimal::new(units.rem_euclid(per_second), -i32::from(digits))));
        let timestamp = Timestamp {
            precision: if digits > 0 { Precision::Fraction } else { Precision::Second },
            year: u16::try_from(year).ok()?,
            month,
            day,
            hour: (of_day / 3_600) as u8,
            minute: (of_day / 60 % 60) as u8,
            second: (of_day % 60) as u8,
            offset: Some(0),
            fraction,
        };
        timestamp.checked()
    }

    /// The date, and the microseconds of the day, of an instant `micros` after the Unix epoch;
    /// `None` outside the years 1 to 9999.
    pub(crate) fn civil(micros: i64) -> Option<((u16, u8, u8), i64)> {
        let (year, month, day) = civil_from_days(micros.div_euclid(MICROS_PER_DAY));
        let year = u16::try_from(year).ok().filter(|year| (1..=9999).contains(year))?;
        Some(((year, month, day), micros.rem_euclid(MICROS_PER_DAY)))
    }

    /// The same UTC fields with an unknown offset.
    #[must_use]
    pub fn with_unknown_offset(self) -> Timestamp {
        Timestamp { offset: None, ..self }
    }

    /// The first moment of year one, at the coarsest precision.
    pub(crate) const START: Timestamp = Timestamp {
        precision: Precision::Year,
        year: 1,
        month: 1,
        day: 1,
        hour: 0,
        minute: 0,
        second: 0,
        offset: None,
        fraction: None,
    };

    /// The timestamp itself if every field is within its range.
    pub(crate) fn checked(self) -> Option<Timestamp> {
        self.checked_within(1..=9999)
    }

    /// Like `checked`, for fields shifted to UTC, which may be a day outside the valid years.
    pub(crate) fn checked_utc(self) -> Option<Timestamp> {
        self.checked_within(0..=10_000)
    }

    fn checked_within(self, years: std::ops::RangeInclusive<u16>) -> Option<Timestamp> {
        let date = years.contains(&self.year)
            && (1..=12).contains(&self.month)
            && (1..=days_in_month(self.year, self.month)).contains(&self.day);
        let time = self.hour < 24 && self.minute < 60 && self.second < 60;
        let offset = self.offset.is_none_or(|minutes| minutes.unsigned_abs() < 1_440);
        let fraction = self.fraction.as_ref().is_none_or(|fraction| {
            let digits = fraction.coefficient().digits().len() as i64;
            let below_one = digits + i64::from(fraction.exponent()) <= 0 || fraction.is_zero();
            !fraction.is_negative() && below_one
        });
        (date && time && offset && fraction).then_some(self)
    }

    /// The finest written field.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Minutes east of UTC, if known.
    pub fn offset(&self) -> Option<i16> {
        self.offset
    }

    /// The fraction of a second with its digits, if written.
    pub fn fraction(&self) -> Option<&Decimal> {
        self.fraction.as_deref()
    }

    /// Days since 1970-01-01 of the local date.
    pub fn to_days(&self) -> i32 {
        days_from_civil(i64::from(self.year), self.month, self.day) as i32
    }

    /// Microseconds since the Unix epoch, in UTC. Digits after the sixth are rounded.
    pub fn to_micros(&self) -> i64 {
        let minutes = i64::from(self.hour) * 60 + i64::from(self.minute)
            - i64::from(self.offset.unwrap_or(0));
        let seconds = minutes * 60 + i64::from(self.second);
        i64::from(self.to_days()) * MICROS_PER_DAY
            + seconds * 1_000_000
            + (self.fraction_units(7) + 5) / 10
    }

    /// The fraction in units of `10^-digits` seconds, truncated, for `digits` of at most 9.
    pub fn fraction_units(&self, digits: u8) -> i64 {
        let Some(fraction) = &self.fraction else { return 0 };
        let written = fraction.coefficient().digits();
        let leading = (-i64::from(fraction.exponent()) - written.len() as i64).max(0) as usize;
        let zeros = std::iter::repeat_n(b'0', leading.min(usize::from(digits)));
        let padded = zeros.chain(written.bytes()).chain(std::iter::repeat(b'0'));
        padded
            .take(usize::from(digits))
            .fold(0, |units, digit| units * 10 + i64::from(digit - b'0'))
    }

    /// The same fields shifted by `minutes`; `None` outside the years 0 to 10,000.
    pub(crate) fn shifted(&self, minutes: i64) -> Option<Timestamp> {
        let days = i64::from(self.to_days());
        let of_day = i64::from(self.hour) * 60 + i64::from(self.minute) + minutes;
        let (year, month, day) = civil_from_days(days + of_day.div_euclid(MINUTES_PER_DAY));
        let of_day = of_day.rem_euclid(MINUTES_PER_DAY);
        let year = u16::try_from(year).ok()?;
        let (hour, minute) = ((of_day / 60) as u8, (of_day % 60) as u8);
        Timestamp { year, month, day, hour, minute, ..self.clone() }.checked_utc()
    }
}

fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar.
#[inline]
pub(crate) fn days_from_civil(year: i64, month: u8, day: u8) -> i64 {
    // A year that begins in March ends with the leap day. Adding 400 years avoids negative years.
    let year = (year + 400 - i64::from(month <= 2)) as u32;
    let month_from_march = (u32::from(month) + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + u32::from(day) - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year;
    i64::from(days) - 719_468 - 146_097
}

fn civil_from_days(days: i64) -> (i64, u8, u8) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month as u8, day as u8)
}

/// Ion notation.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}", self.year)?;
        if self.precision >= Precision::Month {
            write!(f, "-{:02}", self.month)?;
        }
        if self.precision >= Precision::Day {
            write!(f, "-{:02}", self.day)?;
        }
        if self.precision <= Precision::Month {
            return f.write_str("T");
        }
        if self.precision == Precision::Day {
            return Ok(());
        }
        write!(f, "T{:02}:{:02}", self.hour, self.minute)?;
        if self.precision >= Precision::Second {
            write!(f, ":{:02}", self.second)?;
        }
        if let Some(fraction) = &self.fraction {
            let width = fraction.exponent().unsigned_abs() as usize;
            write!(f, ".{:0>width$}", fraction.coefficient().digits())?;
        }
        match self.offset {
            None => f.write_str("-00:00"),
            Some(0) => f.write_str("Z"),
            Some(minutes) => {
                let sign = if minutes < 0 { '-' } else { '+' };
                let minutes = minutes.unsigned_abs();
                write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar_round_trips_over_every_day() {
        let first = days_from_civil(1, 1, 1);
        let last = days_from_civil(9999, 12, 31);
        for days in first..=last {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
        assert_eq!(days_from_civil(1970, 1, 1), 0);
        assert_eq!(days_from_civil(2000, 3, 1), 11_017);
    }

    #[test]
    fn epoch_and_notation() {
        let shown = |units, digits| Timestamp::from_epoch(units, digits).map(|t| t.to_string());
        assert_eq!(shown(0, 0).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(shown(-1, 6).as_deref(), Some("1969-12-31T23:59:59.999999Z"));
        assert_eq!(shown(1_500, 3).as_deref(), Some("1970-01-01T00:00:01.500Z"));
        assert_eq!(shown(i64::MAX, 0), None);
        assert_eq!(Timestamp::from_epoch(-1_500_000, 6).map(|t| t.to_micros()), Some(-1_500_000));
    }
}
