//! The skills there are: folders with a `SKILL.md`, in two places.
//!
//! Owns where they are looked for, what makes one of no use, and how far each is believed. What lies in `skills` is the
//! person's own; what lies in `skills/installed` was brought in and is text from outside, until the person says of
//! exactly its content that it is to be trusted. The mark is in the database, where neither a tool nor a command in the
//! sandbox can reach it, and holds the hash of the whole folder: with any change the trust is gone, and the list says so.
//!
//! It refuses to let a bad folder break anything: each is listed with what is wrong. One could get it wrong by hashing a
//! folder and reading it again afterwards: a folder is read once, and what was hashed is what is told.

mod folder;
mod head;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rouse_core::event::EventKind;
use rouse_core::policy::SKILL_READ;
use rouse_core::skills::{
    Skill, SkillFiles, SkillFolder, SkillInRun, SkillRefusal, Trust, is_skill_name,
};
use rouse_core::tool::BoxFuture;
use rouse_core::{SessionKey, UnixMs};
use rouse_store::{SessionReads, Setting, SkillText, Store, StoreError};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use folder::Folder;

/// The folder, among the person's own, of those that were brought in.
const INSTALLED: &str = "installed";

/// The most folders of one place that are looked at.
const MOST_FOLDERS: usize = 200;

/// Where the marks of trust are stored: digests by name.
const TRUSTED: &str = "skills.trusted";

/// The skills there are.
#[derive(Clone)]
pub struct SkillShelf {
    root: PathBuf,
    workspace: PathBuf,
    store: Store,
}

/// Why a mark of trust could not be set.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// There is no such skill, or it is of no use.
    #[error("{0}")]
    Unusable(String),
    /// It is not what the person has looked at.
    #[error("The skill {0} has changed since it was shown. Look at it again.")]
    Changed(String),
    /// It needs no mark.
    #[error(
        "{0} is your own skill and is trusted by where it lies: move it to skills/installed to change that."
    )]
    Own(String),
    /// The mark could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a session knows of skills that nobody trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remembered {
    /// Their names.
    pub names: Vec<String>,
    /// What was read of them and may be told no more by a summary alone.
    pub texts: Vec<SkillText>,
}

/// Digests by the names of skills.
type Marks = BTreeMap<String, String>;

impl SkillShelf {
    /// The skills in `root`; nothing in `workspace` is believed by its place, because tools write there.
    #[must_use]
    pub fn new(root: PathBuf, workspace: PathBuf, store: Store) -> Self {
        Self { root, workspace, store }
    }

    /// Where the person's own are.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where those are that were brought in.
    #[must_use]
    pub fn installed(&self) -> PathBuf {
        self.root.join(INSTALLED)
    }

    /// Every folder, the person's own first, each place by name.
    ///
    /// # Errors
    /// When the marks of trust cannot be read.
    pub async fn list(&self) -> Result<Vec<SkillFolder>, StoreError> {
        let marks = self.marks().await?;
        let shelf = self.clone();
        let read = tokio::task::spawn_blocking(move || shelf.all(&marks)).await;
        Ok(read.expect("BUG: reading a folder does not panic"))
    }

    /// The skills of these names, in this order; or why one of them cannot be used, with what to do.
    ///
    /// # Errors
    /// When the marks of trust cannot be read.
    pub async fn named(&self, names: &[String]) -> Result<Result<Vec<Skill>, String>, StoreError> {
        if names.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let marks = self.marks().await?;
        let (shelf, names) = (self.clone(), names.to_vec());
        let read = tokio::task::spawn_blocking(move || {
            names.iter().map(|name| shelf.one(name, &marks)).collect::<Result<Vec<_>, _>>()
        });
        Ok(read.await.expect("BUG: reading a folder does not panic"))
    }

    /// The skills that a session knows from earlier runs by a text that nobody trusts: what a job no longer names is still
    /// in what its next run is told of the earlier ones, and trust in a new text is none in the one that was read.
    ///
    /// # Errors
    /// When the journal or the marks of trust cannot be read.
    pub async fn remembered(&self, session: &SessionKey) -> Result<Remembered, StoreError> {
        let SessionReads { summary, calls, inherited } =
            self.store.session_reads(session, SKILL_READ).await?;
        // What a summary was made of may be kept nowhere else.
        let names = summary.map_or_else(Vec::new, |summary| summary.untrusted_skills);
        let mut remembered = Remembered { names, texts: Vec::new() };
        let read = calls.into_iter().filter_map(|(input, output)| text_read(&input, &output?));
        for text in inherited.skill_texts.into_iter().chain(read) {
            if !remembered.texts.contains(&text) && !self.is_trusted_text(&text).await? {
                remembered.names.push(text.skill.clone());
                remembered.texts.push(text);
            }
        }
        remembered.names.sort();
        remembered.names.dedup();
        Ok(remembered)
    }

    /// Whether what was read of a skill is what stands there now, and that is trusted.
    async fn is_trusted_text(&self, text: &SkillText) -> Result<bool, StoreError> {
        let found = self.named(std::slice::from_ref(&text.skill)).await?.unwrap_or_default();
        let Some(skill) = found.first().filter(|skill| skill.trust.is_given()) else {
            return Ok(false);
        };
        let now = self.read(&SkillInRun::from(skill), text.path.as_deref()).await;
        Ok(now.is_ok_and(|now| digest_of(&now) == text.digest))
    }

    /// Trusts the skill as it is, if it still has this digest. Only a person may ask for this.
    ///
    /// # Errors
    /// When there is no such skill, it is another one by now, or the mark cannot be written.
    pub async fn trust(&self, name: &str, digest: &str, now: UnixMs) -> Result<Skill, TrustError> {
        let mut marks = self.marks().await?;
        let skill = self.usable(name).await?;
        if skill.trust == Trust::Own {
            return Err(TrustError::Own(name.to_owned()));
        }
        if skill.digest != digest {
            return Err(TrustError::Changed(name.to_owned()));
        }
        marks.insert(name.to_owned(), digest.to_owned());
        self.keep(&marks, now).await?;
        Ok(Skill { trust: Trust::Trusted, ..skill })
    }

    /// Takes the trust back.
    ///
    /// # Errors
    /// When the skill is the person's own, or the mark cannot be written.
    pub async fn distrust(&self, name: &str, now: UnixMs) -> Result<(), TrustError> {
        let mut marks = self.marks().await?;
        if marks.remove(name).is_none() {
            return match self.usable(name).await?.trust {
                Trust::Own => Err(TrustError::Own(name.to_owned())),
                Trust::Trusted | Trust::Changed | Trust::Untrusted => Ok(()),
            };
        }
        Ok(self.keep(&marks, now).await?)
    }

    async fn usable(&self, name: &str) -> Result<Skill, TrustError> {
        let named = self.named(&[name.to_owned()]).await?.map_err(TrustError::Unusable)?;
        Ok(named.into_iter().next().expect("BUG: one name is one skill"))
    }

    /// What cannot be read is no trust.
    async fn marks(&self) -> Result<Marks, StoreError> {
        Ok(match self.store.stored_setting(TRUSTED).await? {
            Setting::Is(value) => serde_json::from_value(value).unwrap_or_default(),
            Setting::Absent | Setting::Unreadable => Marks::new(),
        })
    }

    async fn keep(&self, marks: &Marks, now: UnixMs) -> Result<(), StoreError> {
        let event = (EventKind::Config, json!({ "skills": true }));
        self.store.put_setting(TRUSTED, &json!(marks), Some(event), now).await
    }

    fn all(&self, marks: &Marks) -> Vec<SkillFolder> {
        let own = names(&self.root).into_iter().filter(|name| name != INSTALLED);
        let own: Vec<SkillFolder> = own.map(|name| self.look(name, false, marks)).collect();
        let mut all = own.clone();
        for name in names(&self.installed()) {
            let mut found = self.look(name, true, marks);
            if own.iter().any(|own| own.name == found.name) {
                let clash = "There is a skill of this name among your own, which is the one that is used. Rename one of them.";
                found.skill = Err(clash.to_owned());
            }
            all.push(found);
        }
        all
    }

    /// The skill that a job means by `name`.
    fn one(&self, name: &str, marks: &Marks) -> Result<Skill, String> {
        if !is_skill_name(name) {
            return Err(format!("{name:?} is no name of a skill. Change the job's skills."));
        }
        let own = exists(&self.root.join(name)) && name != INSTALLED;
        if !own && !exists(&self.installed().join(name)) {
            return Err(format!(
                "There is no skill called {name}. Put its folder into {}, or do not name it.",
                self.root.display()
            ));
        }
        self.look(name.to_owned(), !own, marks).skill.map_err(|flaw| {
            format!("The skill {name} cannot be used: {flaw} Mend it, or do not name it.")
        })
    }

    fn look(&self, name: String, is_installed: bool, marks: &Marks) -> SkillFolder {
        let place = if is_installed { self.installed() } else { self.root.clone() };
        let folder = place.join(&name);
        let skill = Folder::read(&folder).and_then(|read| {
            let trust = self.trust_of(&name, is_installed, &read.digest, marks);
            read.into_skill(&name, folder.clone(), trust)
        });
        SkillFolder { name, folder, is_installed, skill }
    }

    fn trust_of(&self, name: &str, is_installed: bool, digest: &str, marks: &Marks) -> Trust {
        if !is_installed && !self.is_in_workspace() {
            return Trust::Own;
        }
        match marks.get(name) {
            None => Trust::Untrusted,
            Some(trusted) if trusted == digest => Trust::Trusted,
            Some(_) => Trust::Changed,
        }
    }

    /// Whether agents can write where the skills are.
    fn is_in_workspace(&self) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        real(&self.root).starts_with(real(&self.workspace))
    }
}

impl SkillFiles for SkillShelf {
    fn read<'a>(
        &'a self,
        skill: &'a SkillInRun,
        path: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, SkillRefusal>> {
        Box::pin(async move {
            let (shelf, name, path) = (self.clone(), skill.name.clone(), path.map(str::to_owned));
            let digest = skill.digest.clone();
            let read =
                tokio::task::spawn_blocking(move || shelf.file(&name, &digest, path.as_deref()));
            read.await.expect("BUG: reading a folder does not panic").map_err(SkillRefusal)
        })
    }
}

impl SkillShelf {
    fn file(&self, name: &str, digest: &str, path: Option<&str>) -> Result<String, String> {
        let own = self.root.join(name);
        let folder = if exists(&own) { own } else { self.installed().join(name) };
        let read = Folder::read(&folder)?;
        if read.digest != digest {
            return Err(format!("The skill {name} has changed since this run began. End the run."));
        }
        match path {
            None => Ok(head::parted(read.instructions()?)?.1.to_owned()),
            Some(path) => read.text(path),
        }
    }
}

/// What a call has read of a skill that nobody trusted then; none of one that has read nothing.
fn text_read(input: &Value, output: &Value) -> Option<SkillText> {
    // Where it was too long for the journal its beginning stands there, which is no text of any skill.
    let content = output.as_str().or_else(|| output.get("content")?.as_str())?;
    let head = output.as_str().and_then(head_of_cut);
    if head.as_ref().unwrap_or(output).get("trusted") == Some(&Value::Bool(true)) {
        return None;
    }
    Some(SkillText {
        skill: input.get("skill")?.as_str()?.to_owned(),
        path: input.get("path").and_then(Value::as_str).map(str::to_owned),
        digest: digest_of(content),
    })
}

/// What an answer that was cut says before its content, which is its last field.
fn head_of_cut(answer: &str) -> Option<Value> {
    let (head, _) = answer.split_once(",\"content\":")?;
    serde_json::from_str(&format!("{head}}}")).ok()
}

fn digest_of(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}

/// The names of the folders in `place`; none when it is not there.
fn names(place: &Path) -> Vec<String> {
    let entries = match fs::read_dir(place) {
        Ok(entries) => entries,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(%error, place = %place.display(), "skills cannot be listed");
            }
            return Vec::new();
        }
    };
    // A file beside the folders is nobody's skill; a link is looked at, and refused in words.
    let is_meant = |entry: &fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink())
            && !entry.file_name().to_string_lossy().starts_with('.')
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(is_meant)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names.truncate(MOST_FOLDERS);
    names
}

fn exists(folder: &Path) -> bool {
    folder.symlink_metadata().is_ok()
}
