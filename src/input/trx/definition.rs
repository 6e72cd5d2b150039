//! The definitions of a TRX report: which class and assembly a test is from.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::event::Sink;
use crate::input::dotnet;
use crate::input::xml::Tag;

/// What is known of a test beyond its result.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Definition<'a> {
    pub(super) class: &'a str,
    pub(super) method: &'a str,
    pub(super) assembly: &'a str,
    pub(super) tags: &'a [String],
}

/// All definitions. Names that repeat are kept once.
#[derive(Default)]
pub(super) struct Definitions {
    names: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
    by_test: HashMap<u64, Kept>,
    /// The one being read.
    open: Option<(u64, Kept)>,
}

#[derive(Default)]
struct Kept {
    class: Option<u32>,
    assembly: Option<u32>,
    method: Box<str>,
    tags: Vec<String>,
}

/// The key of a test's id, which is a GUID in whatever case.
pub(super) fn key(id: &str) -> u64 {
    xxh3_64(id.trim().to_ascii_lowercase().as_bytes())
}

impl Definitions {
    /// An element inside `TestDefinitions` starts.
    pub(super) fn open(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        match tag.name {
            "TestMethod" => self.method(tag, sink),
            "TestCategoryItem" => {
                let category = tag.get("TestCategory", sink);
                if let (Some((_, kept)), Some(category)) = (&mut self.open, category) {
                    kept.tags.push(category.into_owned());
                }
            }
            name if is_test(name) => {
                let id = tag.get("id", sink).unwrap_or_default();
                let storage = tag.get("storage", sink).unwrap_or_default();
                let kept =
                    Kept { assembly: self.number(dotnet::file_name(&storage)), ..Kept::default() };
                self.open = Some((key(&id), kept));
            }
            _ => {}
        }
    }

    /// An element inside `TestDefinitions` ends.
    pub(super) fn close(&mut self, name: &str) {
        if is_test(name)
            && let Some((id, kept)) = self.open.take()
        {
            self.by_test.insert(id, kept);
        }
    }

    /// The definition of the test with this key.
    pub(super) fn get(&self, test: u64) -> Definition<'_> {
        let Some(kept) = self.by_test.get(&test) else {
            return Definition::default();
        };
        let name = |number: Option<u32>| {
            number.and_then(|number| self.names.get(number as usize)).map_or("", |name| &**name)
        };
        Definition {
            class: name(kept.class),
            method: &kept.method,
            assembly: name(kept.assembly),
            tags: &kept.tags,
        }
    }

    fn method(&mut self, tag: &Tag<'_>, sink: &mut dyn Sink) {
        let class = tag.get("className", sink).unwrap_or_default();
        // Old versions write the class with its assembly: `A.B, Shop.Tests, Version=1.0.0.0`.
        let class = class.split(',').next().unwrap_or_default().trim();
        let class = self.number(class);
        let code = tag.get("codeBase", sink).unwrap_or_default();
        let assembly = self.number(dotnet::file_name(&code));
        let method = tag.get("name", sink).unwrap_or_default();
        if let Some((_, kept)) = &mut self.open {
            kept.class = class;
            kept.assembly = assembly.or(kept.assembly);
            kept.method = method.into();
        }
    }

    fn number(&mut self, name: &str) -> Option<u32> {
        if name.is_empty() {
            return None;
        }
        if let Some(&number) = self.numbers.get(name) {
            return Some(number);
        }
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        Some(number)
    }
}

/// `UnitTest`, `GenericTest`, `OrderedTest`, …
fn is_test(name: &str) -> bool {
    name.ends_with("Test")
}
