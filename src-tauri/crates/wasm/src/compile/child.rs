//! The compiler process.
//!
//! Owns the hidden argument, and the ends of the process: the result, an own time limit, and the end of the parent.
//! Pitfall: a process that outlives the parent; standard input closes with the parent, so the child reads it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::panic::catch_unwind;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use crate::compile::MAX_COMPONENT_BYTES;
use crate::engine::compiler_engine;

/// Starts the program as compiler. The files of the component and of the result follow.
pub(super) const COMPILE_ARGUMENT: &str = "__compile-wasm";

/// Set for the compiler, because the argument alone could be a word of a person.
pub(crate) const COMPILER_VARIABLE: &str = "ROUSE_WASM_COMPILER";

const SUCCESS: u8 = 0;
const FAILED: u8 = 1;

/// The exit code for bytes that are no valid component; the cause is on standard error.
pub(super) const INVALID_COMPONENT: u8 = 3;

/// The exit code when the parent ended or the time is over.
const ABANDONED: u8 = 4;

/// Bound of the cause on standard error.
pub(super) const MAX_CAUSE_BYTES: u64 = 2_000;

/// The longest life of the process.
const LONGEST_LIFE: Duration = Duration::from_secs(150);

/// The address space of the process.
#[cfg(target_os = "linux")]
const MEMORY_LIMIT: u64 = 2 << 30;

/// How a compilation ended.
enum CompilerEnd {
    Written,
    Invalid(String),
    Failed(io::Error),
    Panicked,
    ParentGone,
}

/// Runs the compiler in a process started as compiler; the program then exits with the returned code.
#[must_use]
pub fn run_wasm_compiler() -> Option<ExitCode> {
    run_from_arguments().map(ExitCode::from)
}

/// Runs the compiler; the exit code. None when the process was not started as compiler.
pub(crate) fn run_from_arguments() -> Option<u8> {
    std::env::var_os(COMPILER_VARIABLE)?;
    let mut arguments = std::env::args_os().skip_while(|argument| argument != COMPILE_ARGUMENT);
    arguments.next()?;
    let (Some(input), Some(output)) = (arguments.next(), arguments.next()) else {
        return Some(FAILED);
    };
    limit_memory();
    let (end, ends) = mpsc::channel();
    let parent_gone = end.clone();
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        let _ = parent_gone.send(CompilerEnd::ParentGone);
    });
    std::thread::spawn(move || {
        let compiled = catch_unwind(|| compile(Path::new(&input), Path::new(&output)));
        end.send(compiled.unwrap_or(CompilerEnd::Panicked))
    });
    let code = match ends.recv_timeout(LONGEST_LIFE) {
        Ok(CompilerEnd::Written) => SUCCESS,
        Ok(CompilerEnd::Invalid(cause)) => {
            let end = cause.floor_char_boundary(MAX_CAUSE_BYTES as usize);
            eprint!("{}", &cause[..end]);
            INVALID_COMPONENT
        }
        Ok(CompilerEnd::Failed(error)) => {
            eprint!("{error}");
            FAILED
        }
        Ok(CompilerEnd::Panicked) => FAILED,
        Ok(CompilerEnd::ParentGone) | Err(_) => ABANDONED,
    };
    Some(code)
}

/// Bounds the memory of this process. An allocation beyond it ends the process.
#[cfg(target_os = "linux")]
fn limit_memory() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = Rlimit { current: Some(MEMORY_LIMIT), maximum: Some(MEMORY_LIMIT) };
    // A lower limit of the system stays.
    let _ = setrlimit(Resource::As, limit);
}

#[cfg(not(target_os = "linux"))]
const fn limit_memory() {}

fn compile(input: &Path, output: &Path) -> CompilerEnd {
    let component = match read_component(input) {
        Ok(component) => component,
        Err(error) => return CompilerEnd::Failed(error),
    };
    match compile_component(&component) {
        Ok(compiled) => match write_new(output, &compiled) {
            Ok(()) => CompilerEnd::Written,
            Err(error) => CompilerEnd::Failed(error),
        },
        Err(cause) => CompilerEnd::Invalid(cause),
    }
}

/// The machine code of a component, for the engine of this version on this computer.
///
/// # Errors
/// The bytes are no valid component: the cause.
fn compile_component(component: &[u8]) -> Result<Vec<u8>, String> {
    let compiled = compiler_engine().and_then(|engine| engine.precompile_component(component));
    compiled.map_err(|error| format!("{error:#}"))
}

fn read_component(path: &Path) -> io::Result<Vec<u8>> {
    let mut component = Vec::new();
    let limit = MAX_COMPONENT_BYTES as u64 + 1;
    File::open(path)?.take(limit).read_to_end(&mut component)?;
    Ok(component)
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = private_file().open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A new file for this user alone.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
