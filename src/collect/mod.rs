//! Report files in: finds them, reads them side by side, and keeps their order.

mod find;
mod read;

pub use find::{Find, FindError, Found, find};
pub use read::{Progress, ReadOptions, read_all};
