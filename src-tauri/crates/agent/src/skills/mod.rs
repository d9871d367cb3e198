//! The available skills: folders with a `SKILL.md`, in two places, and the person's trust in each.
//!
//! Owns discovery, validation and trust of skills. A skill in `skills` is the person's own; a skill in
//! `skills/installed` is untrusted input until the person trusts exactly its content. Trust is stored as the folder's
//! digest in the database, where tools and sandboxed commands cannot change it. Any change to the folder invalidates it.
//! An invalid folder is listed with its error. `install` adds and removes skills of other authors.
//! Pitfall: computing the digest and taking the text from separate reads; the folder may change in between.

mod folder;
mod front_matter;
mod places;
mod source;
mod staging;
mod install;
#[cfg(test)]
mod install_tests;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rouse_core::event::EventKind;
use rouse_core::policy::SKILL_READ;
use rouse_core::skills::{
    Skill, SkillFiles, SkillFolder, SkillInRun, SkillRefusal, SkillTrust, is_skill_name,
};
use rouse_core::tool::BoxFuture;
use rouse_core::{SessionKey, UnixMs};
use rouse_store::{SessionReads, SkillText, Store, StoreError, StoredSetting};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use folder::Folder;
pub use install::{SkillInstallError, SkillInstaller};
use places::{INSTALLED, exists, folder_names};

/// The setting with the trusted digests by skill name.
const TRUST_SETTING: &str = "skills.trusted";

/// The available skills.
#[derive(Clone)]
pub struct SkillLibrary {
    root: PathBuf,
    workspace: PathBuf,
    store: Store,
}

/// Why the trust of a skill cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The skill is missing or unusable.
    #[error("{0}")]
    Unusable(String),
    /// The content has changed since the person's review.
    #[error("The skill {0} has changed since it was shown. Review it again.")]
    Changed(String),
    /// The person's own skill is always trusted.
    #[error(
        "{0} is your own skill, so it is always trusted. To require a review, move it to skills/installed."
    )]
    Own(String),
    /// The trusted digests cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The untrusted skills that a session has read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionSkills {
    /// The names of the skills.
    pub names: Vec<String>,
    /// The texts that were read. A skill known only from the summary has no text here.
    pub texts: Vec<SkillText>,
}

/// Trusted digests by skill name.
type TrustedDigests = BTreeMap<String, String>;

impl SkillLibrary {
    /// The skills in `root`. If `root` is in `workspace`, its skills do not count as the person's own, because tools can
    /// write there.
    #[must_use]
    pub fn new(root: PathBuf, workspace: PathBuf, store: Store) -> Self {
        Self { root, workspace, store }
    }

    /// The folder of the person's own skills.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of installed skills.
    #[must_use]
    pub fn installed(&self) -> PathBuf {
        self.root.join(INSTALLED)
    }

    /// All skill folders: own, then installed, each by name.
    ///
    /// # Errors
    /// When the trusted digests cannot be read.
    pub async fn list(&self) -> Result<Vec<SkillFolder>, StoreError> {
        let trusted = self.trusted_digests().await?;
        let library = self.clone();
        let read = tokio::task::spawn_blocking(move || library.read_all(&trusted)).await;
        Ok(read.expect("BUG: reading a folder does not panic"))
    }

    /// Loads the named skills, in order. The inner error says why a skill is unusable and how to fix it.
    ///
    /// # Errors
    /// When the trusted digests cannot be read.
    pub async fn load_named(
        &self,
        names: &[String],
    ) -> Result<Result<Vec<Skill>, String>, StoreError> {
        if names.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let trusted = self.trusted_digests().await?;
        let (library, names) = (self.clone(), names.to_vec());
        let read = tokio::task::spawn_blocking(move || {
            names
                .iter()
                .map(|name| library.resolve_skill(name, &trusted))
                .collect::<Result<Vec<_>, _>>()
        });
        Ok(read.await.expect("BUG: reading a folder does not panic"))
    }

    /// The untrusted skills that earlier runs of a session have read. They count even after the job drops them, because
    /// the text stays in the history. Trusting a new version does not trust the version that was read.
    ///
    /// # Errors
    /// When the journal or the trusted digests cannot be read.
    pub async fn session_skills(&self, session: &SessionKey) -> Result<SessionSkills, StoreError> {
        let SessionReads { summary, calls, taint } =
            self.store.session_reads(session, SKILL_READ).await?;
        // Some skills may be recorded only in the summary.
        let names = summary.map_or_else(Vec::new, |summary| summary.untrusted_skills);
        let mut skills = SessionSkills { names, texts: Vec::new() };
        let read = calls.into_iter().filter_map(|(input, output)| untrusted_text(&input, &output?));
        for text in taint.skill_texts.into_iter().chain(read) {
            if !skills.texts.contains(&text) && !self.is_trusted_text(&text).await? {
                skills.names.push(text.skill.clone());
                skills.texts.push(text);
            }
        }
        skills.names.sort();
        skills.names.dedup();
        Ok(skills)
    }

    /// Whether a text that was read is the current text of a trusted skill.
    async fn is_trusted_text(&self, text: &SkillText) -> Result<bool, StoreError> {
        let found = self.load_named(std::slice::from_ref(&text.skill)).await?.unwrap_or_default();
        let Some(skill) = found.first().filter(|skill| skill.trust.is_given()) else {
            return Ok(false);
        };
        let now = self.read(&SkillInRun::from(skill), text.path.as_deref()).await;
        Ok(now.is_ok_and(|now| digest_of(&now) == text.digest))
    }

    /// Trusts a skill with this digest. Only on a person's request.
    ///
    /// # Errors
    /// When the skill is missing or has changed, or the trusted digests cannot be written.
    pub async fn trust(&self, name: &str, digest: &str, now: UnixMs) -> Result<Skill, TrustError> {
        let mut trusted = self.trusted_digests().await?;
        let skill = self.load_usable(name).await?;
        if skill.trust == SkillTrust::Own {
            return Err(TrustError::Own(name.to_owned()));
        }
        if skill.digest != digest {
            return Err(TrustError::Changed(name.to_owned()));
        }
        trusted.insert(name.to_owned(), digest.to_owned());
        self.store_trusted_digests(&trusted, now).await?;
        Ok(Skill { trust: SkillTrust::Trusted, ..skill })
    }

    /// Revokes the trust.
    ///
    /// # Errors
    /// When the skill is the person's own, or the trusted digests cannot be written.
    pub async fn distrust(&self, name: &str, now: UnixMs) -> Result<(), TrustError> {
        let mut trusted = self.trusted_digests().await?;
        if trusted.remove(name).is_none() {
            return match self.load_usable(name).await?.trust {
                SkillTrust::Own => Err(TrustError::Own(name.to_owned())),
                SkillTrust::Trusted | SkillTrust::Changed | SkillTrust::Untrusted => Ok(()),
            };
        }
        Ok(self.store_trusted_digests(&trusted, now).await?)
    }

    async fn load_usable(&self, name: &str) -> Result<Skill, TrustError> {
        let named = self.load_named(&[name.to_owned()]).await?.map_err(TrustError::Unusable)?;
        Ok(named.into_iter().next().expect("BUG: one name is one skill"))
    }

    /// The trusted digests; none when unreadable.
    async fn trusted_digests(&self) -> Result<TrustedDigests, StoreError> {
        Ok(match self.store.stored_setting(TRUST_SETTING).await? {
            StoredSetting::Value(value) => serde_json::from_value(value).unwrap_or_default(),
            StoredSetting::Absent | StoredSetting::Unreadable => TrustedDigests::new(),
        })
    }

    async fn store_trusted_digests(
        &self,
        trusted: &TrustedDigests,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let event = (EventKind::Config, json!({ "skills": true }));
        self.store.put_setting(TRUST_SETTING, &json!(trusted), Some(event), now).await
    }

    fn read_all(&self, trusted: &TrustedDigests) -> Vec<SkillFolder> {
        let own = folder_names(&self.root).into_iter().filter(|name| name != INSTALLED);
        let own: Vec<SkillFolder> =
            own.map(|name| self.read_folder(name, false, trusted)).collect();
        let mut all = own.clone();
        for name in folder_names(&self.installed()) {
            let mut found = self.read_folder(name, true, trusted);
            if own.iter().any(|own| own.name == found.name) {
                let clash =
                    "One of your own skills has this name and takes priority. Rename one of them.";
                found.skill = Err(clash.to_owned());
            }
            all.push(found);
        }
        all
    }

    /// The skill that `name` refers to in a job.
    fn resolve_skill(&self, name: &str, trusted: &TrustedDigests) -> Result<Skill, String> {
        if !is_skill_name(name) {
            return Err(format!("{name:?} is not a valid skill name. Correct the name."));
        }
        let own = exists(&self.root.join(name)) && name != INSTALLED;
        if !own && !exists(&self.installed().join(name)) {
            return Err(format!(
                "There is no skill {name}. Install it with `rouse skills add PATH`, put its folder into {}, or remove it from the list.",
                self.root.display()
            ));
        }
        self.read_folder(name.to_owned(), !own, trusted).skill.map_err(|error| {
            format!("The skill {name} cannot be used: {error} Fix it, or remove it from the list.")
        })
    }

    fn read_folder(
        &self,
        name: String,
        is_installed: bool,
        trusted: &TrustedDigests,
    ) -> SkillFolder {
        let folder = if is_installed { self.installed() } else { self.root.clone() };
        let folder = folder.join(&name);
        let skill = Folder::read(&folder).and_then(|read| {
            let trust = self.trust_of(&name, is_installed, &read.digest, trusted);
            read.into_skill(&name, folder.clone(), trust)
        });
        SkillFolder { name, folder, is_installed, skill }
    }

    fn trust_of(
        &self,
        name: &str,
        is_installed: bool,
        digest: &str,
        trusted: &TrustedDigests,
    ) -> SkillTrust {
        if !is_installed && !self.is_in_workspace() {
            return SkillTrust::Own;
        }
        match trusted.get(name) {
            None => SkillTrust::Untrusted,
            Some(known) if known == digest => SkillTrust::Trusted,
            Some(_) => SkillTrust::Changed,
        }
    }

    /// Whether agents can write to the folder of own skills.
    fn is_in_workspace(&self) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        real(&self.root).starts_with(real(&self.workspace))
    }
}

impl SkillFiles for SkillLibrary {
    fn read<'a>(
        &'a self,
        skill: &'a SkillInRun,
        path: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, SkillRefusal>> {
        Box::pin(async move {
            let (library, name, path) = (self.clone(), skill.name.clone(), path.map(str::to_owned));
            let digest = skill.digest.clone();
            let read = tokio::task::spawn_blocking(move || {
                library.read_file(&name, &digest, path.as_deref())
            });
            read.await.expect("BUG: reading a folder does not panic").map_err(SkillRefusal)
        })
    }
}

impl SkillLibrary {
    fn read_file(&self, name: &str, digest: &str, path: Option<&str>) -> Result<String, String> {
        let own = self.root.join(name);
        let folder = if exists(&own) { own } else { self.installed().join(name) };
        let read = Folder::read(&folder)?;
        if read.digest != digest {
            return Err(format!("The skill {name} has changed since this run began. End the run."));
        }
        match path {
            None => Ok(front_matter::split(read.instructions()?)?.1.to_owned()),
            Some(path) => read.text(path),
        }
    }
}

/// The untrusted text that a `skill_read` call has read; none of a failed call.
fn untrusted_text(input: &Value, output: &Value) -> Option<SkillText> {
    // The journal truncates long texts. The digest of a truncated text matches no skill.
    let content = output.as_str().or_else(|| output.get("content")?.as_str())?;
    let head = output.as_str().and_then(fields_before_content);
    if head.as_ref().unwrap_or(output).get("trusted") == Some(&Value::Bool(true)) {
        return None;
    }
    Some(SkillText {
        skill: input.get("skill")?.as_str()?.to_owned(),
        path: input.get("path").and_then(Value::as_str).map(str::to_owned),
        digest: digest_of(content),
    })
}

/// The fields of a cut-off answer before `content`, the last field.
fn fields_before_content(answer: &str) -> Option<Value> {
    let (head, _) = answer.split_once(",\"content\":")?;
    serde_json::from_str(&format!("{head}}}")).ok()
}

fn digest_of(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}
