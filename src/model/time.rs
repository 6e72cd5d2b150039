//! [`Timestamp`]: a moment, read from and written as RFC 3339.

use std::fmt;

/// A moment in time, in nanoseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(i64);

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400;

impl Timestamp {
    /// The moment this many nanoseconds after the epoch.
    pub fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The moment this many milliseconds after the epoch.
    pub fn from_millis(millis: i64) -> Option<Self> {
        millis.checked_mul(1_000_000).map(Self)
    }

    /// Nanoseconds since the epoch.
    pub fn nanos(self) -> i64 {
        self.0
    }

    /// Reads `2026-03-14T09:26:53.589Z` and its common variants: a space for the `T`, any fraction,
    /// an offset with or without colon, no offset (taken as UTC), stray spaces.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (date, rest) = (text.get(..10)?, text.get(10..)?);
        let (year, month, day) = (date.get(..4)?, date.get(5..7)?, date.get(8..10)?);
        let separator = [date.as_bytes()[4], date.as_bytes()[7]];
        if !matches!(separator, [b'-', b'-'] | [b'/', b'/']) {
            return None;
        }
        let days = days_from_civil(number(year)?, number(month)?, number(day)?)?;
        let rest = rest.strip_prefix(['T', 't', ' ']).unwrap_or(rest).trim_start();
        let (clock, offset) = split_offset(rest)?;
        let nanos = clock_nanos(clock)?;
        let seconds = days.checked_mul(DAY)?.checked_sub(offset)?;
        seconds.checked_mul(SECOND)?.checked_add(nanos).map(Self)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0.div_euclid(SECOND), self.0.rem_euclid(SECOND));
        let (days, clock) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
        let (year, month, day) = civil_from_days(days);
        // By hand, since every case of a large report may have one: 64 bits of nanoseconds stay within
        // four digits of year.
        let mut text = *b"0000-00-00T00:00:00.000000000Z";
        let clock = [clock / 3600, clock / 60 % 60, clock % 60];
        put(&mut text[0..4], year);
        put(&mut text[5..7], month);
        put(&mut text[8..10], day);
        put(&mut text[11..13], clock[0]);
        put(&mut text[14..16], clock[1]);
        put(&mut text[17..19], clock[2]);
        put(&mut text[20..29], nanos);
        let text = std::str::from_utf8(&text).map_err(|_| fmt::Error)?;
        if nanos == 0 {
            f.write_str(&text[..19])?;
        } else {
            f.write_str(text[..29].trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

/// Puts a number into its digits' places.
fn put(places: &mut [u8], mut number: i64) {
    for place in places.iter_mut().rev() {
        *place = b'0' + (number % 10).unsigned_abs() as u8;
        number /= 10;
    }
}

fn number(digits: &str) -> Option<i64> {
    let digits_only = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits_only.then(|| digits.parse().ok()).flatten()
}

/// Splits `09:26:53.5+02:00` into the clock and the offset in seconds.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    let text = text.trim_end();
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock.trim_end(), 0));
    }
    let Some(at) = text.rfind(['+', '-']) else {
        return Some((text, 0));
    };
    let digits: String = text[at + 1..].chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = (number(digits.get(..2)?)?, number(digits.get(2..4).unwrap_or("00"))?);
    let offset = hours * 3600 + minutes * 60;
    let signed = if text[at..].starts_with('-') { -offset } else { offset };
    Some((text[..at].trim_end(), signed))
}

fn clock_nanos(clock: &str) -> Option<i64> {
    if clock.is_empty() {
        return Some(0);
    }
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, ""));
    let mut parts = clock.split(':');
    let (hour, minute) = (number(parts.next()?)?, number(parts.next()?)?);
    let second = parts.next().map_or(Some(0), number)?;
    if parts.next().is_some() || hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let nanos = match fraction.get(..9.min(fraction.len())) {
        None | Some("") => 0,
        Some(digits) => number(digits)? * 10_i64.pow(9 - digits.len() as u32),
    };
    Some((hour * 3600 + minute * 60 + second) * SECOND + nanos)
}

/// Days since 1970-01-01 of a date in the proleptic Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_frameworks_write() {
        for (text, expected) in [
            ("2026-03-14T09:26:53Z", "2026-03-14T09:26:53Z"),
            ("2026-03-14T09:26:53.5+02:00", "2026-03-14T07:26:53.5Z"),
            ("2026-03-14T09:26:53.589793238-0530", "2026-03-14T14:56:53.589793238Z"),
            ("2023-04-20T 09:08:30Z", "2023-04-20T09:08:30Z"),
            ("2026-03-14 09:26:53", "2026-03-14T09:26:53Z"),
            ("2000-02-29T24:00:00Z", "2000-03-01T00:00:00Z"),
            ("1969-12-31T23:59:59.25", "1969-12-31T23:59:59.25Z"),
        ] {
            let read = Timestamp::parse(text).map(|moment| moment.to_string());
            assert_eq!(read.as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_moment() {
        for text in [
            "",
            "yesterday",
            "2026-13-01T00:00:00Z",
            "2026-03-14T99:00:00Z",
            "٢٠٢٦-03-14",
            "9999999999-01-01T",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }
}
