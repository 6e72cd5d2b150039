//! [`Identity`]: the name of a case that survives reruns, other machines and moved lines.

use std::borrow::Cow;
use std::fmt;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{CaseId, List};

/// A case's identity: framework, package or file, suite lineage, name and parameters, as XXH3.
///
/// Each part is hashed with the hash so far as its seed, so `["a", "b"]` and `["ab"]` differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(u64);

impl Identity {
    /// The identity of everything in one suite, from which [`Identity::case`] goes on.
    ///
    /// The file counts only where no package is known: `src/a.test.js` is where a case lives, but
    /// `com.acme.CartTest` stays the same when its file moves.
    pub fn suite(framework: &str, package: &str, file: &str, lineage: List<'_>) -> Self {
        let home = if package.is_empty() { file } else { package };
        let mut hash = xxh3_64_with_seed(framework.as_bytes(), 0);
        hash = xxh3_64_with_seed(home.as_bytes(), hash);
        for name in lineage.iter() {
            hash = xxh3_64_with_seed(name.as_bytes(), hash.wrapping_add(1));
        }
        Self(hash)
    }

    /// The identity of a case in this suite.
    #[must_use]
    pub fn case(self, name: &str, parameters: &str) -> Self {
        let hash = xxh3_64_with_seed(name.as_bytes(), self.0);
        if parameters.is_empty() {
            return Self(hash);
        }
        Self(xxh3_64_with_seed(parameters.as_bytes(), hash))
    }

    /// The identity of `id` in a report of `framework`.
    pub fn of(framework: &str, id: &CaseId<'_>) -> Self {
        Self::suite(framework, id.package, id.file, id.suite).case(id.name, id.parameters)
    }

    /// The hash itself.
    pub fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Writes a path the one way: `/` between parts, relative to `root`, no `./`, no `file://`.
///
/// Purely textual: nothing from a report ever touches the file system.
pub fn normalize_path<'a>(path: &'a str, root: &str) -> Cow<'a, str> {
    if path.is_empty() {
        return Cow::Borrowed(path);
    }
    let bare = path.strip_prefix("file://").unwrap_or(path);
    if !bare.contains(['\\', '%']) && !bare.starts_with(['/', '.']) && !bare.contains("//") {
        return Cow::Borrowed(bare);
    }
    let decoded = if bare.len() < path.len() { decode_percent(bare) } else { Cow::Borrowed(bare) };
    let slashed: Cow<'_, str> =
        if decoded.contains('\\') { Cow::Owned(decoded.replace('\\', "/")) } else { decoded };
    let root = root.trim_end_matches('/');
    let inside = slashed.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'));
    let relative = match inside {
        Some(rest) if !root.is_empty() => rest,
        _ => &slashed,
    };
    Cow::Owned(relative.trim_start_matches("./").to_owned())
}

fn decode_percent(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[at], hex) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 3;
            }
            (byte, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).map_or(Cow::Borrowed(text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_never_run_into_each_other() {
        let one = Identity::suite("f", "p", "", List::from(["a", "b"].as_slice()));
        let other = Identity::suite("f", "p", "", List::from(["ab"].as_slice()));
        assert_ne!(one, other);
        assert_ne!(one.case("x", "y"), one.case("xy", ""));
    }

    #[test]
    fn ids_do_not_change_between_versions() {
        let id = CaseId {
            package: "com.acme.CartTest",
            suite: List::from(["cart"].as_slice()),
            name: "adds",
            parameters: "[1]",
            ..CaseId::default()
        };
        assert_eq!(Identity::of("junit", &id).to_string(), "5f9becedc875d654");
    }

    #[test]
    fn paths_are_written_one_way() {
        for (path, expected) in [
            ("src/a.js", "src/a.js"),
            ("./src/a.js", "src/a.js"),
            ("/repo/src/a.js", "src/a.js"),
            ("/repository/a.js", "/repository/a.js"),
            ("file:///repo/src/a%20b.js", "src/a b.js"),
            ("src\\a.cs", "src/a.cs"),
            ("C:\\x\\a.cs", "C:/x/a.cs"),
        ] {
            assert_eq!(normalize_path(path, "/repo"), expected, "{path}");
        }
    }
}
