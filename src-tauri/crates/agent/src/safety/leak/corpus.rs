//! Texts without secrets: no false findings.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{StoredValues, find, find_stored};

const CLEAN: &[(&str, &str)] = &[
    ("the lock file", include_str!("../../../../../../Cargo.lock")),
    ("the introduction", include_str!("../../../../../../README.md")),
    ("the manual of agents", include_str!("../../../../../../docs/agents.md")),
    ("the manual of settings", include_str!("../../../../../../docs/settings.md")),
    ("the architecture", include_str!("../../../../../../ARCHITECTURE.md")),
    ("what Rouse defends against", include_str!("../../../../../../SECURITY.md")),
    ("a source file", include_str!("../../gate/mod.rs")),
];

#[test]
fn clean_text_is_left_alone() {
    let nothing = StoredValues::new(std::iter::empty());
    for (name, text) in CLEAN {
        assert_eq!(find(text, &nothing), Vec::new(), "{name}");
    }
}

#[test]
fn random_looking_text_is_no_secret() {
    let nothing = StoredValues::new(std::iter::empty());
    let clean = [
        "commit 1f5f6ed0c0a73f2a3b6d3e0f5f1c9a8b7e6d5c4b",
        "checksum = \"c88e4a1a5d9a7f0ac6ad0f1f7d5a0f4b3c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f\"",
        "id: 550e8400-e29b-41d4-a716-446655440000",
        "integrity sha512-Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYg==",
        "the key is in the keyring, the token is in the token file, and the secret is a secret",
        "https://example.com/search?q=a+long+query&page=2#results",
        "postgres://user:password@localhost/db and https://user:${TOKEN}@example.com/",
        "Authorization: Bearer {{secret:github}}",
        "git@github.com:rust-lang/rust.git ssh://git@host:22/path",
        "password = \"********************\"; api_key = \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
        "AKIAIOSFODNN7EXAMPLE",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "discord: 123456789012345678, twitter: internationalizations1x",
    ];
    for text in clean {
        assert_eq!(find(text, &nothing), Vec::new(), "{text}");
    }
}

/// Code, prose, lock files, data, and pictures as data URLs.
fn ordinary_files(folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if entry.file_type().expect("a kind").is_dir() {
            if !["target", "node_modules", "dist", ".git", "safety"].contains(&name.as_str()) {
                ordinary_files(&path, files);
            }
            continue;
        }
        let kind = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        match kind.as_str() {
            "rs" | "ts" | "tsx" | "css" | "md" | "toml" | "json" | "lock" | "sql" | "svg" => {
                files.push((name, fs::read_to_string(&path).expect("a text")));
            }
            "png" | "ico" | "icns" => {
                let picture = STANDARD.encode(fs::read(&path).expect("a picture"));
                files.push((name, format!("<img src=\"data:image/png;base64,{picture}\">")));
            }
            _ => {}
        }
    }
}

/// Typical values of secrets, some weak.
const STORED: [&str; 9] = [
    "marigold-63-Rumba",
    "hunter7hunter7",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "Tr0ub4dor&3",
    "20261122T0930",
    "4929103847561",
    "Sommer2026!",
    "c0ffee-1234",
    "grau&%43<no>☂y",
];

#[test]
fn ordinary_files_hold_no_stored_value() {
    let stored = StoredValues::new(STORED.iter().map(|secret| ("mail", *secret)));
    let (mut files, mut bytes) = (Vec::new(), 0);
    ordinary_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.."), &mut files);
    for (name, text) in &files {
        let found = find_stored(text, &stored);
        let seen: Vec<&str> = found.iter().map(|finding| &text[finding.at.clone()]).collect();
        assert!(seen.is_empty(), "{name}: {seen:?}");
        bytes += text.len();
    }
    assert!(bytes > 2 << 20, "{bytes} bytes are no corpus");
}
