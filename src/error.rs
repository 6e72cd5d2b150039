//! What can go wrong with testexec itself, and what it exits with.

use std::process::ExitCode;

use crate::collect::FindError;
use crate::deliver::DeliverError;
use crate::judge::Judgement;
use crate::output::RenderError;

/// Why testexec could not do its job. Each message completes "could not …".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reports could not be found.
    #[error(transparent)]
    Find(#[from] FindError),
    /// A report could not be put where it belongs.
    #[error(transparent)]
    Deliver(#[from] DeliverError),
    /// A report could not be written.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The arguments do not go together.
    #[error("{what}")]
    Usage {
        /// What cannot be done.
        what: String,
        /// What to do instead.
        hint: String,
    },
}

impl Error {
    /// What to do about it, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Usage { hint, .. } => Some(hint.clone()),
            Self::Find(FindError::OnlyExclusions) => {
                Some("name the reports to read as well, such as 'build/**/*.xml'".to_owned())
            }
            Self::Deliver(DeliverError::NotAFile { .. }) => {
                Some("give the report a file of its own".to_owned())
            }
            _ => None,
        }
    }
}

/// What testexec exits with. Documented, so it does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// It did its job. For `run`: tests ran and passed.
    Success,
    /// It could not do its job.
    Failure,
    /// What the run amounts to.
    Judged(Judgement),
}

impl ExitStatus {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 2,
            Self::Judged(judgement) => judgement.exit_code(),
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        ExitCode::from(status.code())
    }
}
