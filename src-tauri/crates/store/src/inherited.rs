//! What the later runs of a session inherit of what its earlier ones have read.
//!
//! What a run has read stands in its own journal. A run that is told what that one said knows it too, and says it again;
//! when the first one is kept no longer, or lies too far behind, nothing else would tell of it. So whoever begins with
//! something of the kind leaves a mark with the session, which goes with its last message and is cleared with it. One could
//! get it wrong by marking what was read alone: the heirs would be believed.

use rouse_core::{SessionKey, UnixMs};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::row::Columns;
use crate::write::Durability;
use crate::{Store, StoreError};

/// What runs of a session begin with, whatever they do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inherited {
    /// Whether somebody else than the person may have written what was read.
    pub from_outside: bool,
    /// The texts of skills that nobody trusted when they were read.
    pub skill_texts: Vec<SkillText>,
}

/// A text of a skill that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillText {
    /// The skill.
    pub skill: String,
    /// Which of its files; its instructions when none.
    pub path: Option<String>,
    /// The SHA-256 of the text, in hexadecimal digits.
    pub digest: String,
}

impl Inherited {
    /// The same with what another one holds.
    fn with(&self, other: &Self) -> Self {
        let new = other.skill_texts.iter().filter(|text| !self.skill_texts.contains(text));
        let skill_texts = self.skill_texts.iter().chain(new).cloned().collect();
        Self { from_outside: self.from_outside || other.from_outside, skill_texts }
    }
}

pub(crate) const GET: &str = "SELECT from_outside, skill_texts FROM sessions WHERE key = ?1";
const MARK: &str = "UPDATE sessions SET from_outside = ?2, skill_texts = ?3 WHERE key = ?1";

impl Store {
    /// What the next run of a session inherits.
    ///
    /// # Errors
    /// `Read`.
    pub async fn inherited(&self, session: &SessionKey) -> Result<Inherited, StoreError> {
        let query = sqlx::query(GET).bind(session.as_str());
        let found = self.one("read the session", query, |row| {
            let mut columns = Columns::of(row);
            read(&mut columns)
        });
        Ok(found.await?.unwrap_or_default())
    }

    /// Leaves this to the later runs of a session, beside what they inherit already. One in which nothing was said has none.
    ///
    /// # Errors
    /// `Read`, `Write`.
    pub async fn bequeath(
        &self,
        session: &SessionKey,
        left: &Inherited,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        if *left == Inherited::default() {
            return Ok(());
        }
        let known = self.inherited(session).await?;
        if known.with(left) == known {
            return Ok(());
        }
        let mut write = self.write("mark the session", Durability::Normal, now).await?;
        // Another run may have left something since.
        let known = sqlx::query(GET).bind(session.as_str());
        let known = write.one(known, |row| read(&mut Columns::of(row))).await?;
        let all = known.unwrap_or_default().with(left);
        let query = sqlx::query(MARK).bind(session.as_str()).bind(all.from_outside);
        write.run(query.bind(json!(all.skill_texts).to_string())).await?;
        write.commit().await
    }
}

pub(crate) fn read(columns: &mut Columns<'_>) -> sqlx::Result<Inherited> {
    let from_outside = columns.get()?;
    let texts = columns.json().map(serde_json::from_value::<Vec<SkillText>>);
    // What cannot be read is nobody's to forget: it stays as a text that nobody can trust.
    let unreadable = || SkillText { skill: "?".to_owned(), path: None, digest: String::new() };
    let skill_texts = match texts {
        Ok(Ok(texts)) => texts,
        Ok(Err(_)) | Err(_) => vec![unreadable()],
    };
    Ok(Inherited { from_outside, skill_texts })
}
