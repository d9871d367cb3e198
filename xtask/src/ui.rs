//! The web UI: its npm packages and its build.
//!
//! Owns when `npm ci` and `npm run build` are needed. Refuses `npm install`: the lock file decides. One could get it
//! wrong by watching only `ui/src`: the configuration of the build and the page itself lie beside it.

use std::path::Path;

use crate::failure::{Doing, Failure};
use crate::progress::Done;
use crate::{freshness, house, process};

/// What lies under `ui/` without being a source of the build.
const NOT_SOURCES: &[&str] = &["node_modules", "dist", "e2e", "test-results", "playwright-report"];

/// Brings `node_modules` to what the lock file says.
pub(crate) fn install() -> Result<Done, Failure> {
    let [manifest, lock] = ["package.json", "package-lock.json"].map(|name| house::ui().join(name));
    let sources: [&Path; 2] = [&manifest, &lock];
    // Inside node_modules: npm deletes the folder first, so a broken install leaves no stamp.
    let stamp = house::ui().join("node_modules").join(".rouse-installed");
    if freshness::same_content(&sources, &stamp) {
        return Ok(Done::AlreadyFresh);
    }
    process::run(process::npm(["ci", "--no-audit", "--no-fund"]))?;
    freshness::stamp_content(&sources, &stamp).doing(|| format!("write {}", stamp.display()))?;
    Ok(Done::Made)
}

/// Builds `ui/dist`, which the app and the gateway serve.
pub(crate) fn build() -> Result<Done, Failure> {
    let page = house::ui().join("dist").join("index.html");
    let stamp = house::target().join("xtask").join("ui-built");
    // The stamp repeats the page: another page in its place, such as the stand-in of a build without the UI, is stale.
    if freshness::same_content(&[&page], &stamp)
        && freshness::older_than_stamp(&house::ui(), NOT_SOURCES, &stamp)
    {
        return Ok(Done::AlreadyFresh);
    }
    let begun = freshness::moment(&house::target().join("xtask"))
        .doing(|| "write to the target folder".into())?;
    process::run(process::npm(["run", "build"]))?;
    freshness::stamp_content(&[&page], &stamp)
        .and_then(|()| freshness::date_back(&stamp, begun))
        .doing(|| format!("write {}", stamp.display()))?;
    Ok(Done::Made)
}
