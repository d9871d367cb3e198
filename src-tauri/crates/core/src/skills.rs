//! Skills: folders with instructions for a model, and how far they are believed.
//!
//! Owns what a skill is, what its name may be, and the port through which its files are read. A skill of the person's own
//! is believed by its place; one that was brought in is believed only when the person has said so of exactly this
//! content, and is text from outside until then. It refuses to let a run go on with another content than it began with.
//! One could get it wrong by asking whether a skill is trusted when it is read: what counts is what the run was judged by.

use std::path::PathBuf;

use crate::tool::BoxFuture;

/// The most skills of one job.
pub const MOST_SKILLS: usize = 8;

/// The longest name.
const LONGEST_NAME: usize = 64;

/// How far a skill is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The person's own.
    Own,
    /// Brought in, and trusted as it is.
    Trusted,
    /// It was trusted, and has changed since.
    Changed,
    /// Brought in, and nobody has said that it is to be trusted.
    Untrusted,
}

impl Trust {
    /// Whether its text is an instruction.
    #[must_use]
    pub const fn is_given(self) -> bool {
        matches!(self, Self::Own | Self::Trusted)
    }
}

/// A skill as it was read, all of it at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name, which is its folder's.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The only tools that it wants; all that there are when absent.
    pub tools: Option<Vec<String>>,
    /// The instructions.
    pub body: String,
    /// Its other files, by their paths in the folder, with slashes.
    pub files: Vec<String>,
    /// The SHA-256 of everything in the folder, in hexadecimal digits.
    pub digest: String,
    /// How far it is believed.
    pub trust: Trust,
    /// Where it is.
    pub folder: PathBuf,
}

/// A folder among the skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFolder {
    /// The folder's name.
    pub name: String,
    /// Where it is.
    pub folder: PathBuf,
    /// Whether it lies among those that were brought in.
    pub is_installed: bool,
    /// The skill, or what is wrong with it, as a sentence.
    pub skill: Result<Skill, String>,
}

/// A skill that a run was told of, as it was then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillInRun {
    /// Its name.
    pub name: String,
    /// Its content.
    pub digest: String,
    /// Whether its text was an instruction.
    pub is_trusted: bool,
}

impl From<&Skill> for SkillInRun {
    fn from(skill: &Skill) -> Self {
        let (name, digest) = (skill.name.clone(), skill.digest.clone());
        Self { name, digest, is_trusted: skill.trust.is_given() }
    }
}

/// Why a file of a skill was not read; as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SkillRefusal(pub String);

/// Reads the files of skills.
pub trait SkillFiles: Send + Sync {
    /// A file of a skill that the run was told of; the instructions when `path` is absent.
    fn read<'a>(
        &'a self,
        skill: &'a SkillInRun,
        path: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, SkillRefusal>>;
}

/// Whether `name` can be a skill's: 1 to 64 small letters, digits and single hyphens between them.
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
    fn names_are_plain() {
        for good in ["a", "weekly-report", "a1-b2", &"x".repeat(64)] {
            assert!(is_skill_name(good), "{good}");
        }
        for bad in ["", "-a", "a-", "a--b", "A", "a b", "a/b", "..", "é", &"x".repeat(65)] {
            assert!(!is_skill_name(bad), "{bad}");
        }
    }
}
