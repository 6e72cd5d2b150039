//! Numbers as reports write them: durations in many units and spellings, line numbers, counts.

use std::time::Duration;

use crate::model::Timestamp;

/// Reads a number of seconds: `0.160`, `1,234.5`, `0,160`, `1.5s`, `12ms`, `0:00:01.5`, `PT1.5S`, `1e3`.
///
/// Nothing comes of what is no duration: negative, infinite, not a number, or in no known spelling.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Some(plain) = plain_seconds(text.as_bytes()) {
        return Some(plain);
    }
    if let Some(iso) = text.strip_prefix("PT") {
        return iso_duration(iso);
    }
    if text.contains(':') {
        return clock(text);
    }
    for (unit, scale) in [("ms", 1e-3), ("µs", 1e-6), ("us", 1e-6), ("ns", 1e-9), ("s", 1.0)] {
        if let Some(number) = text.strip_suffix(unit) {
            return from_float(decimal(number.trim_end())? * scale);
        }
    }
    from_float(decimal(text)?)
}

/// A duration of so many seconds, if that makes sense.
pub(super) fn from_float(seconds: f64) -> Option<Duration> {
    let sensible = seconds.is_finite() && (0.0..9e9).contains(&seconds);
    #[expect(clippy::cast_sign_loss, reason = "it was just checked not to be negative")]
    sensible.then(|| Duration::from_nanos((seconds * 1e9).round() as u64))
}

/// A duration of so many milliseconds, if that makes sense.
pub(super) fn from_millis(millis: f64) -> Option<Duration> {
    from_float(millis / 1e3)
}

/// The moment so many milliseconds after the epoch, if that makes sense.
pub(super) fn moment_from_millis(millis: f64) -> Option<Timestamp> {
    let sensible = millis.is_finite() && (0.0..9e12).contains(&millis);
    let nanos = (millis.fract() * 1e6).round() as i64;
    sensible.then(|| Timestamp::from_nanos((millis as i64) * 1_000_000 + nanos))
}

/// A line number from a report, where 0 and nonsense mean none.
pub(super) fn line(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|&line| line > 0)
}

/// `12.345`, by far the most common spelling, without going through floats.
fn plain_seconds(bytes: &[u8]) -> Option<Duration> {
    if bytes.is_empty() || bytes.len() > 19 {
        return None;
    }
    let (mut whole, mut fraction, mut scale) = (0_u64, 0_u64, 1_000_000_000_u64);
    let mut in_fraction = false;
    for &byte in bytes {
        match byte {
            b'0'..=b'9' if !in_fraction => whole = whole * 10 + u64::from(byte - b'0'),
            b'0'..=b'9' => {
                scale /= 10;
                fraction += u64::from(byte - b'0') * scale;
            }
            b'.' if !in_fraction => in_fraction = true,
            _ => return None,
        }
    }
    if bytes == b"." || whole > 9_000_000_000 {
        return None;
    }
    Some(Duration::from_nanos(whole * 1_000_000_000 + fraction))
}

/// A decimal number in which `,` or `.` may group digits or start the fraction.
fn decimal(text: &str) -> Option<f64> {
    let allowed = |byte: u8| byte.is_ascii_digit() || b"+-.,eE".contains(&byte);
    if !text.bytes().all(allowed) || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let normal = match (text.rfind(','), text.rfind('.')) {
        (None, _) => text.to_owned(),
        // "1,234.5": the comma groups.
        (Some(comma), Some(point)) if comma < point => text.replace(',', ""),
        // "1.234,5": the point groups.
        (Some(_), Some(_)) => text.replace('.', "").replace(',', "."),
        // "1,234,567" groups; "0,160" is a fraction.
        (Some(_), None) if text.matches(',').count() > 1 => text.replace(',', ""),
        (Some(_), None) => text.replace(',', "."),
    };
    normal.parse().ok()
}

/// `h:mm:ss.f`, `mm:ss`, and .NET's `d.hh:mm:ss.fffffff`.
fn clock(text: &str) -> Option<Duration> {
    let mut parts = text.rsplit(':');
    let mut total = decimal(parts.next()?)?;
    let mut unit = 60.0;
    for part in parts {
        if unit > 3600.0 {
            return None;
        }
        let (days, number) = match part.split_once('.') {
            Some((days, hours)) if unit > 60.0 => (decimal(days)?, decimal(hours)?),
            _ => (0.0, decimal(part)?),
        };
        total += number * unit + days * 86_400.0;
        unit *= 60.0;
    }
    from_float(total)
}

/// What follows the `PT` of an ISO 8601 duration: `1H2M3.5S`.
fn iso_duration(text: &str) -> Option<Duration> {
    let (mut total, mut rest) = (0.0, text);
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let number = decimal(&rest[..end])?;
        total += number
            * match &rest[end..=end] {
                "H" => 3600.0,
                "M" => 60.0,
                "S" => 1.0,
                _ => return None,
            };
        rest = &rest[end + 1..];
    }
    from_float(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_in_the_spellings_of_real_reports() {
        for (text, expected) in [
            ("0.160", Some(0.16)),
            ("0,160", Some(0.16)),
            ("1,234.5", Some(1234.5)),
            ("1.234,5", Some(1234.5)),
            ("0.", Some(0.0)),
            (".5", Some(0.5)),
            ("1e3", Some(1000.0)),
            ("12ms", Some(0.012)),
            ("1.5s", Some(1.5)),
            ("0:00:00.693097", Some(0.693_097)),
            ("00:00:01.5000000", Some(1.5)),
            ("1.02:00:00", Some(93_600.0)),
            ("PT1M1.5S", Some(61.5)),
            ("", None),
            (" ", None),
            (".", None),
            ("NaN", None),
            ("Infinity", None),
            ("-1", None),
            ("1e400", None),
            ("0x10", None),
            ("٣", None),
            ("1_000", None),
            ("undefined", None),
            ("99999999999999999999", None),
        ] {
            let read = seconds(text).map(|duration| duration.as_secs_f64());
            assert_eq!(read, expected, "{text:?}");
        }
    }
}
