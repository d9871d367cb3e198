//! `skills.*`: skill folders with instructions for a model, trust in skills, and installation.

pub use rouse_core::skills::{SkillFileView, SkillPage, SkillTrust};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillView {
    /// Name, equal to the name of the folder.
    pub name: String,
    /// Description; none for an unreadable skill.
    pub description: Option<String>,
    /// Trust; none for an unusable skill.
    pub trust: Option<SkillTrust>,
    /// Whether the skill is in the folder of installed skills.
    pub is_installed: bool,
    /// Path of the folder.
    pub path: String,
    /// Why the skill is unusable, as a sentence.
    pub problem: Option<String>,
    /// Instructions, for review.
    pub body: Option<String>,
    /// Other files of the folder.
    pub files: Vec<String>,
    /// Tools of the skill; none for all tools.
    pub tools: Option<Vec<String>>,
    /// Hash of the folder. Trust is bound to this hash.
    pub digest: Option<String>,
    /// Jobs with this skill.
    pub used_by: Vec<SkillUser>,
}

/// A job with the skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillUser {
    /// Id of the job.
    pub job_id: String,
    /// Name of the job.
    pub name: String,
}

/// `skills.list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillsListResult {
    /// The skills: own ones first, then by name.
    pub skills: Vec<SkillView>,
    /// Folder of own skills.
    pub own_folder: String,
    /// Folder of installed skills.
    pub installed_folder: String,
}

/// `skills.trust`: trusts the skill with this digest.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillTrustParams {
    /// Name of the skill.
    pub name: String,
    /// Digest of the reviewed folder.
    pub digest: String,
}

/// `skills.distrust` and `skills.remove`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillRef {
    /// Name of the skill.
    pub name: String,
}

/// `skills.preview`: the page of a skill. Changes nothing.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillSourceParams {
    /// Absolute path of a folder with a `SKILL.md`, or of a zip archive with one skill.
    pub path: String,
}

/// `skills.install`: installs the skill of a page, and trusts exactly its content.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillInstallParams {
    /// Path of the page.
    pub path: String,
    /// Hash of the page. Another hash is a conflict.
    pub hash: String,
}
