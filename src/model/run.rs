//! [`TestRun`]: everything known about one run.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::record::{AGAIN, HAS_MERGED, MERGED, REPEATED};
use super::{Attempt, Batch, Case, CaseId, Identity, Outcome, Suite, Timestamp, Verdict};

/// One run: cases with their attempts, and what happened around them. Facts only.
#[derive(Debug, Default)]
pub struct TestRun {
    batches: Vec<Batch>,
    /// Attempts merged into the case they belong to, in order.
    merged: HashMap<At, Vec<At>>,
    /// The how-manieth case of its identity this is, where that is not the first.
    occurrences: HashMap<At, u32>,
    /// How the test process ended, where there was one.
    pub ending: Option<Ending>,
    /// When the run started.
    pub started: Option<Timestamp>,
    /// How long the run took on the clock.
    pub duration: Option<Duration>,
    /// How many cases were announced and neither ran nor were named.
    pub missing: u64,
}

/// Where an attempt's record is: batch and index.
type At = (u32, u32);

/// A report that cases came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Its path, or `-` for standard input.
    pub path: String,
    /// The name of the format it was read as, or nothing if none fits.
    pub format: String,
    /// The framework that made it, as far as that is known.
    pub framework: String,
    /// How far it can be trusted.
    pub grade: Grade,
    /// How many notes about it were left out for being too many.
    pub notes_left_out: u64,
}

/// How a result was come by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// From a reporter or a report file.
    #[default]
    Structured,
    /// From output meant for people.
    Text,
    /// From the exit code, since nothing else was there.
    ExitCode,
}

impl Grade {
    /// The word for it in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Structured => "structured",
            Self::Text => "text",
            Self::ExitCode => "exit-code",
        }
    }
}

/// How a test process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which testexec did not send.
    Signaled(i32),
    /// Stopped by testexec at the time limit.
    TimedOut,
    /// Stopped because testexec itself got this signal.
    Interrupted(i32),
}

/// Something that broke outside of any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError {
    /// What sort of thing broke.
    pub kind: RunErrorKind,
    /// What happened.
    pub message: String,
    /// The text the framework gave with it.
    pub details: String,
    /// The package or file it happened in, where that is known.
    pub scope: String,
    /// The report it is about, or nothing if it is about the run.
    pub source: String,
}

impl RunError {
    /// An error about the run as a whole.
    pub fn new(kind: RunErrorKind, message: impl Into<String>) -> Self {
        let (details, scope, source) = (String::new(), String::new(), String::new());
        Self { kind, message: message.into(), details, scope, source }
    }

    /// The same with the framework's own text.
    #[must_use]
    pub fn with_details(self, details: impl Into<String>) -> Self {
        Self { details: details.into(), ..self }
    }

    /// The same with the package or file it happened in.
    #[must_use]
    pub fn in_scope(self, scope: impl Into<String>) -> Self {
        Self { scope: scope.into(), ..self }
    }
}

/// The sorts of run error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunErrorKind {
    /// The code under test or its tests did not compile.
    Build,
    /// A test file could not be loaded or collected.
    Load,
    /// A set-up or tear-down step outside of any case failed.
    Setup,
    /// The tests gave up by themselves (TAP's `Bail out!`).
    BailOut,
    /// A process died.
    Crash,
    /// A time limit ran out outside of any case.
    Timeout,
    /// Two sources say opposite things.
    Contradiction,
    /// A report is truncated, empty, unreadable or no test report at all.
    Report,
    /// testexec itself did something wrong.
    Internal,
}

impl RunErrorKind {
    /// Every kind, in the order of the enum.
    pub const ALL: [Self; 9] = [
        Self::Build,
        Self::Load,
        Self::Setup,
        Self::BailOut,
        Self::Crash,
        Self::Timeout,
        Self::Contradiction,
        Self::Report,
        Self::Internal,
    ];

    /// The word for it in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Load => "load",
            Self::Setup => "setup",
            Self::BailOut => "bail-out",
            Self::Crash => "crash",
            Self::Timeout => "timeout",
            Self::Contradiction => "contradiction",
            Self::Report => "report",
            Self::Internal => "internal",
        }
    }

    /// The kind a report's word stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether it means that a report could not be read as it should.
    pub fn is_unreadable(self) -> bool {
        matches!(self, Self::Report | Self::Internal)
    }
}

/// Something odd, and how it was read. Never changes a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What sort of oddity.
    pub kind: NoteKind,
    /// What was odd and what became of it.
    pub message: String,
    /// The report it is about.
    pub source: String,
}

impl Note {
    /// A note; the recorder fills in the report.
    pub fn new(kind: NoteKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: String::new() }
    }
}

/// The sorts of note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoteKind {
    /// Bytes that are not text in the encoding they claim.
    Encoding,
    /// Markup or syntax that was repaired.
    Syntax,
    /// A value that makes no sense and was left out.
    Value,
    /// A count in the report that its own cases contradict.
    Count,
    /// Several cases of one identity.
    Duplicate,
    /// Lines or members that are none of the format's.
    Noise,
    /// Something was cut or left out for its size or number.
    Limit,
    /// A file that holds no test results and was passed over.
    Ignored,
    /// The format does not mark its end: whether the report is whole cannot be known.
    Unended,
    /// Something the framework said that belongs to no case.
    Message,
}

impl NoteKind {
    /// The word for it in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Encoding => "encoding",
            Self::Syntax => "syntax",
            Self::Value => "value",
            Self::Count => "count",
            Self::Duplicate => "duplicate",
            Self::Noise => "noise",
            Self::Limit => "limit",
            Self::Ignored => "ignored",
            Self::Unended => "unended",
            Self::Message => "message",
        }
    }

    /// The kind a report's word stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Encoding,
            Self::Syntax,
            Self::Value,
            Self::Count,
            Self::Duplicate,
            Self::Noise,
            Self::Limit,
            Self::Ignored,
            Self::Unended,
            Self::Message,
        ]
        .into_iter()
        .find(|kind| kind.name() == name)
    }
}

/// What several results of one identity are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// Different cases: a parameter that shows in no name. Nothing is merged away.
    #[default]
    Separate,
    /// Attempts at one case.
    Retries,
}

impl TestRun {
    /// The run made of these batches, in this order. Finds duplicates and merges attempts.
    pub fn new(batches: Vec<Batch>, duplicates: Duplicates) -> Self {
        let mut run = Self { batches, ..Self::default() };
        run.settle(duplicates);
        run
    }

    /// All cases, in the order they were first heard of.
    pub fn cases(&self) -> impl Iterator<Item = CaseView<'_>> {
        self.cases_in(0..self.batches.iter().map(Batch::len).sum())
    }

    /// The cases whose records are in this range of all records, so that work can be split.
    pub fn cases_in(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = CaseView<'_>> {
        let mut start = 0;
        let spans = self.batches.iter().enumerate().map(move |(number, batch)| {
            let local = range.start.saturating_sub(start).min(batch.len())
                ..range.end.saturating_sub(start).min(batch.len());
            start += batch.len();
            (number, batch, local)
        });
        spans.flat_map(move |(number, batch, local)| {
            local
                .filter(|&index| batch.records[index].flags & MERGED == 0)
                .map(move |index| CaseView { run: self, batch, at: (number as u32, index as u32) })
        })
    }

    /// How many records [`TestRun::cases_in`] can be asked for.
    pub fn record_count(&self) -> usize {
        self.batches.iter().map(Batch::len).sum()
    }

    /// What the reports say of suites, with the report each is from.
    pub fn suites(&self) -> impl Iterator<Item = (&Source, Suite<'_>)> {
        self.batches.iter().flat_map(|batch| {
            (0..batch.suites.len()).map(|index| {
                (&batch.sources[batch.suites[index].source as usize], batch.suite(index))
            })
        })
    }

    /// As [`TestRun::suites`], each with the [`CaseView::suite_key`] of its cases.
    pub fn keyed_suites(&self) -> impl Iterator<Item = ((u32, u32), &Source, Suite<'_>)> {
        self.batches.iter().enumerate().flat_map(|(number, batch)| {
            batch.suites.iter().enumerate().map(move |(index, record)| {
                (
                    (number as u32, index as u32),
                    &batch.sources[record.source as usize],
                    batch.suite(index),
                )
            })
        })
    }

    /// The reports it was read from.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.batches.iter().flat_map(|batch| &batch.sources)
    }

    /// What broke outside of any case.
    pub fn errors(&self) -> impl Iterator<Item = &RunError> {
        self.batches.iter().flat_map(|batch| &batch.errors)
    }

    /// What was odd.
    pub fn notes(&self) -> impl Iterator<Item = &Note> {
        self.batches.iter().flat_map(|batch| &batch.notes)
    }

    /// Adds an error about the run as a whole.
    pub fn add_error(&mut self, error: RunError) {
        if self.batches.is_empty() {
            self.batches.push(Batch::default());
        }
        if let Some(batch) = self.batches.last_mut() {
            batch.errors.push(error);
        }
    }

    /// Adds a note about the run as a whole.
    pub fn add_note(&mut self, note: Note) {
        if self.batches.is_empty() {
            self.batches.push(Batch::default());
        }
        if let Some(batch) = self.batches.last_mut() {
            batch.notes.push(note);
        }
    }

    /// The lowest grade among its reports.
    pub fn grade(&self) -> Grade {
        self.sources().map(|source| source.grade).max().unwrap_or_default()
    }

    fn settle(&mut self, duplicates: Duplicates) {
        let maybe_repeated = self.maybe_repeated();
        if maybe_repeated.is_empty() {
            return;
        }
        let mut heads: HashMap<Identity, (At, u32)> = HashMap::with_capacity(maybe_repeated.len());
        for number in 0..self.batches.len() {
            for index in 0..self.batches[number].len() {
                let identity = self.batches[number].identity(index);
                if !maybe_repeated.contains(&identity) {
                    continue;
                }
                let at = (number as u32, index as u32);
                let Some((head, count)) = heads.get_mut(&identity) else {
                    heads.insert(identity, (at, 1));
                    continue;
                };
                let record = &mut self.batches[number].records[index];
                if record.flags & AGAIN != 0 || duplicates == Duplicates::Retries {
                    record.flags |= MERGED;
                    self.merged.entry(*head).or_default().push(at);
                    let (batch, index) = *head;
                    self.batches[batch as usize].records[index as usize].flags |= HAS_MERGED;
                } else {
                    record.flags |= REPEATED;
                    *count += 1;
                    self.occurrences.insert(at, *count);
                    *head = at;
                }
            }
        }
        // A report that testexec wrote says so already.
        let is_known = self.notes().any(|note| note.kind == NoteKind::Duplicate);
        let Some(&(batch, index)) = self.occurrences.keys().min().filter(|_| !is_known) else {
            return;
        };
        let view = CaseView { run: self, batch: &self.batches[batch as usize], at: (batch, index) };
        let source = view.source().path.clone();
        let message = format!(
            "{} results share the name of an earlier one and stay cases of their own (#2, #3, …); \
             --duplicates=retries reads them as attempts",
            self.occurrences.len()
        );
        self.add_note(Note { kind: NoteKind::Duplicate, message, source });
    }

    /// The identities that more than one record has, and a few that just look alike.
    ///
    /// Millions of records do not fit a hash set twice over, so a bit per possible hash first sorts out
    /// those that are surely alone.
    fn maybe_repeated(&self) -> HashSet<Identity> {
        let bits = (self.record_count() * 32).next_power_of_two().max(64);
        let mut seen = vec![0_u64; bits / 64];
        let mut candidates = HashSet::new();
        for batch in &self.batches {
            for index in 0..batch.len() {
                let identity = batch.identity(index);
                let bit = identity.bits() as usize & (bits - 1);
                if seen[bit / 64] >> (bit % 64) & 1 == 1 {
                    candidates.insert(identity);
                }
                seen[bit / 64] |= 1 << (bit % 64);
            }
        }
        candidates
    }
}

/// A case of a run, with its attempts.
#[derive(Clone, Copy, Debug)]
pub struct CaseView<'a> {
    run: &'a TestRun,
    batch: &'a Batch,
    at: At,
}

impl<'a> CaseView<'a> {
    /// The case itself.
    pub fn case(&self) -> Case<'a> {
        self.batch.case(self.at.1 as usize)
    }

    /// The report it is from.
    pub fn source(&self) -> &'a Source {
        let suite = self.batch.records[self.at.1 as usize].suite;
        &self.batch.sources[self.batch.suites[suite as usize].source as usize]
    }

    /// A number that cases of the same suite share, and no other suite of the same batch.
    pub fn suite_key(&self) -> (u32, u32) {
        (self.at.0, self.batch.records[self.at.1 as usize].suite)
    }

    /// What the report says of its suite.
    pub fn suite(&self) -> Suite<'a> {
        self.batch.suite(self.batch.records[self.at.1 as usize].suite as usize)
    }

    /// Its identity, the same in every run.
    pub fn identity(&self) -> Identity {
        self.batch.identity(self.at.1 as usize)
    }

    /// The how-manieth case of its identity it is, from 1.
    pub fn occurrence(&self) -> u32 {
        if self.flags() & REPEATED == 0 {
            return 1;
        }
        self.run.occurrences.get(&self.at).copied().unwrap_or(1)
    }

    /// How it went, if it passed at the only attempt and nothing else is known of it than its duration:
    /// by far the most common case.
    pub fn plain_pass(&self) -> Option<Duration> {
        let index = self.at.1 as usize;
        let plain = self.flags() & HAS_MERGED == 0 && self.batch.is_plain_pass(index);
        plain.then(|| Duration::from_nanos(self.batch.nanos(index).unwrap_or(0)))
    }

    /// Who a case is that has nothing on the tape, and the line it is on.
    pub fn plain_id(&self) -> (CaseId<'a>, Option<u32>) {
        self.batch.plain_id(self.at.1 as usize)
    }

    /// The attempts, in order. Never empty.
    pub fn attempts(&self) -> impl ExactSizeIterator<Item = Attempt<'a>> + use<'a> {
        let (run, own) = (self.run, self.at);
        let further = self.merged();
        let count = further.len() + 1;
        (0..count).map(move |number| {
            let (batch, index) = if number == 0 { own } else { further[number - 1] };
            run.batches[batch as usize].attempt(index as usize)
        })
    }

    /// The attempt whose outcome stands for the case: the last that decided the verdict.
    pub fn deciding_attempt(&self) -> Attempt<'a> {
        let verdict = self.verdict();
        let decides = |attempt: &Attempt<'_>| match (verdict, attempt.outcome) {
            (Verdict::Passed | Verdict::Flaky, Outcome::Passed)
            | (Verdict::Skipped(_), Outcome::Skipped(_))
            | (Verdict::NotRun, Outcome::NotRun) => true,
            (Verdict::Failed(worst), Outcome::Failed(failure)) => failure.kind == worst,
            _ => false,
        };
        self.attempts().filter(decides).last().unwrap_or_default()
    }

    /// How long all its attempts took together, in nanoseconds.
    pub fn nanos(&self) -> u64 {
        let of = |&(batch, index): &At| self.run.batches[batch as usize].nanos(index as usize);
        let own = of(&self.at).unwrap_or(0);
        self.merged().iter().filter_map(of).fold(own, u64::saturating_add)
    }

    fn flags(&self) -> u8 {
        self.batch.records[self.at.1 as usize].flags
    }

    /// Where the further attempts are. Most cases have none, and no look-up to find that out.
    fn merged(&self) -> &'a [At] {
        if self.flags() & HAS_MERGED == 0 {
            return &[];
        }
        self.run.merged.get(&self.at).map_or(&[], Vec::as_slice)
    }

    /// What all attempts amount to.
    pub fn verdict(&self) -> Verdict {
        let own = self.batch.bare_outcome(self.at.1 as usize);
        let further = self.run.merged.get(&self.at).map_or(&[][..], Vec::as_slice);
        let others = further
            .iter()
            .map(|&(batch, index)| self.run.batches[batch as usize].bare_outcome(index as usize));
        Verdict::of(std::iter::once(own).chain(others))
    }
}
