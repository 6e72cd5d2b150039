//! The `testexec` command.

fn main() {}
