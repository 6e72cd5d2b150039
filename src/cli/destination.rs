//! Where reports go: standard output, a device, or a file that appears when it is whole.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::deliver::{AtomicFile, DeliverError};
use crate::error::Error;
use crate::output::{self, Report};

use super::args::OutputArg;

/// A report that is going to be written, with its place already secured.
pub(super) struct Destination {
    pub(super) format: &'static str,
    to: To,
}

enum To {
    Stdout,
    Device(File),
    File(Box<AtomicFile>),
}

impl Destination {
    /// Secures the place now, so that a bad path fails before any work is done.
    pub(super) fn prepare(output: &OutputArg) -> Result<Self, DeliverError> {
        let to = match &output.path {
            None => To::Stdout,
            Some(path) if path == Path::new("/dev/stdout") => To::Stdout,
            Some(path) if is_device(path) => {
                let open = File::options().write(true).open(path);
                To::Device(open.map_err(|source| DeliverError::Io { path: path.clone(), source })?)
            }
            Some(path) => To::File(Box::new(AtomicFile::create(path)?)),
        };
        Ok(Self { format: output.format, to })
    }

    pub(super) fn is_stdout(&self) -> bool {
        matches!(self.to, To::Stdout)
    }

    /// Writes the report and puts it in its place.
    pub(super) fn write(self, report: &Report<'_>) -> Result<(), Error> {
        let Some(format) = output::format(self.format) else {
            return Ok(());
        };
        match self.to {
            To::Stdout => {
                let mut out = BufWriter::with_capacity(256 << 10, io::stdout().lock());
                let rendered = format.render(report, &mut out);
                let flushed = out.flush();
                match rendered {
                    Err(output::RenderError::Io(error)) if is_broken_pipe(&error) => Ok(()),
                    Err(error) => Err(error.into()),
                    Ok(()) => Ok(ignore_broken_pipe(flushed).map_err(output::RenderError::Io)?),
                }
            }
            To::Device(file) => {
                let mut out = BufWriter::with_capacity(256 << 10, file);
                format.render(report, &mut out)?;
                Ok(out.flush().map_err(output::RenderError::Io)?)
            }
            To::File(mut file) => {
                format.render(report, &mut *file)?;
                Ok(file.commit()?)
            }
        }
    }
}

/// Whoever reads our output may stop when it has seen enough.
pub(super) fn ignore_broken_pipe(result: io::Result<()>) -> io::Result<()> {
    result.or_else(|error| if is_broken_pipe(&error) { Ok(()) } else { Err(error) })
}

fn is_broken_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

#[cfg(unix)]
fn is_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata().is_ok_and(|metadata| metadata.file_type().is_char_device())
}

#[cfg(not(unix))]
fn is_device(_path: &Path) -> bool {
    false
}
