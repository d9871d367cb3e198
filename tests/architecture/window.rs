//! What the page in the desktop window may reach, as Tauri is told.
//!
//! Owns the few sources and permissions that there are. One could get it wrong by looking only for what is forbidden: a
//! policy without its first directive allows everything.

use std::fs;

use serde_json::Value;

use crate::tree;

/// The only places from which the page may load anything.
const SOURCES: &[&str] = &["'none'", "'self'", "data:", "ipc:", "http://ipc.localhost"];
/// What the page may do beside the shell's own commands, whose permissions have no room in their names.
const CORE: &[&str] = &["core:event:allow-listen", "core:event:allow-unlisten"];

/// A JSON file of the repository.
pub(crate) fn json(path: &str) -> Value {
    let text = fs::read_to_string(tree::root().join(path)).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}

/// Every way out of the window that its configuration or its capability leaves open.
pub(crate) fn ways_out(config: &Value, capability: &Value) -> Vec<String> {
    let policy = &config["app"]["security"]["csp"];
    let sources = policy.as_object().into_iter().flatten().flat_map(|(directive, sources)| {
        let sources = sources.as_str().unwrap_or("not a text").split(' ');
        sources
            .filter(|source| !SOURCES.contains(source))
            .map(move |source| format!("{directive} {source}"))
    });
    let permissions = capability["permissions"].as_array().into_iter().flatten();
    let foreign = permissions
        .map(|permission| permission.as_str().unwrap_or("not a text"))
        .filter(|name| !CORE.contains(name) && (name.contains(':') || !name.starts_with("allow-")))
        .map(str::to_owned);
    let facts = [
        (policy["default-src"] == "'none'", "default-src is not 'none'"),
        (policy["script-src"] == "'self'", "script-src is not 'self'"),
        (config["app"]["withGlobalTauri"] == false, "withGlobalTauri is not off"),
        (capability["windows"] == serde_json::json!(["main"]), "windows beside main"),
        (capability["remote"].is_null(), "pages from elsewhere"),
    ];
    let wrong = facts.into_iter().filter(|(holds, _)| !holds).map(|(_, what)| what.to_owned());
    sources.chain(foreign).chain(wrong).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_way_out_is_found() {
        let config = json!({ "app": { "withGlobalTauri": true, "security": {
            "csp": { "script-src": "'self' 'unsafe-inline'", "img-src": "'self' https:" } } } });
        let capability = json!({ "windows": ["*"], "remote": {},
            "permissions": ["allow-rpc", "core:event:allow-listen", "core:default", "fs"] });
        assert_eq!(ways_out(&config, &capability).len(), 9);
    }
}
