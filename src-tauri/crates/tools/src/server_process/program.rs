//! Looking up a program in the folders of `PATH`.
//!
//! Owns the absolute path that a person reads before an installation. Never follows links: the path stays as the folders
//! name it. Pitfall: a relative path, which means another program in another folder.

use std::path::{Path, PathBuf};

/// Endings of programs, tried in this order.
const ENDINGS: &[&str] = if cfg!(windows) { &["", ".exe", ".com", ".cmd", ".bat"] } else { &[""] };

/// The absolute path of `program`: itself, or the first program of this name in the folders of `path_variable`.
///
/// # Errors
/// No such program, as sentences with the remedy.
pub fn find_program(program: &str, path_variable: Option<&str>) -> Result<String, String> {
    let given = Path::new(program);
    if given.is_absolute() {
        if is_program(given) {
            return Ok(program.to_owned());
        }
        return Err(format!("There is no program {program}. Check the path."));
    }
    if given.components().count() != 1 || program.starts_with('.') {
        return Err(format!("{program} is a relative path. Write the absolute path."));
    }
    let folders = path_variable.unwrap_or_default();
    let mut candidates = std::env::split_paths(folders)
        .filter(|folder| folder.is_absolute())
        .flat_map(|folder| ENDINGS.iter().map(move |ending| candidate(&folder, program, ending)));
    let found = candidates.find(|path| is_program(path));
    let found = found.as_deref().and_then(Path::to_str);
    found.map(str::to_owned).ok_or_else(|| {
        format!("There is no program {program} in the folders of PATH. Install it, or write the absolute path.")
    })
}

fn candidate(folder: &Path, program: &str, ending: &str) -> PathBuf {
    folder.join(format!("{program}{ending}"))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// A file without an ending is a script for another system.
#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file() && path.extension().is_some()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn bare_name_is_found_in_path() {
        let path = Some("relative:/nowhere:/usr/bin:/bin");
        let found = find_program("sh", path).expect("a shell");
        assert!(found == "/usr/bin/sh" || found == "/bin/sh", "{found}");
        assert_eq!(find_program("/bin/sh", None).as_deref(), Ok("/bin/sh"));
    }

    #[test]
    fn missing_or_relative_program_is_refused() {
        for (program, reason) in [
            ("no-such-program", "There is no program no-such-program in the folders of PATH."),
            ("/bin/no-such-program", "There is no program /bin/no-such-program."),
            ("/bin", "There is no program /bin."),
            ("./server", "./server is a relative path."),
            ("bin/server", "bin/server is a relative path."),
        ] {
            let error = find_program(program, Some("/usr/bin:/bin")).expect_err(program);
            assert!(error.starts_with(reason), "{error}");
        }
    }
}
