//! The web UI: its npm packages and its build.
//!
//! Owns when `npm ci` and `npm run build` run. Never runs `npm install`: the lock file decides. Pitfall: watching
//! only `ui/src`; the page and the build configuration lie beside it.

use std::path::Path;

use crate::error::{ChoreError, ErrorContext};
use crate::progress::ChoreOutcome;
use crate::{build_stamp, paths, process};

/// Entries of `ui/` that are not sources of the build.
const IGNORED_ENTRIES: &[&str] =
    &["node_modules", "dist", "e2e", "test-results", "playwright-report"];

/// Installs the packages of the lock file.
pub(crate) fn install() -> Result<ChoreOutcome, ChoreError> {
    let [manifest, lock] = ["package.json", "package-lock.json"].map(|name| paths::ui().join(name));
    let sources: [&Path; 2] = [&manifest, &lock];
    // npm deletes this folder first, so a broken install leaves no stamp.
    let stamp = paths::ui().join("node_modules").join(".rouse-installed");
    if build_stamp::has_same_content(&sources, &stamp) {
        return Ok(ChoreOutcome::UpToDate);
    }
    process::run(process::npm(["ci", "--no-audit", "--no-fund"]))?;
    build_stamp::write_content_stamp(&sources, &stamp)
        .with_context(|| format!("write {}", stamp.display()))?;
    Ok(ChoreOutcome::Done)
}

/// Builds `ui/dist`, which the app and the gateway serve.
pub(crate) fn build() -> Result<ChoreOutcome, ChoreError> {
    let page = paths::ui().join("dist").join("index.html");
    let stamp = paths::target().join("xtask").join("ui-built");
    // The stamp repeats the page, so a replaced page, such as the placeholder, is stale.
    if build_stamp::has_same_content(&[&page], &stamp)
        && build_stamp::is_older_than_stamp(&paths::ui(), IGNORED_ENTRIES, &stamp)
    {
        return Ok(ChoreOutcome::UpToDate);
    }
    let started = build_stamp::current_file_time(&paths::target().join("xtask"))
        .with_context(|| "write to the target folder".into())?;
    process::run(process::npm(["run", "build"]))?;
    build_stamp::write_content_stamp(&[&page], &stamp)
        .and_then(|()| build_stamp::set_stamp_time(&stamp, started))
        .with_context(|| format!("write {}", stamp.display()))?;
    Ok(ChoreOutcome::Done)
}
