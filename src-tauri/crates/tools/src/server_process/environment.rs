//! The basic environment variables of a server.
//!
//! Owns the allow lists: those of the MCP SDKs. Never passes an unlisted variable, so that keys stay in the engine.
//! Pitfall: a script that looks for its interpreter in `PATH`; an app without a login shell lacks that folder.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::tools::run_command::Environment;

/// Variables of an unconfined server, beside `LC_*`.
const BASIC_VARIABLES: &[&str] = if cfg!(windows) {
    &[
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "USERNAME",
        "USERPROFILE",
    ]
} else {
    &["HOME", "LOGNAME", "SHELL", "TERM", "USER", "LANG", "TZ", "TMPDIR"]
};

/// The variables of an unconfined server. `PATH` includes the folder of `program`.
pub(super) fn basic_variables(
    environment: &Environment,
    program: &Path,
) -> Vec<(OsString, OsString)> {
    let path = path_with_program(&environment.path(), program);
    environment.select(BASIC_VARIABLES).chain([("PATH".into(), path)]).collect()
}

/// Appends the folder of `program` to a `PATH`, so that a script finds the interpreter beside it.
pub(super) fn path_with_program(path: &OsStr, program: &Path) -> OsString {
    let Some(folder) = program.parent() else { return path.to_owned() };
    if std::env::split_paths(path).any(|known| known == folder) {
        return path.to_owned();
    }
    let folders = std::env::split_paths(path).chain([folder.to_owned()]);
    // A folder whose name contains the separator cannot stand in a `PATH`.
    std::env::join_paths(folders).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn path_ends_with_the_folder_of_the_program() {
        let path =
            |program: &str| path_with_program(OsStr::new("/usr/bin:/bin"), Path::new(program));
        assert_eq!(path("/opt/node/bin/npx"), "/usr/bin:/bin:/opt/node/bin");
        assert_eq!(path("/usr/bin/npx"), "/usr/bin:/bin");
        assert_eq!(path("/with:colon/npx"), "/usr/bin:/bin");
    }
}
