//! Text without secrets: what nobody may take for one.

use super::{Known, find};

const CLEAN: &[(&str, &str)] = &[
    ("the lock file", include_str!("../../../../../../Cargo.lock")),
    ("the manual", include_str!("../../../../../../README.md")),
    ("the architecture", include_str!("../../../../../../ARCHITECTURE.md")),
    ("what Rouse defends against", include_str!("../../../../../../SECURITY.md")),
    ("a source file", include_str!("../../gate/mod.rs")),
];

#[test]
fn clean_text_is_left_alone() {
    let nothing = Known::new(std::iter::empty());
    for (name, text) in CLEAN {
        assert_eq!(find(text, &nothing), Vec::new(), "{name}");
    }
}

#[test]
fn what_only_looks_random_is_no_secret() {
    let nothing = Known::new(std::iter::empty());
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
