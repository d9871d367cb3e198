//! The two streams of this process, for whoever must not wait for their reader.
//!
//! A pipe that is full, a terminal that was stopped with Ctrl+S and a pager that nobody scrolls take nothing, for hours. So
//! each stream has a thread that waits in the place of the engine, and room for some lines; what has no room is left out,
//! and stands in the log file. One could get this wrong at the end: dropping the guard of a stream that is stuck waits
//! longer than anybody wants, and may even print, so that is done aside, and waited for only a moment.

use std::io::{self, Write};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};

/// Lines that may wait for one stream.
const WAITING_LINES: usize = 1_024;

/// How long the end of the process waits for lines that are on their way.
const MOMENT: Duration = Duration::from_millis(300);

static OUT: OnceLock<Stream> = OnceLock::new();
static ERR: OnceLock<Stream> = OnceLock::new();

struct Stream {
    writer: NonBlocking,
    guard: Mutex<Option<WorkerGuard>>,
}

impl Stream {
    fn to(stream: impl Write + Send + 'static) -> Self {
        let lines = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(WAITING_LINES);
        let (writer, guard) = lines.thread_name("terminal").finish(stream);
        Self { writer, guard: Mutex::new(Some(guard)) }
    }
}

/// Standard output.
pub(super) fn out() -> NonBlocking {
    OUT.get_or_init(|| Stream::to(io::stdout())).writer.clone()
}

/// Standard error.
pub(super) fn err() -> NonBlocking {
    ERR.get_or_init(|| Stream::to(io::stderr())).writer.clone()
}

/// Writes a sentence on standard error, in a line of its own, and waits for nobody to read it.
pub fn say_aside(sentence: &str) {
    // The writer takes all it is given; what has no room is left out.
    drop(err().write_all(format!("{sentence}\n").as_bytes()));
}

/// Gives what is on its way to the streams a moment when it is dropped.
pub(super) struct LastLines;

impl Drop for LastLines {
    fn drop(&mut self) {
        let guard = |stream: &OnceLock<Stream>| {
            stream.get()?.guard.lock().unwrap_or_else(PoisonError::into_inner).take()
        };
        let (written, all) = mpsc::channel::<()>();
        for guard in [&OUT, &ERR].into_iter().filter_map(guard) {
            let written = written.clone();
            let aside = thread::Builder::new().spawn(move || {
                drop(guard);
                drop(written);
            });
            drop(aside);
        }
        drop(written);
        // Nothing is ever sent: it ends when the last stream has let go, or after the moment.
        let _ = all.recv_timeout(MOMENT);
    }
}
