//! Runs of every shape with texts of every sort, made from events as a reader would.

use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use testexec::event::{Event, Sink};
use testexec::model::{
    Attempt, Case, CaseId, Duplicates, Failure, FailureKind, List, Location, Note, NoteKind,
    Outcome, Pairs, RunError, RunErrorKind, Skip, SkipKind, Source, Suite, TestRun, Timestamp,
};
use testexec::recorder::Recorder;

/// Texts that were seen to break reports.
pub(crate) const HOSTILE: &[&str] = &[
    "@someone #1 owner/name#2 https://evil.test www.evil.test me@mail.test",
    "```\n# heading\n````\n~~~",
    "</testcase></details><script>alert(1)</script><!-- --> ]]> <![CDATA[ &amp; &#0; \" '",
    "a | b \\| c",
    "$x$ :tada: [^1] > [!NOTE]\n===\n---\n* _ `",
    "\u{202e}passed\u{202c} z\u{200b}w\u{feff}",
    "\u{0}\u{1b}[31mred\u{1b}[0m\u{8}\u{7f}\u{85}\u{9b}1m\u{fffe}\u{ffff}\u{1fffe}",
    "before\u{1b}]0;title\nAFTER\u{1b}P1;\u{9d}x",
    "tab\there\r\nand\rthere\n",
    "::error::x ##[group]y ##vso[z]",
    "1..0 # SKIP all\nBail out!\nnot ok 1\n  ...\n  ---",
    "\u{e000}0\u{e001} \u{e000}999\u{e001} \u{e000}",
    "testexec.verdict",
    "testexec.run-error.build",
    "testexec.timeout",
    "tag",
    "attachment",
    "own rerun other",
    "%3D=%25=",
    "Traceback (most recent call last):\n  File \"a.py\", line 3\n",
    "expected: <1> but was: <2>",
    "Größe 漢字 👩\u{200d}🔬",
];

pub(crate) fn text() -> impl Strategy<Value = String> {
    let any_text = vec(any::<char>(), 0..6).prop_map(String::from_iter);
    let pieces = prop_oneof![select(HOSTILE).prop_map(str::to_owned), any_text];
    prop_oneof![
        3 => Just(String::new()),
        3 => "[a-z]{1,6}( [a-z]{1,6})?",
        2 => select(HOSTILE).prop_map(str::to_owned),
        2 => vec(pieces, 1..4).prop_map(|pieces| pieces.concat()),
    ]
}

/// A case with its attempts, owned.
#[derive(Clone, Debug)]
pub(crate) struct CasePlan {
    home: usize,
    name: String,
    parameters: String,
    line: Option<u32>,
    tags: Vec<String>,
    properties: Vec<(String, String)>,
    attachments: Vec<(String, String)>,
    attempts: Vec<AttemptPlan>,
}

#[derive(Clone, Debug)]
struct AttemptPlan {
    outcome: OutcomePlan,
    duration: Option<u64>,
    started: Option<i64>,
    stdout: String,
    stderr: String,
}

#[derive(Clone, Debug)]
enum OutcomePlan {
    Passed,
    NotRun,
    Skipped(SkipKind, String),
    Failed(FailurePlan),
}

#[derive(Clone, Debug)]
struct FailurePlan {
    kind: FailureKind,
    texts: [String; 4],
    values: [Option<String>; 2],
    location: Option<(String, u32, u32)>,
}

/// A suite: package, file, lineage, and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    package: String,
    file: String,
    lineage: Vec<String>,
    facts: Option<(String, Option<i64>, Option<u64>)>,
    properties: Vec<(String, String)>,
    output: [String; 2],
}

/// A run of one report.
#[derive(Clone, Debug)]
pub(crate) struct RunPlan {
    homes: Vec<Home>,
    cases: Vec<CasePlan>,
    errors: Vec<(RunErrorKind, [String; 3])>,
    missing: u64,
}

fn pairs() -> impl Strategy<Value = Vec<(String, String)>> {
    vec((text(), text()), 0..3)
}

fn nanos() -> impl Strategy<Value = Option<u64>> {
    option::of(prop_oneof![0..10_u64, 0..4_000_000_000_000_000_u64])
}

fn moment() -> impl Strategy<Value = Option<i64>> {
    option::of(-4_000_000_000_000_000_000..4_000_000_000_000_000_000_i64)
}

fn outcome() -> impl Strategy<Value = OutcomePlan> {
    let failure = (
        select(&FailureKind::ALL[..]),
        [text(), text(), text(), text()],
        [option::of(text()), option::of(text())],
        option::of((text(), 0..99_u32, 0..9_u32)),
    );
    let failed = failure.prop_map(|(kind, texts, values, location)| {
        OutcomePlan::Failed(FailurePlan { kind, texts, values, location })
    });
    prop_oneof![
        3 => Just(OutcomePlan::Passed),
        1 => Just(OutcomePlan::NotRun),
        1 => (select(&SkipKind::ALL[..]), text()).prop_map(|(kind, reason)| OutcomePlan::Skipped(kind, reason)),
        4 => failed,
    ]
}

fn attempt() -> impl Strategy<Value = AttemptPlan> {
    (outcome(), nanos(), moment(), text(), text()).prop_map(
        |(outcome, duration, started, stdout, stderr)| AttemptPlan {
            outcome,
            duration,
            started,
            stdout,
            stderr,
        },
    )
}

fn case() -> impl Strategy<Value = CasePlan> {
    let attempts = prop_oneof![2 => vec(attempt(), 1), 1 => vec(attempt(), 2..5)];
    let facts = (0..99_usize, text(), text(), option::of(1..999_u32));
    (facts, vec(text(), 0..3), pairs(), pairs(), attempts).prop_map(
        |((home, name, parameters, line), tags, properties, attachments, attempts)| CasePlan {
            home,
            name,
            parameters,
            line,
            tags,
            properties,
            attachments,
            attempts,
        },
    )
}

fn home() -> impl Strategy<Value = Home> {
    let facts = option::of((text(), moment(), nanos()));
    (text(), text(), vec(text(), 0..4), facts, pairs(), [text(), text()]).prop_map(
        |(package, file, lineage, facts, properties, output)| Home {
            package,
            file,
            lineage,
            facts,
            properties,
            output,
        },
    )
}

/// Any run of one report.
pub(crate) fn run_plan() -> impl Strategy<Value = RunPlan> {
    let error = (select(&RunErrorKind::ALL[..]), [text(), text(), text()]);
    (vec(home(), 1..4), vec(case(), 0..6), vec(error, 0..3), prop_oneof![Just(0), 0..9_u64])
        .prop_map(|(homes, cases, errors, missing)| RunPlan { homes, cases, errors, missing })
}

fn flat(pairs: &[(String, String)]) -> Vec<&str> {
    pairs.iter().flat_map(|(name, value)| [name.as_str(), value]).collect()
}

impl RunPlan {
    /// The run, as the recorder makes it.
    pub(crate) fn record(&self) -> TestRun {
        let mut recorder = Recorder::new("/builds");
        recorder.begin_report(Source {
            path: "report".to_owned(),
            framework: "pytest".to_owned(),
            ..Source::default()
        });
        for case in &self.cases {
            case.say(&self.homes[case.home % self.homes.len()], &mut recorder);
        }
        for home in &self.homes {
            home.say(&mut recorder);
        }
        for (kind, [message, details, scope]) in &self.errors {
            let error = RunError::new(*kind, message).with_details(details);
            recorder.error(error.in_scope(scope));
        }
        recorder.note(Note::new(NoteKind::Message, HOSTILE[0]));
        let mut run = TestRun::new(vec![recorder.into_batch()], Duplicates::Separate);
        run.missing = self.missing;
        run
    }
}

impl Home {
    fn say(&self, recorder: &mut Recorder) {
        let Some((hostname, started, duration)) = &self.facts else {
            return;
        };
        let properties = flat(&self.properties);
        recorder.event(&Event::Suite(Suite {
            package: &self.package,
            file: &self.file,
            lineage: List::from(&self.lineage),
            hostname,
            started: started.map(Timestamp::from_nanos),
            duration: duration.map(Duration::from_nanos),
            properties: Pairs::new(&properties),
            stdout: &self.output[0],
            stderr: &self.output[1],
        }));
    }
}

impl CasePlan {
    fn say(&self, home: &Home, recorder: &mut Recorder) {
        let (properties, attachments) = (flat(&self.properties), flat(&self.attachments));
        let case = Case {
            id: CaseId {
                package: &home.package,
                file: &home.file,
                suite: List::from(&home.lineage),
                name: &self.name,
                parameters: &self.parameters,
            },
            line: self.line,
            tags: List::from(&self.tags),
            properties: Pairs::new(&properties),
            attachments: Pairs::new(&attachments),
        };
        for (index, attempt) in self.attempts.iter().enumerate() {
            recorder.event(&Event::CaseFinished {
                case,
                attempt: attempt.attempt(),
                again: index > 0,
            });
        }
    }
}

impl AttemptPlan {
    fn attempt(&self) -> Attempt<'_> {
        let outcome = match &self.outcome {
            OutcomePlan::Passed => Outcome::Passed,
            OutcomePlan::NotRun => Outcome::NotRun,
            OutcomePlan::Skipped(kind, reason) => Outcome::Skipped(Skip { kind: *kind, reason }),
            OutcomePlan::Failed(plan) => Outcome::Failed(plan.failure()),
        };
        Attempt {
            outcome,
            duration: self.duration.map(Duration::from_nanos),
            started: self.started.map(Timestamp::from_nanos),
            stdout: &self.stdout,
            stderr: &self.stderr,
        }
    }
}

impl FailurePlan {
    fn failure(&self) -> Failure<'_> {
        let [message, type_name, details, stack_trace] = &self.texts;
        let [expected, actual] = &self.values;
        let number = |number: u32| (number > 0).then_some(number);
        Failure {
            kind: self.kind,
            message,
            type_name,
            details,
            stack_trace,
            expected: expected.as_deref(),
            actual: actual.as_deref(),
            location: self.location.as_ref().map(|(file, line, column)| Location {
                file,
                line: number(*line),
                column: number(*column),
            }),
        }
    }
}
