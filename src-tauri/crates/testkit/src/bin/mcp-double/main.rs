//! A real MCP server over stdio, with faults on demand.
//!
//! `mcp-double --stdio [--fault NAME]… [--version TEXT] [--notes FILE]`
//!
//! Owns the protocol of 2025-11-25, the tools below, and the faults. Blocks on its input; there is no runtime. A legacy
//! server of the field exits when the first request is not `initialize`, and so does this one, with status 2.
//! Pitfall: output beside the protocol; only a fault may write other lines.
//!
//! | tool | effect |
//! |---|---|
//! | `echo {text}` | returns the text |
//! | `add {a, b}` | returns the sum as text and as structured content |
//! | `write_note {path, text}` | appends a line `PATH: TEXT` to the file of `--notes` |
//! | `secret_env {name}` | returns the value of the variable |
//! | `crash` | exits with status 3 |
//! | `slow` | sends progress until cancelled, then writes `cancelled` to stderr |
//! | `image` | returns a PNG of 1 × 1 pixels |
//! | `big` | returns a text of 30 MB |
//! | `fail` | returns a text as an error |
//!
//! | fault | effect |
//! |---|---|
//! | `silent` | answers nothing |
//! | `exit-at-start` | writes `no configuration found` to stderr and exits with status 1 |
//! | `noise` | writes a line of prose before each message |
//! | `crlf` | ends lines with CR LF |
//! | `long-line` | writes a line of 20 MB before the first message |
//! | `flood-stderr` | writes 1 MB to stderr at the start |
//! | `repeat-cursor` | ends each page of tools with the same cursor |
//! | `many-tools` | lists 5,000 more tools in pages of 500 |
//! | `changed-description` | lists `echo` with another description |
//! | `list-changed` | as `changed-description` from the first call on, with a notification before its answer |
//! | `new-tool` | lists a further tool, `copy` |
//! | `missing-tool` | does not list `add` |
//! | `odd-names` | lists names with dots, with 128 characters, with tag characters, and two similar names |
//! | `bad-schema` | lists tools with odd schemas |
//! | `ignore-eof` | ignores the end of the input and SIGTERM, and starts a grandchild `sleep` |
//! | `elicit` | asks for input during `echo`; the text of `echo` then has the action of the answer |
//! | `ask-input` | `echo` asks for `{name, count}` in the modern form; the second call adds the answer to the text |
//! | `sample` | asks for a completion and the roots during `echo`; the text then has the error codes of the answers |
//! | `modern-only` | refuses `initialize` with -32022 and then every request; a new process speaks 2026-07-28 |

mod options;
mod wire;
mod catalogue;
mod schemas;
mod server;

use std::io::{self, Write as _};
use std::process::{Child, Command, ExitCode};

use options::{DoubleFault, DoubleOptions};
use server::DoubleServer;

/// The bytes of the fault `flood-stderr`.
const FLOOD_BYTES: usize = 1 << 20;

/// The seconds of the grandchild.
const GRANDCHILD_SECONDS: &str = "600";

fn main() -> ExitCode {
    let options = match DoubleOptions::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(64);
        }
    };
    if options.has(DoubleFault::ExitAtStart) {
        eprintln!("no configuration found");
        return ExitCode::from(1);
    }
    match serve(options) {
        Ok(status) => status,
        Err(error) => {
            eprintln!("the client is gone: {error}");
            ExitCode::from(4)
        }
    }
}

fn serve(options: DoubleOptions) -> io::Result<ExitCode> {
    let ignores_eof = options.has(DoubleFault::IgnoreEof);
    if ignores_eof && !options.is_sigterm_ignored {
        restart_without_sigterm()?;
    }
    let grandchild = if ignores_eof { Some(start_grandchild()?) } else { None };
    if options.has(DoubleFault::FloodStderr) {
        io::stderr().write_all("a line of the flood\n".repeat(FLOOD_BYTES / 20 + 1).as_bytes())?;
    }
    let status = DoubleServer::new(options).run()?;
    if grandchild.is_some() {
        loop {
            std::thread::park();
        }
    }
    Ok(status)
}

/// Starts this program anew with SIGTERM ignored: a shell ignores the signal, and `exec` keeps that.
#[cfg(unix)]
fn restart_without_sigterm() -> io::Result<()> {
    use std::os::unix::process::CommandExt as _;
    let script = r#"trap '' TERM; exec "$0" "$@" --sigterm-ignored"#;
    Err(Command::new("/bin/sh").args(["-c", script]).args(std::env::args_os()).exec())
}

#[cfg(not(unix))]
fn restart_without_sigterm() -> io::Result<()> {
    Ok(())
}

fn start_grandchild() -> io::Result<Child> {
    Command::new("sleep").arg(GRANDCHILD_SECONDS).spawn()
}
