//! The table `tool_builds`: the checked versions of built tools, one row per name and hash.
//!
//! Owns recording a check, the single accepted version of a name, and the limit of versions. Never checks a tool and
//! never decides about one. The newest version has the highest `seq`: a clock rollback misorders `checked_at`.
//! Pitfall: pruning the accepted version.

use rouse_core::event::EventKind;
use rouse_core::extension::{ExtensionName, ToolBuild, ToolBuildState};
use rouse_core::{RunId, UnixMs};
use serde_json::json;

use crate::sql::{Durability, Store, StoreError, Transaction, from_columns};

/// The most versions of a name.
const MAX_VERSIONS: u32 = 20;

/// The columns that `ToolBuild` reads, in order, with this expression for the files.
macro_rules! tool_build_columns {
    ($files:literal) => {
        concat!(
            "name, hash, language, engine, engine_version, tests, errors, ",
            $files,
            ", manifest, run_id, is_tainted, checked_at, state"
        )
    };
}

pub(crate) const GET: &str = concat!(
    "SELECT ",
    tool_build_columns!("files"),
    " FROM tool_builds WHERE name = $1 AND hash = $2"
);
// A list has no files: a version may have many.
pub(crate) const OF_NAME: &str = concat!(
    "SELECT ",
    tool_build_columns!("'[]'"),
    " FROM tool_builds WHERE name = $1 ORDER BY seq DESC"
);
pub(crate) const NEWEST: &str = concat!(
    "SELECT ",
    tool_build_columns!("'[]'"),
    " FROM tool_builds WHERE state = 'accepted'
        OR seq IN (SELECT max(seq) FROM tool_builds GROUP BY name) ORDER BY seq DESC"
);
pub(crate) const STATE: &str = "SELECT state FROM tool_builds WHERE name = $1 AND hash = $2";
// The run of the first check made the version. Taint stays: the content is the same.
const RECORD: &str = concat!(
    "INSERT INTO tool_builds (seq, ",
    tool_build_columns!("files"),
    ") VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM tool_builds),
        $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
    ON CONFLICT (name, hash) DO UPDATE SET seq = excluded.seq, language = $3, engine = $4,
        engine_version = $5, tests = $6, errors = $7, files = $8, manifest = $9,
        is_tainted = tool_builds.is_tainted OR $11, checked_at = $12, state = $13"
);
const PRUNE: &str = "DELETE FROM tool_builds WHERE name = $1 AND hash NOT IN
    (SELECT hash FROM tool_builds WHERE name = $1
     ORDER BY CASE WHEN state = 'accepted' THEN 0 ELSE 1 END, seq DESC LIMIT $2)";
pub(crate) const REPLACE_ACCEPTED: &str = "UPDATE tool_builds SET state = 'replaced'
    WHERE name = $1 AND state = 'accepted' AND hash <> $2";
pub(crate) const SET_STATE: &str =
    "UPDATE tool_builds SET state = $3 WHERE name = $1 AND hash = $2";
const REMOVE: &str = "DELETE FROM tool_builds WHERE name = $1 AND hash <> $2";

from_columns!(ToolBuild: name, hash, language, engine, engine_version, tests, errors, files,
    manifest, run_id, is_tainted, checked_at, state);

impl Store {
    /// Records a check and returns the state of the version. Event `config`.
    ///
    /// A further check of a version replaces its facts; [`ToolBuildState::after_check`] decides the state. At most 20
    /// versions of the name stay: the accepted version and the newest ones.
    pub async fn record_tool_build(
        &self,
        build: &ToolBuild,
        now: UnixMs,
    ) -> Result<ToolBuildState, StoreError> {
        let mut tx = self.begin("save the check of a tool", Durability::Full, now).await?;
        let (name, hash) = (build.name.as_str(), build.hash.as_str());
        let stored = tx.fetch_optional(sqlx::query(STATE).bind(name).bind(hash)).await?;
        let after_check = |stored: ToolBuildState| stored.after_check(build.state);
        let state = stored.map_or(build.state, after_check);
        insert_or_update(&mut tx, build, state).await?;
        tx.execute(sqlx::query(PRUNE).bind(name).bind(MAX_VERSIONS)).await?;
        emit_change(&mut tx, &build.name);
        tx.commit().await?;
        Ok(state)
    }

    /// A version of a built tool.
    pub async fn tool_build(
        &self,
        name: &ExtensionName,
        hash: &str,
    ) -> Result<Option<ToolBuild>, StoreError> {
        let query = sqlx::query(GET).bind(name.as_str()).bind(hash);
        self.fetch_optional("read a built tool", query).await
    }

    /// The versions of a name without their files; the version checked last first.
    pub async fn tool_versions(&self, name: &ExtensionName) -> Result<Vec<ToolBuild>, StoreError> {
        let query = sqlx::query(OF_NAME).bind(name.as_str());
        self.fetch_all("read the built tools", query).await
    }

    /// The newest and the accepted version of each name, without their files; the version checked last first.
    pub async fn newest_tool_builds(&self) -> Result<Vec<ToolBuild>, StoreError> {
        self.fetch_all("read the built tools", sqlx::query(NEWEST)).await
    }

    /// Sets the state of a version. Accepting a version sets an earlier accepted version of the name to `Replaced`.
    /// Returns false without the version. Event `config`.
    pub async fn set_tool_build_state(
        &self,
        name: &ExtensionName,
        hash: &str,
        state: ToolBuildState,
        now: UnixMs,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin("save the state of a built tool", Durability::Full, now).await?;
        if state == ToolBuildState::Accepted {
            tx.execute(sqlx::query(REPLACE_ACCEPTED).bind(name.as_str()).bind(hash)).await?;
        }
        let set = sqlx::query(SET_STATE).bind(name.as_str()).bind(hash).bind(state.name());
        if tx.execute(set).await? == 0 {
            return tx.roll_back().await.map(|()| false);
        }
        emit_change(&mut tx, name);
        tx.commit().await.map(|()| true)
    }

    /// Removes the versions of a name, except the version with the hash `kept`. Returns false without any. Event
    /// `config`.
    pub async fn remove_tool_builds(
        &self,
        name: &ExtensionName,
        kept: Option<&str>,
        now: UnixMs,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin("remove a built tool", Durability::Full, now).await?;
        let remove = sqlx::query(REMOVE).bind(name.as_str()).bind(kept.unwrap_or_default());
        if tx.execute(remove).await? == 0 {
            return tx.roll_back().await.map(|()| false);
        }
        emit_change(&mut tx, name);
        tx.commit().await.map(|()| true)
    }
}

async fn insert_or_update(
    tx: &mut Transaction,
    build: &ToolBuild,
    state: ToolBuildState,
) -> Result<(), StoreError> {
    let query = sqlx::query(RECORD)
        .bind(build.name.as_str())
        .bind(build.hash.as_str())
        .bind(build.language.name())
        .bind(build.engine.as_str())
        .bind(build.engine_version.as_str())
        .bind(json!(build.tests).to_string())
        .bind(json!(build.errors).to_string())
        .bind(json!(build.files).to_string())
        .bind(build.manifest.to_string())
        .bind(build.run_id.as_ref().map(RunId::as_str))
        .bind(build.is_tainted)
        .bind(build.checked_at.0)
        .bind(state.name());
    tx.execute(query).await.map(drop)
}

fn emit_change(tx: &mut Transaction, name: &ExtensionName) {
    tx.emit(EventKind::Config, json!({ "toolBuilds": name }));
}
