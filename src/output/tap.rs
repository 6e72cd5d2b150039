//! TAP version 14, with what is known of a case as YAML below its test point.
//!
//! See <https://testanything.org/tap-version-14-specification.html>. The plan comes first. What broke
//! outside of any case is a `not ok` of its own; cases that were announced and never came are in the plan.

use std::io::{BufWriter, Write};
use std::time::Duration;

use super::escape::{TapText, YamlBlock, YamlString};
use super::outside::{Cause, Outside, outside};
use super::{OutputFormat, RenderError, Report, summary};
use crate::model::{Attempt, Case, CaseView, Failure, Location, Outcome, Skip, SkipKind, Verdict};

/// TAP version 14.
pub(super) struct Tap;

impl OutputFormat for Tap {
    fn name(&self) -> &'static str {
        "tap"
    }

    fn description(&self) -> &'static str {
        "TAP version 14 with YAML"
    }

    fn render(&self, report: &Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
        let mut stream = Stream { out: BufWriter::with_capacity(64 << 10, out), number: 0 };
        let outside = outside(report);
        // Missing cases have no points: the plan says that they are missing.
        let broken = || {
            let is_point = |outside: &&Outside<'_>| !matches!(outside.cause, Cause::Missing(_));
            outside.iter().filter(is_point)
        };
        let points = report.run.cases().count() + broken().count();
        let planned = (points as u64).saturating_add(report.run.missing);
        writeln!(stream.out, "TAP version 14\n1..{planned}")?;
        for view in report.run.cases() {
            stream.case(&view)?;
        }
        for outside in broken() {
            stream.outside(outside)?;
        }
        stream.out.flush()?;
        Ok(())
    }
}

struct Stream<W: Write> {
    out: W,
    number: u64,
}

type Written = Result<(), RenderError>;

impl<W: Write> Stream<W> {
    fn case(&mut self, view: &CaseView<'_>) -> Written {
        let (case, verdict) = (view.case(), view.verdict());
        let attempt = view.deciding_attempt();
        let (ok, directive, reason) = match (verdict, attempt.outcome) {
            (Verdict::Passed | Verdict::Flaky, _) => (true, "", ""),
            (Verdict::Failed(_), _) => (false, "", ""),
            // What is to do or known to fail is `not ok`, and does not count.
            (Verdict::Skipped(SkipKind::Todo | SkipKind::ExpectedFailure), outcome) => {
                (false, " # TODO", reason(outcome))
            }
            (Verdict::Skipped(_), outcome) => (true, " # SKIP", reason(outcome)),
            (Verdict::NotRun, _) => (true, " # SKIP", "never started"),
        };
        self.point(ok, &summary::title(&case.id))?;
        self.out.write_all(directive.as_bytes())?;
        let reason = TapText(reason).to_string();
        if !reason.is_empty() {
            write!(self.out, " {reason}")?;
        }
        self.out.write_all(b"\n")?;
        self.diagnostics(view, &case, &attempt)
    }

    fn point(&mut self, ok: bool, title: &str) -> Written {
        self.number += 1;
        let word = if ok { "ok" } else { "not ok" };
        write!(self.out, "{word} {} - {}", self.number, TapText(title))?;
        Ok(())
    }

    fn diagnostics(
        &mut self,
        view: &CaseView<'_>,
        case: &Case<'_>,
        attempt: &Attempt<'_>,
    ) -> Written {
        let Attempt { outcome, duration, started: _, stdout, stderr } = *attempt;
        let attempts = view.attempts().len();
        let told = !matches!(outcome, Outcome::Passed) || !stdout.is_empty() || !stderr.is_empty();
        if !told && duration.is_none() && attempts == 1 {
            return Ok(());
        }
        self.out.write_all(b"  ---\n")?;
        match outcome {
            Outcome::Failed(failure) => self.failure(&failure, case)?,
            Outcome::Skipped(Skip { kind, reason: _ }) => self.plain("kind", kind.name())?,
            Outcome::NotRun => self.plain("kind", "not-run")?,
            Outcome::Passed => {}
        }
        if let Some(duration) = duration {
            self.plain("duration_ms", &millis(duration))?;
        }
        if attempts > 1 {
            self.plain("attempts", &attempts.to_string())?;
        }
        if view.verdict() == Verdict::Flaky {
            self.plain("flaky", "true")?;
            self.string("first_failure", summary::first_failure(view).message)?;
        }
        self.block("stdout", stdout)?;
        self.block("stderr", stderr)?;
        self.out.write_all(b"  ...\n")?;
        Ok(())
    }

    fn failure(&mut self, failure: &Failure<'_>, case: &Case<'_>) -> Written {
        let Failure { kind, message, type_name, details, stack_trace, expected, actual, location } =
            *failure;
        let (line, column) = (case.line, None);
        let file = case.id.file;
        let Location { file, line, column } = location.unwrap_or(Location { file, line, column });
        self.string("message", message)?;
        self.plain("severity", if kind.name() == "failure" { "fail" } else { "error" })?;
        self.plain("kind", kind.name())?;
        self.string("type", type_name)?;
        self.string("file", file)?;
        for (key, number) in [("line", line), ("column", column)] {
            if let Some(number) = number {
                self.plain(key, &number.to_string())?;
            }
        }
        for (key, value) in [("expected", expected), ("actual", actual)] {
            if let Some(value) = value {
                writeln!(self.out, "  {key}: {}", YamlString(value))?;
            }
        }
        self.block("details", details)?;
        self.block("stack", stack_trace)
    }

    fn outside(&mut self, outside: &Outside<'_>) -> Written {
        let Outside { cause: _, message, details, scope, source } = outside;
        self.point(false, &format!("testexec > {}", outside.name()))?;
        self.out.write_all(b"\n  ---\n")?;
        self.string("message", message)?;
        self.plain("severity", "error")?;
        self.plain("kind", outside.word())?;
        self.string("file", scope)?;
        self.string("report", source)?;
        self.block("details", details)?;
        self.out.write_all(b"  ...\n")?;
        Ok(())
    }

    /// A value of our own.
    fn plain(&mut self, key: &str, value: &str) -> Written {
        writeln!(self.out, "  {key}: {value}")?;
        Ok(())
    }

    /// A text, if there is any.
    fn string(&mut self, key: &str, value: &str) -> Written {
        if !value.is_empty() {
            writeln!(self.out, "  {key}: {}", YamlString(value))?;
        }
        Ok(())
    }

    /// A text of several lines, if there is any.
    fn block(&mut self, key: &str, value: &str) -> Written {
        if !value.is_empty() {
            writeln!(self.out, "  {key}: {}", YamlBlock(value))?;
        }
        Ok(())
    }
}

fn reason(outcome: Outcome<'_>) -> &str {
    match outcome {
        Outcome::Skipped(Skip { kind: _, reason }) => reason,
        _ => "",
    }
}

/// Milliseconds with what decimals there are.
fn millis(duration: Duration) -> String {
    let (whole, rest) = (duration.as_millis(), duration.subsec_nanos() % 1_000_000);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{rest:06}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TestRun;
    use crate::output::Options;
    use crate::output::sample::{empty, green, render, sample};

    #[test]
    fn runs_look_like_this() {
        let tap = |run: &TestRun| render(&Tap, run, Options::default());
        insta::assert_snapshot!("sample", tap(&sample()));
        insta::assert_snapshot!("empty", tap(&empty()));
        insta::assert_snapshot!("green", tap(&green()));
    }

    #[test]
    fn every_line_at_the_margin_is_ours() {
        let text = render(&Tap, &sample(), Options::default());
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("TAP version 14"));
        assert!(lines.next().unwrap().starts_with("1.."));
        let points = lines.filter(|line| !line.starts_with(' '));
        for (index, point) in points.enumerate() {
            let rest = point.strip_prefix("not ").unwrap_or(point);
            assert!(rest.starts_with(&format!("ok {} - ", index + 1)), "{point}");
        }
    }

    #[test]
    fn milliseconds_are_exact() {
        assert_eq!(millis(Duration::from_micros(1_500)), "1.5");
        assert_eq!(millis(Duration::from_millis(2)), "2");
        assert_eq!(millis(Duration::from_nanos(1)), "0.000001");
    }
}
