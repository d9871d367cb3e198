//! The entitlements of the bundle for macOS.
//!
//! Owns the closed list. Pitfall: an entitlement that weakens the whole app; each needs a reason in the file.

/// What the sandbox for WebAssembly needs under the hardened runtime.
const ALLOWED: [&str; 2] =
    ["com.apple.security.cs.allow-jit", "com.apple.security.cs.allow-unsigned-executable-memory"];

/// The missing and the foreign entitlements of a property list.
pub(crate) fn entitlement_violations(plist: &str) -> Vec<String> {
    let plist: String = plist.split_whitespace().collect();
    let keys: Vec<&str> = plist
        .split("<key>")
        .skip(1)
        .filter_map(|rest| rest.split_once("</key>").map(|(key, _)| key))
        .collect();
    let missing = ALLOWED
        .iter()
        .filter(|key| !plist.contains(&format!("<key>{key}</key><true/>")))
        .map(|key| format!("{key} is missing"));
    let foreign = keys.iter().filter(|key| !ALLOWED.contains(key));
    missing.chain(foreign.map(|key| format!("{key} is not allowed"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_violation_is_found() {
        let plist = "<dict><key>com.apple.security.cs.allow-jit</key> <false/>
            <key>com.apple.security.cs.disable-library-validation</key><true/></dict>";
        assert_eq!(entitlement_violations(plist).len(), 3);
    }
}
