//! Writes numbers as ASCII digits directly into a buffer.
//!
//! Digits are written into an array of the maximum length, which is appended whole and then cut. A
//! copy of variable length is a call and costs more than the digits.

use super::short::push_short;

const PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut value = 0;
    while value < 100 {
        pairs[value * 2] = b'0' + (value / 10) as u8;
        pairs[value * 2 + 1] = b'0' + (value % 10) as u8;
        value += 1;
    }
    pairs
};

/// Appends `value` in decimal.
pub(super) fn push_i64(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_u64(out, value.unsigned_abs());
}

fn push_u64(out: &mut Vec<u8>, mut value: u64) {
    let count = value.checked_ilog10().map_or(1, |power| power as usize + 1);
    let mut digits = [0; 20];
    let mut at = count;
    while at >= 2 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if at == 1 {
        digits[0] = b'0' + value as u8;
    }
    let start = out.len();
    out.extend_from_slice(&digits);
    out.truncate(start + count);
}

/// Appends `units` times `10^-scale` with a point, in Ion's decimal notation.
pub(super) fn push_decimal(out: &mut Vec<u8>, units: i64, scale: u8) {
    if units < 0 {
        out.push(b'-');
    }
    let start = out.len();
    push_u64(out, units.unsigned_abs());
    let digits = out.len() - start;
    let scale = usize::from(scale);
    if digits <= scale {
        let zeros = std::iter::repeat_n(b'0', scale + 1 - digits);
        out.splice(start..start, zeros);
    }
    out.insert(out.len() - scale, b'.');
}

/// Appends `YYYY-MM-DDThh:mm:ss` and the needed digits of the fraction (none, three or six), from a
/// date and microseconds of the day.
pub(super) fn push_time(out: &mut Vec<u8>, (year, month, day): (u16, u8, u8), micros: i64) {
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let mut text = *b"0000-00-00T00:00:00.000000";
    let fields = [
        (0, year / 100),
        (2, year % 100),
        (5, u16::from(month)),
        (8, u16::from(day)),
        (11, (seconds / 3_600) as u16),
        (14, (seconds / 60 % 60) as u16),
        (17, (seconds % 60) as u16),
        (20, (fraction / 10_000) as u16),
        (22, (fraction / 100 % 100) as u16),
        (24, (fraction % 100) as u16),
    ];
    for (at, value) in fields {
        let pair = usize::from(value) * 2;
        text[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    let length = match fraction {
        0 => 19,
        _ if fraction % 1_000 == 0 => 23,
        _ => 26,
    };
    let start = out.len();
    out.extend_from_slice(&text);
    out.truncate(start + length);
}

/// Appends `value` with the fewest digits that read back as the same float. Always has an exponent,
/// which distinguishes a float from a decimal: `3583.52e0`, `1e+16`.
pub(super) fn push_float(out: &mut Vec<u8>, value: f64) {
    if value.is_nan() {
        return out.extend_from_slice(b"nan");
    }
    if value.is_infinite() {
        return out.extend_from_slice(if value < 0.0 { b"-inf" } else { b"+inf" });
    }
    let mut digits = zmij::Buffer::new();
    let digits = digits.format_finite(value).as_bytes();
    push_short(out, digits.strip_suffix(b".0").unwrap_or(digits));
    // Small and large numbers already have an exponent.
    if !digits.contains(&b'e') {
        out.extend_from_slice(b"e0");
    }
}

/// Appends `bytes` in base64 with padding.
pub(super) fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place > chunk.len() { b'=' } else { digit });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        let powers = (0..19).map(|power| 10i64.pow(power)).flat_map(|one| [one - 1, one, -one]);
        for value in powers.chain([7, 101, 12345, i64::MAX, i64::MIN]) {
            let mut out = Vec::new();
            push_i64(&mut out, value);
            assert_eq!(out, value.to_string().into_bytes());
        }
    }

    #[test]
    fn decimals() {
        for (units, scale, text) in
            [(1250, 2, "12.50"), (-5, 3, "-0.005"), (7, 0, "7."), (0, 2, "0.00")]
        {
            let mut out = Vec::new();
            push_decimal(&mut out, units, scale);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn floats() {
        for (value, text) in [
            (0.0, "0e0"),
            (-0.0, "-0e0"),
            (1.0, "1e0"),
            (-2.5, "-2.5e0"),
            (3583.52, "3583.52e0"),
            (100.0, "100e0"),
            (1e15, "1000000000000000e0"),
            (1e16, "1e+16"),
            (1.5e-7, "1.5e-7"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
            (f64::INFINITY, "+inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            let mut out = Vec::new();
            push_float(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn base64() {
        let text = |bytes: &[u8]| {
            let mut out = Vec::new();
            push_base64(&mut out, bytes);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(b""), "");
        assert_eq!(text(b"f"), "Zg==");
        assert_eq!(text(b"fo"), "Zm8=");
        assert_eq!(text(b"foo"), "Zm9v");
    }
}
