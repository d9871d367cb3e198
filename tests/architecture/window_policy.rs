//! The permissions of the page in the desktop window, in Tauri's configuration.
//!
//! Owns the allowed sources and permissions. Pitfall: checking only forbidden entries; a policy without `default-src`
//! allows everything.

use std::fs;

use serde_json::Value;

use crate::source_files;

/// The allowed sources of the page.
const ALLOWED_SOURCES: &[&str] = &["'none'", "'self'", "data:", "ipc:", "http://ipc.localhost"];
/// The allowed permissions besides the shell's own commands, which have no prefix.
const CORE_PERMISSIONS: &[&str] = &["core:event:allow-listen", "core:event:allow-unlisten"];

/// A JSON file of the repository.
pub(crate) fn json(path: &str) -> Value {
    let text = fs::read_to_string(source_files::root().join(path)).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}

/// Every violation in the window's configuration or capability.
pub(crate) fn policy_violations(config: &Value, capability: &Value) -> Vec<String> {
    let policy = &config["app"]["security"]["csp"];
    let sources = policy.as_object().into_iter().flatten().flat_map(|(directive, sources)| {
        let sources = sources.as_str().unwrap_or("not a text").split(' ');
        sources
            .filter(|source| !ALLOWED_SOURCES.contains(source))
            .map(move |source| format!("{directive} {source}"))
    });
    let permissions = capability["permissions"].as_array().into_iter().flatten();
    let foreign = permissions
        .map(|permission| permission.as_str().unwrap_or("not a text"))
        .filter(|name| {
            !CORE_PERMISSIONS.contains(name) && (name.contains(':') || !name.starts_with("allow-"))
        })
        .map(str::to_owned);
    let facts = [
        (policy["default-src"] == "'none'", "default-src is not 'none'"),
        (policy["script-src"] == "'self'", "script-src is not 'self'"),
        (config["app"]["withGlobalTauri"] == false, "withGlobalTauri is not off"),
        (capability["windows"] == serde_json::json!(["main"]), "windows beside main"),
        (capability["remote"].is_null(), "pages from elsewhere"),
    ];
    let violations =
        facts.into_iter().filter(|(holds, _)| !holds).map(|(_, problem)| problem.to_owned());
    sources.chain(foreign).chain(violations).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_violation_is_found() {
        let config = json!({ "app": { "withGlobalTauri": true, "security": {
            "csp": { "script-src": "'self' 'unsafe-inline'", "img-src": "'self' https:" } } } });
        let capability = json!({ "windows": ["*"], "remote": {},
            "permissions": ["allow-rpc", "core:event:allow-listen", "core:default", "fs"] });
        assert_eq!(policy_violations(&config, &capability).len(), 9);
    }
}
