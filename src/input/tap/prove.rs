//! What `prove --verbose` puts around the TAP of each file.

/// A line of prove's own.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Prove<'a> {
    /// `t/cart.t .. `: the TAP of this file follows.
    File(&'a str),
    /// `t/cart.t .. skipped: reason`.
    Skipped(&'a str, &'a str),
    /// `Dubious, test returned 2 …`.
    Dubious,
    /// The headline of the closing part.
    Summary,
    /// `Result: FAIL`.
    Result(&'a str),
}

impl<'a> Prove<'a> {
    pub(super) fn of(line: &'a str) -> Option<Self> {
        if let Some(result) = line.strip_prefix("Result: ") {
            return Some(Self::Result(result.trim()));
        }
        if line.starts_with("Dubious, test returned ") {
            return Some(Self::Dubious);
        }
        if line == "Test Summary Report" || line.starts_with("All tests successful.") {
            return Some(Self::Summary);
        }
        let (file, rest) = line.split_once(" ..")?;
        if file.is_empty() || file.len() > 1024 || file.contains(char::is_whitespace) {
            return None;
        }
        let rest = rest.trim_start_matches('.');
        match rest.trim().strip_prefix("skipped:") {
            Some(reason) => Some(Self::Skipped(file, reason.trim())),
            None if rest.trim().is_empty() && rest.starts_with(' ') => Some(Self::File(file)),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_told_from_talk() {
        assert_eq!(Prove::of("t/a.t .. "), Some(Prove::File("t/a.t")));
        assert_eq!(
            Prove::of("t/a.t ...... skipped: no disk"),
            Some(Prove::Skipped("t/a.t", "no disk"))
        );
        assert_eq!(Prove::of("waiting for it .. "), None);
        assert_eq!(Prove::of("a ..b"), None);
    }
}
