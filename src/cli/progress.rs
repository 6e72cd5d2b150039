//! The progress bar of work that takes longer than a second.

use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::collect::Progress;

/// Shows how far `work` has got, on standard error and only if that is a terminal.
pub(super) fn watch<T: Send>(
    quiet: bool,
    total_bytes: u64,
    progress: &Progress,
    work: impl FnOnce() -> T + Send,
) -> T {
    if quiet || !std::io::stderr().is_terminal() {
        return work();
    }
    let started = Instant::now();
    std::thread::scope(|scope| {
        let worker = scope.spawn(work);
        let mut bar = None;
        while !worker.is_finished() {
            std::thread::sleep(Duration::from_millis(20));
            if started.elapsed() < Duration::from_secs(1) {
                continue;
            }
            let bar = bar.get_or_insert_with(|| new_bar(total_bytes));
            bar.set_position(progress.bytes.load(Ordering::Relaxed).min(total_bytes));
            bar.set_message(format!("{} reports", progress.reports.load(Ordering::Relaxed)));
        }
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn new_bar(total_bytes: u64) -> ProgressBar {
    let template = "reading {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {msg} eta {eta}";
    let bar = ProgressBar::new(total_bytes);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
