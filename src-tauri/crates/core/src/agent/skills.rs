//! Skills: folders with instructions for a model, and their trust.
//!
//! Owns the skill type, the page before an installation, the name rule, and the ports to files and archives. The person's own skills are trusted by their place;
//! an installed skill is untrusted input until the person trusts exactly this content. The content of a skill never
//! changes during a run.
//! Pitfall: judging trust when a file is read; the trust at the start of the run counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::future::BoxFuture;

/// The maximum skills of a job.
pub const MOST_SKILLS: usize = 8;

/// The maximum length of a name.
const LONGEST_NAME: usize = 64;

/// The trust of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum SkillTrust {
    /// The person's own.
    Own,
    /// Installed, and trusted in this content.
    Trusted,
    /// Trusted before, changed since.
    Changed,
    /// Installed, never trusted.
    Untrusted,
}

impl SkillTrust {
    /// Whether the text counts as instructions.
    #[must_use]
    pub const fn is_given(self) -> bool {
        matches!(self, Self::Own | Self::Trusted)
    }
}

/// A skill, with all fields read at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name, equal to the folder's.
    pub name: String,
    /// The purpose.
    pub description: String,
    /// The needed tools; all when none.
    pub tools: Option<Vec<String>>,
    /// The instructions.
    pub body: String,
    /// The other files, by relative path with slashes.
    pub files: Vec<String>,
    /// The SHA-256 of the folder's content, in hexadecimal digits.
    pub digest: String,
    /// The trust.
    pub trust: SkillTrust,
    /// The folder.
    pub folder: PathBuf,
}

/// A folder in a skill directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFolder {
    /// The folder's name.
    pub name: String,
    /// The path.
    pub folder: PathBuf,
    /// Whether the skill is among the installed skills.
    pub is_installed: bool,
    /// The skill, or the error of an invalid skill, as a sentence.
    pub skill: Result<Skill, String>,
}

/// A skill in a run's context, as of the start of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillInRun {
    /// The name.
    pub name: String,
    /// The digest of the content.
    pub digest: String,
    /// Whether the text counted as instructions.
    pub is_trusted: bool,
}

impl From<&Skill> for SkillInRun {
    fn from(skill: &Skill) -> Self {
        let (name, digest) = (skill.name.clone(), skill.digest.clone());
        Self { name, digest, is_trusted: skill.trust.is_given() }
    }
}

/// Why a file of a skill was not read, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SkillRefusal(pub String);

/// The port to the files of skills.
pub trait SkillFiles: Send + Sync {
    /// Reads a file of a skill of the run; the instructions when `path` is none.
    fn read<'a>(
        &'a self,
        skill: &'a SkillInRun,
        path: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, SkillRefusal>>;
}

/// The port to skills in archives.
pub trait SkillArchives: Send + Sync {
    /// Reads all files of an archive by relative path with slashes, without unpacking. Blocks.
    ///
    /// # Errors
    /// The archive is unreadable, unsafe or too large: cause and remedy as sentences.
    fn read(&self, archive: &Path) -> Result<BTreeMap<String, Vec<u8>>, String>;
}

/// The page that a person reads before the installation of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillPage {
    /// Path of the folder or the zip archive.
    pub path: String,
    /// Name of the skill.
    pub name: String,
    /// Description.
    pub description: String,
    /// Environment variables and programs that the skill names: `variable TOKEN`, `program jq`.
    pub requires: Vec<String>,
    /// The whole `SKILL.md`.
    pub text: String,
    /// All files, by path.
    pub files: Vec<SkillFileView>,
    /// Hash of the installed skill with this name, or `unreadable`; none without one.
    pub replaces: Option<String>,
    /// Whether one of the person's own skills has this name. Rouse then refuses the installation.
    pub is_own: bool,
    /// Hash of the installed folder. The trust is bound to this hash.
    pub hash: String,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillFileView {
    /// Path in the folder, with slashes.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// Whether `name` is valid: 1 to 64 lowercase letters, digits and single hyphens in between.
#[must_use]
pub fn is_skill_name(name: &str) -> bool {
    let is_spelled = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    let is_joined = !name.starts_with('-') && !name.ends_with('-') && !name.contains("--");
    is_spelled && is_joined && !name.is_empty() && name.len() <= LONGEST_NAME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skill_name_accepts_only_plain_names() {
        for good in ["a", "weekly-report", "a1-b2", &"x".repeat(64)] {
            assert!(is_skill_name(good), "{good}");
        }
        for bad in ["", "-a", "a-", "a--b", "A", "a b", "a/b", "..", "é", &"x".repeat(65)] {
            assert!(!is_skill_name(bad), "{bad}");
        }
    }
}
