//! Non-blocking standard output and standard error.
//!
//! A full pipe, a terminal stopped with Ctrl+S or an idle pager may block writes for hours. So each stream has a
//! writer thread and a bounded buffer; lines beyond the buffer are dropped and remain in the log file. Pitfall:
//! dropping the guard of a blocked stream blocks too, so that happens on another thread with a short timeout.

use std::io::{self, Write};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};

/// Buffered lines per stream.
const WAITING_LINES: usize = 1_024;

/// How long the end of the process waits for buffered lines.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(300);

static OUT: OnceLock<TerminalStream> = OnceLock::new();
static ERR: OnceLock<TerminalStream> = OnceLock::new();

struct TerminalStream {
    writer: NonBlocking,
    guard: Mutex<Option<WorkerGuard>>,
}

impl TerminalStream {
    fn to(stream: impl Write + Send + 'static) -> Self {
        let lines = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(WAITING_LINES);
        let (writer, guard) = lines.thread_name("terminal").finish(stream);
        Self { writer, guard: Mutex::new(Some(guard)) }
    }
}

/// Standard output.
pub(super) fn out() -> NonBlocking {
    OUT.get_or_init(|| TerminalStream::to(io::stdout())).writer.clone()
}

/// Standard error.
pub(super) fn err() -> NonBlocking {
    ERR.get_or_init(|| TerminalStream::to(io::stderr())).writer.clone()
}

/// Prints a line on standard error without blocking.
pub fn print_error_line(sentence: &str) {
    // The writer accepts everything; lines beyond the buffer are dropped.
    drop(err().write_all(format!("{sentence}\n").as_bytes()));
}

/// Flushes the streams for a moment on drop.
pub(super) struct TerminalFlush;

impl Drop for TerminalFlush {
    fn drop(&mut self) {
        let guard = |stream: &OnceLock<TerminalStream>| {
            stream.get()?.guard.lock().unwrap_or_else(PoisonError::into_inner).take()
        };
        let (written, all) = mpsc::channel::<()>();
        for guard in [&OUT, &ERR].into_iter().filter_map(guard) {
            let written = written.clone();
            let thread = thread::Builder::new().spawn(move || {
                drop(guard);
                drop(written);
            });
            drop(thread);
        }
        drop(written);
        // Nothing is sent: the channel closes after the last stream, or the timeout ends the wait.
        let _ = all.recv_timeout(FLUSH_TIMEOUT);
    }
}
