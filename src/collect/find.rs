//! Which files are meant by paths, folders, globs and exclusions.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use walkdir::{DirEntry, WalkDir};

/// A report to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Standard input.
    Stdin,
    /// A file that was named as such.
    Named(PathBuf),
    /// A file that a folder or a glob led to; it may turn out to be something else.
    Met(PathBuf),
}

impl Found {
    /// What it is called in reports.
    pub fn name(&self) -> String {
        match self {
            Self::Stdin => "-".to_owned(),
            Self::Named(path) | Self::Met(path) => path.to_string_lossy().into_owned(),
        }
    }
}

/// Why there is nothing to read.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// A pattern that is none.
    #[error("understand the pattern '{pattern}'")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        #[source]
        source: globset::Error,
    },
    /// Nothing is there.
    #[error("find a report at '{pattern}': {instead}")]
    Nothing {
        /// What was asked for.
        pattern: String,
        /// What is there instead.
        instead: String,
    },
    /// A report would replace what it is made from.
    #[error("write to {}: it is one of the reports to read", path.display())]
    Overwritten {
        /// The report.
        path: PathBuf,
    },
    /// Only exclusions were given.
    #[error("find a report: only exclusions were given")]
    OnlyExclusions,
}

/// What was found, in the order it was asked for, and what was not.
#[derive(Debug, Default)]
pub struct Find {
    /// The reports.
    pub found: Vec<Found>,
    /// What was asked for and is not there.
    pub missing: Vec<FindError>,
}

/// Finds the reports that `patterns` mean: paths, folders, globs, `-`, and `!` before what to leave out.
///
/// What is going to be written, `outputs`, is no report to read, unless it is named.
pub fn find(patterns: &[String], outputs: &[PathBuf]) -> Result<Find, FindError> {
    let (excluded, wanted): (Vec<_>, Vec<_>) =
        patterns.iter().partition(|pattern| pattern.starts_with('!'));
    if wanted.is_empty() {
        return Err(FindError::OnlyExclusions);
    }
    let excluded = exclusions(&excluded)?;
    let mut find = Find::default();
    let mut seen = HashSet::new();
    for pattern in wanted {
        match meant(pattern, &excluded)? {
            Ok(found) => {
                for one in found {
                    let (place, is_met) = match &one {
                        Found::Stdin => (PathBuf::from("-"), false),
                        Found::Named(path) => (absolute(path), false),
                        Found::Met(path) => (absolute(path), true),
                    };
                    let is_output = outputs.iter().any(|output| absolute(output) == place);
                    if is_output && !is_met {
                        return Err(FindError::Overwritten { path: place });
                    }
                    if !is_output && seen.insert(place) {
                        find.found.push(one);
                    }
                }
            }
            Err(nothing) => find.missing.push(nothing),
        }
    }
    Ok(find)
}

/// The path from the root of the file system, without looking at it.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn exclusions(patterns: &[&String]) -> Result<GlobSet, FindError> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let bare = normal(&pattern[1..]);
        set.add(glob(&bare)?);
        // A folder leaves out all that is in it.
        set.add(glob(&format!("{}/**", bare.trim_end_matches('/')))?);
    }
    set.build().map_err(|source| FindError::Pattern { pattern: "!".to_owned(), source })
}

fn glob(pattern: &str) -> Result<Glob, FindError> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map_err(|source| FindError::Pattern { pattern: pattern.to_owned(), source })
}

/// A pattern without the `./` that people and shells put before it.
fn normal(pattern: &str) -> String {
    let mut normal = pattern.replace("/./", "/");
    while let Some(bare) = normal.strip_prefix("./") {
        normal = bare.to_owned();
    }
    while normal.contains("//") {
        normal = normal.replace("//", "/");
    }
    normal
}

type Meant = Result<Vec<Found>, FindError>;

/// What one pattern means. A path that exists is that path, whatever characters it has.
fn meant(pattern: &str, excluded: &GlobSet) -> Result<Meant, FindError> {
    if pattern == "-" {
        return Ok(Ok(vec![Found::Stdin]));
    }
    let path = Path::new(pattern);
    if path.is_dir() {
        let found: Vec<_> =
            walk(path).filter(|path| !is_excluded(path, excluded)).map(Found::Met).collect();
        let nothing = || FindError::Nothing {
            pattern: pattern.to_owned(),
            instead: "the folder has no files in it".to_owned(),
        };
        return Ok(if found.is_empty() { Err(nothing()) } else { Ok(found) });
    }
    if path.exists() {
        let left_out = is_excluded(path, excluded);
        return Ok(Ok(if left_out { vec![] } else { vec![Found::Named(path.to_owned())] }));
    }
    if !pattern.contains(['*', '?', '[', '{']) {
        return Ok(Err(nothing_at(path)));
    }
    let matcher = glob(&normal(pattern))?.compile_matcher();
    let base = literal_base(&normal(pattern));
    let found: Vec<_> = walk(&base)
        .filter(|path| matcher.is_match(strip_dot(path)) && !is_excluded(path, excluded))
        .map(Found::Met)
        .collect();
    Ok(if found.is_empty() { Err(no_match(pattern, &base)) } else { Ok(found) })
}

fn is_excluded(path: &Path, excluded: &GlobSet) -> bool {
    !excluded.is_empty() && excluded.is_match(strip_dot(path))
}

fn strip_dot(path: &Path) -> &Path {
    path.strip_prefix(".").unwrap_or(path)
}

/// The files below a folder, in order of name. Links to folders are not followed, so there are no cycles.
fn walk(base: &Path) -> impl Iterator<Item = PathBuf> {
    WalkDir::new(base)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| !is_passed_over(entry))
        .filter_map(Result::ok)
        .filter(|entry| {
            !entry.file_type().is_dir() && (entry.file_type().is_file() || entry.path().is_file())
        })
        .map(DirEntry::into_path)
}

/// Hidden folders, those that hold other people's files, and what testexec has not finished writing.
fn is_passed_over(entry: &DirEntry) -> bool {
    let Some(name) = entry.file_name().to_str() else { return false };
    let is_folder = entry.file_type().is_dir();
    entry.depth() > 0
        && ((is_folder
            && (name.starts_with('.') || name == "node_modules" || name == "__pycache__"))
            || (name.starts_with(".testexec-") && !is_folder))
}

/// The folder a glob starts from: everything before its first special character.
fn literal_base(pattern: &str) -> PathBuf {
    let special =
        |part: &Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{']);
    let base: PathBuf = Path::new(pattern).components().take_while(|part| !special(part)).collect();
    if base.as_os_str().is_empty() { PathBuf::from(".") } else { base }
}

fn nothing_at(path: &Path) -> FindError {
    let folder =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    FindError::Nothing { pattern: path.to_string_lossy().into_owned(), instead: what_is_in(folder) }
}

fn no_match(pattern: &str, base: &Path) -> FindError {
    FindError::Nothing { pattern: pattern.to_owned(), instead: what_is_in(base) }
}

/// A few words on what a folder holds.
fn what_is_in(folder: &Path) -> String {
    let shown = folder.display();
    if !folder.exists() {
        return format!("there is no folder '{shown}'");
    }
    let looks_right = |path: &PathBuf| {
        let known = ["xml", "json", "ndjson", "jsonl", "trx", "tap"];
        path.extension().and_then(|end| end.to_str()).is_some_and(|end| known.contains(&end))
    };
    let near: Vec<_> =
        walk(folder).filter(looks_right).take(3).map(|path| path.display().to_string()).collect();
    if near.is_empty() {
        return format!("'{shown}' has no file that looks like a report");
    }
    format!("'{shown}' has {}", near.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_starts_at_its_last_literal_folder() {
        for (pattern, base) in [
            ("build/**/TEST-*.xml", "build"),
            ("*.xml", "."),
            ("/a/b?/c", "/a"),
            ("a/{b,c}.xml", "a"),
        ] {
            assert_eq!(literal_base(pattern), Path::new(base), "{pattern}");
        }
    }
}
