//! `cargo xtask script-engine`: builds the WebAssembly component that runs JavaScript tools.
//!
//! Owns the committed component, its SHA-256 file and the size limit. Never part of `cargo xtask test`, except for the
//! comparison of the hash. Pitfall: an edited `engine.js` without this chore; the committed component would be older.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::error::{ChoreError, ErrorContext};
use crate::{paths, process, sha256};

/// A larger engine takes longer to compile on first use. The small runtime has 1.1 MB and is 3 times slower.
const MAX_BYTES: usize = 1_700_000;
const COMPONENT: &str = "script_engine.wasm";

/// Builds the component, or with `--check` compares the committed component with its hash.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, ChoreError> {
    match arguments {
        [] => build()?,
        [check] if check == "--check" => {}
        [.., other] => return Err(ChoreError::new(format!("unknown argument `{other}`"))),
    }
    let component = read_component()?;
    let hash_line = hash_line(&component);
    let hash_file = hash_file();
    let committed =
        fs::read_to_string(&hash_file).with_context(|| format!("read {}", hash_file.display()))?;
    compare(&committed, &hash_line)?;
    print!("{} bytes, SHA-256 {hash_line}", component.len());
    Ok(ExitCode::SUCCESS)
}

/// Builds into the target directory. Replaces the committed files after a complete build of allowed size.
fn build() -> Result<(), ChoreError> {
    let scratch = paths::target().join("xtask").join(COMPONENT);
    let manifest = paths::root().join("src-tauri/crates/wasm/script-engine/Cargo.toml");
    fs::create_dir_all(scratch.parent().expect("BUG: the scratch file is in a folder"))
        .with_context(|| format!("create the folder of {}", scratch.display()))?;
    let mut builder = process::cargo(["run", "--locked", "--manifest-path"]);
    builder.arg(manifest).arg("--").arg(&scratch).env("CARGO_TARGET_DIR", paths::target());
    process::run(builder)?;
    let component = fs::read(&scratch).with_context(|| format!("read {}", scratch.display()))?;
    check_size(component.len())?;
    let (committed, hash_file) = (folder().join(COMPONENT), hash_file());
    fs::write(&committed, &component).with_context(|| format!("write {}", committed.display()))?;
    fs::write(&hash_file, hash_line(&component))
        .with_context(|| format!("write {}", hash_file.display()))
}

fn folder() -> PathBuf {
    paths::root().join("src-tauri/crates/wasm/engine")
}

fn hash_file() -> PathBuf {
    folder().join("script_engine.sha256")
}

fn read_component() -> Result<Vec<u8>, ChoreError> {
    let path = folder().join(COMPONENT);
    fs::read(&path).with_context(|| format!("read {}", path.display()))
}

/// The line that `sha256sum --check` reads.
fn hash_line(component: &[u8]) -> String {
    format!("{}  {COMPONENT}\n", sha256::hex_digest(component))
}

fn check_size(bytes: usize) -> Result<(), ChoreError> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    Err(ChoreError::new(format!(
        "the script engine has {bytes} bytes, more than {MAX_BYTES}; shorten engine.js, or use \
         Runtime::OptSizeSync in the builder"
    )))
}

fn compare(committed: &str, actual: &str) -> Result<(), ChoreError> {
    // Git may check out text with the system's line ends.
    if committed.trim_end() == actual.trim_end() {
        return Ok(());
    }
    Err(ChoreError::new(format!(
        "{COMPONENT} does not match its hash file; run `cargo xtask script-engine`\n  \
         committed {}\n  actual    {}",
        committed.trim_end(),
        actual.trim_end()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_component_matches_its_hash_file() {
        run(&["--check".to_owned()]).expect("a matching hash");
    }

    #[test]
    fn changed_component_is_refused() {
        let committed = hash_line(b"engine");
        assert!(compare(&committed.replace('\n', "\r\n"), &committed).is_ok());
        assert!(compare(&committed, &hash_line(b"Engine")).is_err());
        assert!(compare("", &committed).is_err());
    }

    #[test]
    fn component_over_the_size_limit_is_refused() {
        assert!(check_size(MAX_BYTES).is_ok());
        assert!(check_size(MAX_BYTES + 1).is_err());
    }

    #[test]
    fn unknown_argument_builds_nothing() {
        assert!(run(&["--chek".to_owned()]).is_err());
        assert!(run(&["--check".to_owned(), "-v".to_owned()]).is_err());
    }
}
