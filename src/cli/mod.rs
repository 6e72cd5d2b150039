//! The commands; the only module that prints.
