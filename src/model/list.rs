//! [`List`]: a list of strings that may live in a reader's hands or in the store.

use std::fmt;

/// A borrowed list of strings, wherever it is kept.
#[derive(Clone, Copy)]
pub struct List<'a>(Kept<'a>);

#[derive(Clone, Copy)]
enum Kept<'a> {
    Strs(&'a [&'a str]),
    Strings(&'a [String]),
    Spans(&'a str, &'a [u64]),
}

impl<'a> List<'a> {
    /// The list with nothing in it.
    pub const EMPTY: List<'static> = List(Kept::Strs(&[]));

    pub(super) fn stored(text: &'a str, spans: &'a [u64]) -> Self {
        Self(Kept::Spans(text, spans))
    }

    /// How many strings there are.
    pub fn len(self) -> usize {
        match self.0 {
            Kept::Strs(items) => items.len(),
            Kept::Strings(items) => items.len(),
            Kept::Spans(_, spans) => spans.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The string at `index`.
    pub fn get(self, index: usize) -> Option<&'a str> {
        match self.0 {
            Kept::Strs(items) => items.get(index).copied(),
            Kept::Strings(items) => items.get(index).map(String::as_str),
            Kept::Spans(text, spans) => {
                spans.get(index).map(|&word| super::record::Span::from_word(word).of(text))
            }
        }
    }

    /// The strings in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'a str> + Clone {
        (0..self.len()).map(move |index| self.get(index).unwrap_or_default())
    }

    /// The last string.
    pub fn last(self) -> Option<&'a str> {
        self.len().checked_sub(1).and_then(|index| self.get(index))
    }

    /// The strings with `separator` between them.
    pub fn join(self, separator: &str) -> String {
        let mut joined = String::new();
        for (index, item) in self.iter().enumerate() {
            if index > 0 {
                joined.push_str(separator);
            }
            joined.push_str(item);
        }
        joined
    }
}

impl Default for List<'_> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl PartialEq for List<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for List<'_> {}

impl fmt::Debug for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> From<&'a [&'a str]> for List<'a> {
    fn from(items: &'a [&'a str]) -> Self {
        Self(Kept::Strs(items))
    }
}

impl<'a> From<&'a Vec<&'a str>> for List<'a> {
    fn from(items: &'a Vec<&'a str>) -> Self {
        Self(Kept::Strs(items))
    }
}

impl<'a> From<&'a [String]> for List<'a> {
    fn from(items: &'a [String]) -> Self {
        Self(Kept::Strings(items))
    }
}

impl<'a> From<&'a Vec<String>> for List<'a> {
    fn from(items: &'a Vec<String>) -> Self {
        Self(Kept::Strings(items))
    }
}

/// Name and value pairs, kept as one [`List`] of alternating names and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs<'a>(List<'a>);

impl<'a> Pairs<'a> {
    /// Reads `flat` as name, value, name, value, …
    pub fn new(flat: impl Into<List<'a>>) -> Self {
        Self(flat.into())
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The pairs in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = (&'a str, &'a str)> + Clone {
        let get = move |index| self.0.get(index).unwrap_or_default();
        (0..self.0.len().div_ceil(2)).map(move |pair| (get(2 * pair), get(2 * pair + 1)))
    }

    /// The alternating names and values.
    pub fn flat(self) -> List<'a> {
        self.0
    }
}
