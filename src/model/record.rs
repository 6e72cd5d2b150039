//! [`Batch`]: where cases are kept, small enough for millions of them.
//!
//! All text of a batch is one string; a piece of it is a [`Span`] in one word. Each attempt is a
//! fixed-size record. What only some attempts have (a failure, output, tags, …) is on the *tape*: a
//! mask of the fields present, then a word for each. A case that just passed costs its name and 32 bytes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use super::run::{Note, RunError, Source};
use super::{
    Attempt, Case, CaseId, Failure, FailureKind, Identity, List, Location, Outcome, Pairs, Skip,
    SkipKind, Suite, Timestamp,
};

/// The longest text kept whole; of a longer one head and tail are kept.
pub const MAX_TEXT: usize = (1 << 24) - 1;

/// A piece of a batch's text: offset in the upper 40 bits, length in the lower 24.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span(u64);

impl Span {
    pub(super) fn from_word(word: u64) -> Self {
        Self(word)
    }

    pub(super) fn of(self, text: &str) -> &str {
        let start = (self.0 >> 24) as usize;
        text.get(start..start + (self.0 & 0xff_ffff) as usize).unwrap_or_default()
    }
}

/// A text made to fit [`MAX_TEXT`].
#[derive(Debug, PartialEq, Eq)]
pub struct Clipped<'a>(pub Cow<'a, str>);

impl<'a> Clipped<'a> {
    /// `text`, or its head and tail with the number of bytes left out between them.
    pub fn new(text: &'a str) -> Self {
        Self::to(text, MAX_TEXT)
    }

    /// As [`Clipped::new`], for another limit (of at least 100 bytes).
    pub fn to(text: &'a str, limit: usize) -> Self {
        if text.len() <= limit {
            return Self(Cow::Borrowed(text));
        }
        let keep = (limit - 80) / 2;
        let head = &text[..text.floor_char_boundary(keep)];
        let tail = &text[text.ceil_char_boundary(text.len() - keep)..];
        let left_out = text.len() - head.len() - tail.len();
        Self(Cow::Owned(format!("{head}\n[… {left_out} bytes left out …]\n{tail}")))
    }
}

const NONE: u32 = u32::MAX;

/// One attempt at a case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    name: Span,
    duration: u64,
    pub(super) suite: u32,
    line: u32,
    extra: u32,
    outcome: u8,
    pub(super) flags: u8,
}

/// The report says: another attempt at the case of the same identity.
pub(super) const AGAIN: u8 = 1;
/// Merged into an earlier record; not a case of its own.
pub(super) const MERGED: u8 = 2;
/// Later records were merged into this one.
pub(super) const HAS_MERGED: u8 = 4;
/// Not the first case of its identity.
pub(super) const REPEATED: u8 = 8;

#[derive(Clone, Debug)]
pub(super) struct SuiteRecord {
    pub(super) source: u32,
    pub(super) identity: Identity,
    package: Span,
    file: Span,
    lineage: u32,
    extra: u32,
    duration: Option<Duration>,
}

/// What may be on the tape, in tape order. Lists have their length before their words.
#[derive(Clone, Copy)]
enum Field {
    Parameters,
    Started,
    Stdout,
    Stderr,
    Message,
    TypeName,
    Details,
    StackTrace,
    Expected,
    Actual,
    File,
    Place,
    Reason,
    Tags,
    Properties,
    Attachments,
}

/// A run's worth, or part of a run's worth, of cases.
#[derive(Debug, Default)]
pub struct Batch {
    text: String,
    tape: Vec<u64>,
    index: HashMap<u64, u32>,
    pub(super) suites: Vec<SuiteRecord>,
    pub(super) records: Vec<Record>,
    /// The reports the cases came from.
    pub sources: Vec<Source>,
    /// What broke outside of any case.
    pub errors: Vec<RunError>,
    /// What was odd.
    pub notes: Vec<Note>,
}

impl Batch {
    /// Keeps one attempt. `again` means: of the case of the same identity, not of another of the same name.
    pub fn push(&mut self, case: &Case<'_>, attempt: &Attempt<'_>, again: bool) {
        let suite = self.suite_index(case.id.package, case.id.file, case.id.suite);
        let name = self.keep(case.id.name);
        let extra = self.push_extra(case, attempt);
        self.records.push(Record {
            name,
            duration: attempt.duration.map_or(u64::MAX, nanos),
            suite,
            line: case.line.unwrap_or(0),
            extra,
            outcome: outcome_code(&attempt.outcome),
            flags: if again { AGAIN } else { 0 },
        });
    }

    /// Keeps what a report says of a suite.
    pub fn push_suite(&mut self, suite: &Suite<'_>) {
        let index = self.suite_index(suite.package, suite.file, suite.lineage) as usize;
        let mut tape = self.begin();
        tape.moment(self, suite.started);
        tape.string(self, Field::Stdout, suite.stdout);
        tape.string(self, Field::Stderr, suite.stderr);
        tape.string(self, Field::Message, suite.hostname);
        tape.list(self, Field::Properties, suite.properties.flat());
        let extra = tape.end(self);
        let record = &mut self.suites[index];
        if extra != NONE {
            record.extra = extra;
        }
        record.duration = suite.duration.or(record.duration);
    }

    /// Gives back memory that is only needed while the batch grows.
    pub fn seal(&mut self) {
        self.index = HashMap::new();
        self.text.shrink_to_fit();
        self.tape.shrink_to_fit();
        self.suites.shrink_to_fit();
        self.records.shrink_to_fit();
    }

    /// The number of attempts kept.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether no attempt is kept.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn identity(&self, index: usize) -> Identity {
        let record = &self.records[index];
        let parameters = self.extra(record.extra).string(Field::Parameters).unwrap_or_default();
        self.suites[record.suite as usize].identity.case(record.name.of(&self.text), parameters)
    }

    pub(super) fn case(&self, index: usize) -> Case<'_> {
        let record = &self.records[index];
        let suite = &self.suites[record.suite as usize];
        let mut extra = self.extra(record.extra);
        Case {
            id: CaseId {
                package: suite.package.of(&self.text),
                file: suite.file.of(&self.text),
                suite: self.lineage(suite),
                name: record.name.of(&self.text),
                parameters: extra.string(Field::Parameters).unwrap_or_default(),
            },
            line: (record.line != 0).then_some(record.line),
            tags: extra.list(Field::Tags),
            properties: Pairs::new(extra.list(Field::Properties)),
            attachments: Pairs::new(extra.list(Field::Attachments)),
        }
    }

    pub(super) fn attempt(&self, index: usize) -> Attempt<'_> {
        let record = &self.records[index];
        let mut extra = self.extra(record.extra);
        let started =
            extra.word(Field::Started).map(|word| Timestamp::from_nanos(word.cast_signed()));
        let stdout = extra.string(Field::Stdout).unwrap_or_default();
        let stderr = extra.string(Field::Stderr).unwrap_or_default();
        Attempt {
            outcome: Self::outcome(record.outcome, &mut extra),
            duration: (record.duration != u64::MAX).then(|| Duration::from_nanos(record.duration)),
            started,
            stdout,
            stderr,
        }
    }

    /// The outcome without its texts, which is all that verdicts and totals need.
    pub(super) fn bare_outcome(&self, index: usize) -> Outcome<'static> {
        match self.records[index].outcome {
            0 => Outcome::Passed,
            1 => Outcome::NotRun,
            code => match FailureKind::ALL.get(usize::from(code) - 2) {
                Some(&kind) => Outcome::Failed(Failure { kind, ..Failure::default() }),
                None => Outcome::Skipped(Skip { kind: skip_kind(code), reason: "" }),
            },
        }
    }

    /// The identity of a case without parameters, and its line.
    pub(super) fn plain_id(&self, index: usize) -> (CaseId<'_>, Option<u32>) {
        let record = &self.records[index];
        let suite = &self.suites[record.suite as usize];
        let id = CaseId {
            package: suite.package.of(&self.text),
            file: suite.file.of(&self.text),
            suite: self.lineage(suite),
            name: record.name.of(&self.text),
            parameters: "",
        };
        (id, (record.line != 0).then_some(record.line))
    }

    /// Whether an attempt passed and has nothing on the tape.
    pub(super) fn is_plain_pass(&self, index: usize) -> bool {
        let record = &self.records[index];
        record.outcome == 0 && record.extra == NONE
    }

    /// How long an attempt took, in nanoseconds.
    pub(super) fn nanos(&self, index: usize) -> Option<u64> {
        Some(self.records[index].duration).filter(|&nanos| nanos != u64::MAX)
    }

    pub(super) fn suite(&self, index: usize) -> Suite<'_> {
        let record = &self.suites[index];
        let mut extra = self.extra(record.extra);
        Suite {
            package: record.package.of(&self.text),
            file: record.file.of(&self.text),
            lineage: self.lineage(record),
            started: extra
                .word(Field::Started)
                .map(|word| Timestamp::from_nanos(word.cast_signed())),
            stdout: extra.string(Field::Stdout).unwrap_or_default(),
            stderr: extra.string(Field::Stderr).unwrap_or_default(),
            hostname: extra.string(Field::Message).unwrap_or_default(),
            duration: record.duration,
            properties: Pairs::new(extra.list(Field::Properties)),
        }
    }

    fn outcome<'a>(code: u8, extra: &mut Extra<'a>) -> Outcome<'a> {
        match code {
            0 => return Outcome::Passed,
            1 => return Outcome::NotRun,
            _ => {}
        }
        let Some(&kind) = FailureKind::ALL.get(usize::from(code) - 2) else {
            let reason = extra.string(Field::Reason).unwrap_or_default();
            return Outcome::Skipped(Skip { kind: skip_kind(code), reason });
        };
        let mut failure = Failure {
            kind,
            message: extra.string(Field::Message).unwrap_or_default(),
            type_name: extra.string(Field::TypeName).unwrap_or_default(),
            details: extra.string(Field::Details).unwrap_or_default(),
            stack_trace: extra.string(Field::StackTrace).unwrap_or_default(),
            expected: extra.string(Field::Expected),
            actual: extra.string(Field::Actual),
            location: None,
        };
        if let Some(file) = extra.string(Field::File) {
            let place = extra.word(Field::Place).unwrap_or_default();
            let number = |bits: u64| (bits != 0).then_some(bits as u32);
            let (line, column) = (number(place >> 32), number(place & 0xffff_ffff));
            failure.location = Some(Location { file, line, column });
        }
        Outcome::Failed(failure)
    }

    fn suite_index(&mut self, package: &str, file: &str, lineage: List<'_>) -> u32 {
        let source = self.sources.len().saturating_sub(1) as u32;
        // Cases of one suite come one after the other.
        if let Some(last) = self.records.last().map(|record| record.suite)
            && self.is_suite(last, source, package, file, lineage)
        {
            return last;
        }
        let framework = self.sources.last().map(|source| source.framework.as_str());
        let identity = Identity::suite(framework.unwrap_or_default(), package, file, lineage);
        let mut key = identity.bits() ^ u64::from(source).rotate_right(24);
        while let Some(&index) = self.index.get(&key) {
            if self.is_suite(index, source, package, file, lineage) {
                return index;
            }
            key = key.wrapping_add(1);
        }
        let index = self.suites.len() as u32;
        self.index.insert(key, index);
        let record = SuiteRecord {
            source,
            identity,
            package: self.keep(package),
            file: self.keep(file),
            lineage: self.keep_list(lineage),
            extra: NONE,
            duration: None,
        };
        self.suites.push(record);
        index
    }

    fn is_suite(&self, at: u32, source: u32, package: &str, file: &str, lineage: List<'_>) -> bool {
        let suite = &self.suites[at as usize];
        suite.source == source
            && suite.package.of(&self.text) == package
            && suite.file.of(&self.text) == file
            && self.lineage(suite) == lineage
    }

    fn lineage(&self, suite: &SuiteRecord) -> List<'_> {
        let start = suite.lineage as usize;
        let length = self.tape[start] as usize;
        List::stored(&self.text, &self.tape[start + 1..start + 1 + length])
    }

    fn keep(&mut self, text: &str) -> Span {
        let Clipped(text) = Clipped::new(text);
        let span = Span((self.text.len() as u64) << 24 | text.len() as u64);
        self.text.push_str(&text);
        span
    }

    fn keep_list(&mut self, list: List<'_>) -> u32 {
        let start = self.tape.len() as u32;
        self.tape.push(list.len() as u64);
        for item in list.iter() {
            let span = self.keep(item);
            self.tape.push(span.0);
        }
        start
    }

    fn push_extra(&mut self, case: &Case<'_>, attempt: &Attempt<'_>) -> u32 {
        let bare = matches!(attempt.outcome, Outcome::Passed | Outcome::NotRun)
            && attempt.stdout.is_empty()
            && attempt.stderr.is_empty()
            && attempt.started.is_none()
            && case.id.parameters.is_empty()
            && case.tags.is_empty()
            && case.properties.is_empty()
            && case.attachments.is_empty();
        if bare {
            return NONE;
        }
        let mut tape = self.begin();
        tape.string(self, Field::Parameters, case.id.parameters);
        tape.moment(self, attempt.started);
        tape.string(self, Field::Stdout, attempt.stdout);
        tape.string(self, Field::Stderr, attempt.stderr);
        match &attempt.outcome {
            Outcome::Failed(failure) => tape.failure(self, failure),
            Outcome::Skipped(skip) => tape.string(self, Field::Reason, skip.reason),
            Outcome::Passed | Outcome::NotRun => {}
        }
        tape.list(self, Field::Tags, case.tags);
        tape.list(self, Field::Properties, case.properties.flat());
        tape.list(self, Field::Attachments, case.attachments.flat());
        tape.end(self)
    }

    fn begin(&mut self) -> Tape {
        self.tape.push(0);
        Tape { start: self.tape.len() - 1, mask: 0 }
    }

    fn extra(&self, at: u32) -> Extra<'_> {
        if at == NONE {
            return Extra { text: &self.text, mask: 0, words: &[] };
        }
        let at = at as usize;
        Extra { text: &self.text, mask: self.tape[at], words: &self.tape[at + 1..] }
    }
}

/// Writes one entry of the tape. Fields must come in the order of [`Field`].
struct Tape {
    start: usize,
    mask: u64,
}

impl Tape {
    fn put(&mut self, batch: &mut Batch, field: Field, word: u64) {
        self.mask |= 1 << field as u32;
        batch.tape.push(word);
    }

    fn string(&mut self, batch: &mut Batch, field: Field, text: &str) {
        if !text.is_empty() {
            self.optional(batch, field, Some(text));
        }
    }

    fn optional(&mut self, batch: &mut Batch, field: Field, text: Option<&str>) {
        if let Some(text) = text {
            let span = batch.keep(text);
            self.put(batch, field, span.0);
        }
    }

    fn moment(&mut self, batch: &mut Batch, moment: Option<Timestamp>) {
        if let Some(moment) = moment {
            self.put(batch, Field::Started, moment.nanos().cast_unsigned());
        }
    }

    fn list(&mut self, batch: &mut Batch, field: Field, list: List<'_>) {
        if !list.is_empty() {
            self.mask |= 1 << field as u32;
            batch.keep_list(list);
        }
    }

    fn failure(&mut self, batch: &mut Batch, failure: &Failure<'_>) {
        let Failure {
            kind: _,
            message,
            type_name,
            details,
            stack_trace,
            expected,
            actual,
            location,
        } = *failure;
        self.string(batch, Field::Message, message);
        self.string(batch, Field::TypeName, type_name);
        self.string(batch, Field::Details, details);
        self.string(batch, Field::StackTrace, stack_trace);
        self.optional(batch, Field::Expected, expected);
        self.optional(batch, Field::Actual, actual);
        if let Some(Location { file, line, column }) = location {
            let place = u64::from(line.unwrap_or(0)) << 32 | u64::from(column.unwrap_or(0));
            self.optional(batch, Field::File, Some(file));
            self.put(batch, Field::Place, place);
        }
    }

    fn end(self, batch: &mut Batch) -> u32 {
        if self.mask == 0 {
            batch.tape.truncate(self.start);
            return NONE;
        }
        batch.tape[self.start] = self.mask;
        self.start as u32
    }
}

/// Reads one entry of the tape. Fields must be asked for in the order of [`Field`].
struct Extra<'a> {
    text: &'a str,
    mask: u64,
    words: &'a [u64],
}

impl<'a> Extra<'a> {
    /// Moves on to `field`, past what was not asked for.
    fn seek(&mut self, field: Field) -> bool {
        let wanted = 1 << field as u32;
        while self.mask & (wanted - 1) != 0 {
            let bit = self.mask.trailing_zeros();
            let is_list = bit >= Field::Tags as u32;
            let width = if is_list { 1 + self.words[0] as usize } else { 1 };
            self.words = &self.words[width..];
            self.mask &= self.mask - 1;
        }
        let here = self.mask & wanted != 0;
        self.mask &= !wanted;
        here
    }

    fn word(&mut self, field: Field) -> Option<u64> {
        self.seek(field).then(|| {
            let (&word, rest) = self.words.split_first().unwrap_or((&0, &[]));
            self.words = rest;
            word
        })
    }

    fn string(&mut self, field: Field) -> Option<&'a str> {
        self.word(field).map(|word| Span::from_word(word).of(self.text))
    }

    fn list(&mut self, field: Field) -> List<'a> {
        let Some(length) = self.word(field) else {
            return List::EMPTY;
        };
        let (items, rest) = self.words.split_at(length as usize);
        self.words = rest;
        List::stored(self.text, items)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX - 1).min(u64::MAX - 1)
}

fn outcome_code(outcome: &Outcome<'_>) -> u8 {
    match outcome {
        Outcome::Passed => 0,
        Outcome::NotRun => 1,
        Outcome::Failed(failure) => 2 + failure.kind as u8,
        Outcome::Skipped(skip) => 6 + skip.kind as u8,
    }
}

fn skip_kind(code: u8) -> SkipKind {
    SkipKind::ALL.get(usize::from(code.saturating_sub(6))).copied().unwrap_or_default()
}
