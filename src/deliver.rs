//! Puts bytes where they belong, whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Why a report could not be put where it belongs.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The place is not one that a file can be put at.
    #[error("write to {}: it is {what}", path.display())]
    NotAFile {
        /// The place.
        path: PathBuf,
        /// What it is instead.
        what: &'static str,
    },
    /// The operating system said no.
    #[error("write {}", path.display())]
    Io {
        /// The place.
        path: PathBuf,
        /// What it said.
        #[source]
        source: io::Error,
    },
}

/// A file that appears under its name only when it is whole.
pub struct AtomicFile {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl AtomicFile {
    /// Starts a file. It is made beside its final place, so that the last step cannot cross file systems.
    pub fn create(path: &Path) -> Result<Self, DeliverError> {
        let fail = |source| DeliverError::Io { path: path.to_owned(), source };
        refuse_special(path)?;
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(folder).map_err(fail)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".testexec-").suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Less what the umask takes away, like any other file.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder).map_err(fail)?;
        Ok(Self { path: path.to_owned(), file: BufWriter::with_capacity(256 << 10, file) })
    }

    /// Puts the file in its place.
    pub fn commit(self) -> Result<(), DeliverError> {
        let Self { path, file } = self;
        let fail = |source: io::Error| DeliverError::Io { path: path.clone(), source };
        let file = file.into_inner().map_err(|error| fail(error.into_error()))?;
        file.as_file().sync_all().map_err(fail)?;
        file.persist(&path).map_err(|error| fail(error.error))?;
        sync_folder(&path);
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Refuses what a report must not replace or block on: folders, pipes, devices, links.
fn refuse_special(path: &Path) -> Result<(), DeliverError> {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    let kind = metadata.file_type();
    let what = if kind.is_dir() {
        "a folder"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_file() {
        return Ok(());
    } else {
        "no regular file"
    };
    Err(DeliverError::NotAFile { path: path.to_owned(), what })
}

/// Makes the rename itself durable, where the system can.
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
        // A folder that cannot be synced is as good as it gets.
        let _ = folder.sync_all();
    }
}
