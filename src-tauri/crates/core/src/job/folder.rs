//! Folder grants of a job: folders beside the workspace that calls may read or write.
//!
//! Owns the text form, which is the same in JSON, the CLI and the editor: `PATH` for reading, `PATH:write` for reading and
//! writing. Never looks at the disk. Pitfall: a relative path would mean another folder to each reader, so is refused.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// One folder that a person has granted to a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("format" = "folder-grant"))]
#[ts(type = "string")]
pub struct FolderGrant {
    /// The folder: absolute, or below the home as `~/…`.
    pub path: String,
    /// What calls may do there.
    pub access: FolderAccess,
}

/// What calls may do in a granted folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderAccess {
    /// Read files and list folders.
    Read,
    /// Read, create, change and delete files.
    Write,
}

/// The ending that grants writing.
const WRITE: &str = ":write";
/// The ending that grants reading, which is also the default.
const READ: &str = ":read";

impl FolderGrant {
    /// Whether `other` adds nothing to this grant.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let is_enough = self.access == FolderAccess::Write || other.access == FolderAccess::Read;
        is_enough && is_same_or_below(&other.path, &self.path)
    }
}

/// Whether `path` is `folder` or a path below, by text.
fn is_same_or_below(path: &str, folder: &str) -> bool {
    let is_separator = |c: char| c == '/' || (cfg!(windows) && c == '\\');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with(is_separator))
}

impl fmt::Display for FolderGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.access {
            FolderAccess::Read if self.path.ends_with(WRITE) || self.path.ends_with(READ) => {
                write!(f, "{}{READ}", self.path)
            }
            FolderAccess::Read => f.write_str(&self.path),
            FolderAccess::Write => write!(f, "{}{WRITE}", self.path),
        }
    }
}

impl From<FolderGrant> for String {
    fn from(grant: FolderGrant) -> Self {
        grant.to_string()
    }
}

impl TryFrom<String> for FolderGrant {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// Reads the text form.
impl FromStr for FolderGrant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let (path, access) = match (text.strip_suffix(WRITE), text.strip_suffix(READ)) {
            (Some(path), _) => (path, FolderAccess::Write),
            (None, Some(path)) => (path, FolderAccess::Read),
            (None, None) => (text, FolderAccess::Read),
        };
        let shortened = path.trim_end_matches('/');
        let path = if shortened.is_empty() { path } else { shortened };
        if is_absolute(path) && !path.split(['/', '\\']).any(|part| matches!(part, "." | "..")) {
            return Ok(Self { path: path.to_owned(), access });
        }
        Err(format!(
            "expected a folder such as ~/Notes or /srv/data:write, by its whole path, found `{text}`"
        ))
    }
}

/// Whether a path means the same folder to everybody, on any system.
fn is_absolute(path: &str) -> bool {
    let is_drive = |path: &str| {
        let mut characters = path.chars();
        let (letter, rest) = (characters.next(), characters.as_str());
        letter.is_some_and(|letter| letter.is_ascii_alphabetic())
            && (rest.starts_with(":\\") || rest.starts_with(":/"))
    };
    path.starts_with('/') || path == "~" || path.starts_with("~/") || is_drive(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(path: &str, access: FolderAccess) -> FolderGrant {
        FolderGrant { path: path.to_owned(), access }
    }

    #[test]
    fn folder_text_gives_path_and_access() {
        for (text, path, access) in [
            ("~/Notes", "~/Notes", FolderAccess::Read),
            (" ~/Notes/ ", "~/Notes", FolderAccess::Read),
            ("~/Notes:read", "~/Notes", FolderAccess::Read),
            ("/srv/data:write", "/srv/data", FolderAccess::Write),
            ("/srv/a:b", "/srv/a:b", FolderAccess::Read),
            (r"C:\Data:write", r"C:\Data", FolderAccess::Write),
            ("/", "/", FolderAccess::Read),
        ] {
            assert_eq!(text.parse(), Ok(grant(path, access)), "{text}");
        }
    }

    #[test]
    fn folder_text_survives_a_round_trip() {
        for access in [FolderAccess::Read, FolderAccess::Write] {
            for path in ["~/Notes", "/a:write", "/a:read", r"D:\x"] {
                let grant = grant(path, access);
                let text = grant.to_string();
                assert_eq!(text.parse(), Ok(grant), "{text}");
            }
        }
    }

    #[test]
    fn relative_folder_is_refused() {
        for text in ["", "Notes", "./Notes", "~user/x", "/a/../b", "~/..", ":write"] {
            assert!(text.parse::<FolderGrant>().is_err(), "{text}");
        }
    }

    #[test]
    fn write_grant_covers_everything_below() {
        let (read, write) = (FolderAccess::Read, FolderAccess::Write);
        assert!(grant("~/a", write).covers(&grant("~/a/b", read)));
        assert!(grant("~/a", write).covers(&grant("~/a/b", write)));
        assert!(grant("~/a", read).covers(&grant("~/a", read)));
        assert!(!grant("~/a", read).covers(&grant("~/a/b", write)));
        assert!(!grant("~/a", write).covers(&grant("~/ab", read)));
    }
}
