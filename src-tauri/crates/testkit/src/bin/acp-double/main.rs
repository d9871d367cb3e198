//! A coding agent over the Agent Client Protocol, which follows a script in its task.
//!
//! `acp-double [--no-load] [--forgetful] [--signed-out] [--sessions FOLDER]`
//!
//! Owns the protocol of version 1 on standard input and output, and the effects of the script. A session outlives its
//! process in the folder `--sessions` (default: `HOME`). Blocks on its input; there is no runtime. Answers no
//! permission itself. Pitfall: output beside the protocol.
//!
//! Each line of a task is a step; other lines are ignored.
//!
//! | step | effect |
//! |---|---|
//! | `say TEXT` | sends a part of the report |
//! | `read TITLE` | reports an action that needs no permission |
//! | `append FILE TEXT` | appends a line to a file without asking |
//! | `ask FILE TEXT` | asks for permission, then appends the line if allowed |
//! | `ask-always FILE TEXT` | offers no way to allow once |
//! | `cost USD` | reports the cost of the session |
//! | `hang` | does nothing until cancelled |
//! | `gate FILE` | reads a named pipe of the folder to its end |
//! | `die` | exits with status 3 |
//! | `variable NAME` | says the value of an environment variable |
//! | `folder` | says the working directory of the session |
//! | `stop REASON` | ends the turn with this reason |
//!
//! | option | effect |
//! |---|---|
//! | `--no-load` | does not offer `session/load` |
//! | `--forgetful` | offers `session/load` and refuses each session |
//! | `--signed-out` | refuses each session for a missing sign-in |

mod session;
mod wire;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use session::{AgentDouble, DoubleAbilities};

fn main() -> ExitCode {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let mut abilities = DoubleAbilities { sessions: home, ..DoubleAbilities::default() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--no-load" => abilities.is_unable_to_load = true,
            "--forgetful" => abilities.is_forgetful = true,
            "--signed-out" => abilities.is_signed_out = true,
            "--sessions" => abilities.sessions = arguments.next().unwrap_or_default().into(),
            _ => {
                eprintln!("{argument} is not an argument of acp-double.");
                return ExitCode::from(64);
            }
        }
    }
    match AgentDouble::new(abilities).run() {
        Ok(status) => status,
        Err(error) => failed(&error),
    }
}

fn failed(error: &io::Error) -> ExitCode {
    eprintln!("the client is gone: {error}");
    ExitCode::from(4)
}
