//! `skills.*`: folders with instructions for a model, and how far they are believed.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A folder among the skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillView {
    /// Its folder's name; a job names it so.
    pub name: String,
    /// What it is for; none when it cannot be read.
    pub description: Option<String>,
    /// How far it is believed; none when it cannot be used.
    pub trust: Option<SkillTrust>,
    /// Whether it lies among those that were brought in.
    pub is_installed: bool,
    /// Its folder.
    pub path: String,
    /// Why it cannot be used, as a sentence.
    pub problem: Option<String>,
    /// Its instructions, for who is to trust them.
    pub body: Option<String>,
    /// Its other files.
    pub files: Vec<String>,
    /// The only tools that it wants; all that there are when none are named.
    pub tools: Option<Vec<String>>,
    /// The hash of everything in its folder, to which trust is bound.
    pub digest: Option<String>,
    /// The jobs that name it.
    pub used_by: Vec<SkillUser>,
}

/// A job that names a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillUser {
    /// The job.
    pub job_id: String,
    /// Its name.
    pub name: String,
}

/// How far a skill is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum SkillTrust {
    /// The person's own: its text is an instruction.
    Own,
    /// Brought in, and trusted as it is.
    Trusted,
    /// It was trusted, and has changed since: it is untrusted again.
    Changed,
    /// Brought in: its text is information, and a run with it may only look.
    Untrusted,
}

/// `skills.list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillsListResult {
    /// The person's own first, each place by name.
    pub skills: Vec<SkillView>,
    /// Where the person's own lie.
    pub own_folder: String,
    /// Where those lie that were brought in.
    pub installed_folder: String,
}

/// `skills.trust`: from now on the text of this skill, as it is, is an instruction.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillTrustParams {
    /// Its name.
    pub name: String,
    /// The hash of what the person has looked at.
    pub digest: String,
}

/// `skills.distrust`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillRef {
    /// Its name.
    pub name: String,
}
