//! Tests of archives: usable archives, and the attacks of an archive's author.

use std::io::Cursor;

use super::built::{BuiltEntry, build, entry, folder};
use super::{ArchiveError, BoundedArchive};

const MAX_BYTES: u64 = 200 << 20;

fn open(entries: &[BuiltEntry]) -> Result<BoundedArchive<Cursor<Vec<u8>>>, ArchiveError> {
    BoundedArchive::open(Cursor::new(build(entries)), MAX_BYTES)
}

fn refusal(entries: &[BuiltEntry]) -> String {
    open(entries).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn files_are_unpacked_with_their_content() {
    let entries = [
        entry("manifest.json", "{}"),
        folder("server/"),
        BuiltEntry { mode: 0o100_755, ..entry("server/run", "#!/bin/sh\n") },
        BuiltEntry { is_deflated: false, ..entry("server/lib/a.js", "let a;") },
    ];
    let mut archive = open(&entries).expect("an archive");
    assert_eq!((archive.size().files, archive.size().bytes), (3, 18));
    assert_eq!(archive.read_text("manifest.json", 10).expect("a text"), "{}");
    let files = archive.read_files().expect("all files");
    assert_eq!(
        files.keys().collect::<Vec<_>>(),
        ["manifest.json", "server/lib/a.js", "server/run"]
    );
    assert_eq!(files["server/lib/a.js"], b"let a;");
    let target = tempfile::tempdir().expect("a folder");
    archive.unpack(target.path()).expect("unpacked");
    let text = |path: &str| std::fs::read_to_string(target.path().join(path)).expect("a file");
    assert_eq!(
        (text("server/run").as_str(), text("server/lib/a.js").as_str()),
        ("#!/bin/sh\n", "let a;")
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &str| {
            std::fs::metadata(target.path().join(path)).expect("a file").permissions().mode()
        };
        assert_eq!((mode("server/run") & 0o777, mode("manifest.json") & 0o777), (0o700, 0o600));
    }
}

#[test]
fn path_outside_of_the_folder_is_refused() {
    for (name, reason) in [
        ("../evil.js", "leaves its folder"),
        ("server/../../evil.js", "leaves its folder"),
        ("/etc/evil", "is an absolute path"),
        ("a//b", "empty name"),
        ("./a", "leaves its folder"),
        ("C:/evil.js", "no part of a name"),
        ("a\\..\\b", "no part of a name"),
        ("a\u{0}b", "no part of a name"),
        ("nul.js", "Windows"),
        ("COM1", "Windows"),
        ("a./b", "Windows"),
    ] {
        let refused = refusal(&[entry(name, "x")]);
        assert!(refused.contains(reason), "{name}: {refused}");
    }
}

#[test]
fn links_and_encrypted_files_are_refused() {
    let link = BuiltEntry { mode: 0o120_777, ..entry("a", "/etc/passwd") };
    assert!(refusal(&[link]).contains("is a link or a special file"));
    let device = BuiltEntry { mode: 0o020_666, ..entry("a", "") };
    assert!(refusal(&[device]).contains("is a link or a special file"));
    let encrypted = BuiltEntry { flags: 1, ..entry("a", "x") };
    assert!(refusal(&[encrypted]).contains("is encrypted"));
}

#[test]
fn clashing_names_are_refused() {
    let clashes: [&[(&str, &str)]; 5] = [
        &[("a.js", "1"), ("a.js", "2")],
        &[("a.js", "1"), ("A.js", "2")],
        &[("lib/a.js", "1"), ("Lib/b.js", "2")],
        &[("lib", "1"), ("lib/a.js", "2")],
        &[("lib/a.js", "1"), ("lib", "2")],
    ];
    for names in clashes {
        let entries: Vec<BuiltEntry> =
            names.iter().map(|(name, content)| entry(name, content)).collect();
        assert!(refusal(&entries).contains("clashes with another entry"), "{names:?}");
    }
    assert_eq!(refusal(&[folder("lib/"), entry("lib/a.js", "1")]), "");
}

#[test]
fn archive_over_a_bound_is_refused() {
    let zeros = "0".repeat(2 << 20);
    assert!(refusal(&[entry("zeros", &zeros)]).contains("packs zeros more than 200 times"));
    let declared = |name: &str| BuiltEntry {
        declared: Some(150 << 20),
        is_deflated: false,
        ..entry(name, &zeros)
    };
    assert!(refusal(&[declared("a"), declared("b")]).contains("200 MB of unpacked files"));
    let small = BoundedArchive::open(Cursor::new(build(&[entry("a", &zeros[..1000])])), 999);
    assert!(small.err().is_some_and(|error| error.to_string().contains("of unpacked files")));
    let many: Vec<BuiltEntry> = (0..20_001).map(|number| folder(&format!("{number}/"))).collect();
    assert!(refusal(&many).contains("more than 20000 entries"));
}

#[test]
fn content_beside_the_directory_is_refused() {
    let target = tempfile::tempdir().expect("a folder");
    let short = BuiltEntry { declared: Some(2), ..entry("short", "longer") };
    let long = BuiltEntry { declared: Some(9), ..entry("long", "x") };
    for entry in [short, long] {
        let name = entry.name.clone();
        let mut archive = open(&[entry]).expect("a directory");
        let error = archive.unpack(target.path()).expect_err("damaged").to_string();
        assert!(
            error.starts_with(&format!("The file {name} of the archive is damaged.")),
            "{error}"
        );
    }
    let mut bytes = build(&[entry("a", "content")]);
    bytes[32] ^= 1;
    let mut archive = BoundedArchive::open(Cursor::new(bytes), MAX_BYTES).expect("a directory");
    let other = tempfile::tempdir().expect("a folder");
    assert!(archive.unpack(other.path()).is_err());
}

#[test]
fn two_names_of_one_entry_are_refused() {
    let renamed = BuiltEntry { local_name: Some("evil".to_owned()), ..entry("name", "x") };
    let refused = refusal(&[renamed]);
    assert!(refused.contains("filename mismatch"), "{refused}");
}

#[test]
fn other_files_are_no_archives() {
    let cut = build(&[entry("a", "x")]);
    let mut prefixed = b"MZ".to_vec();
    prefixed.extend(&cut);
    for bytes in [Vec::new(), b"no zip".to_vec(), cut[..cut.len() - 1].to_vec(), prefixed] {
        let error =
            BoundedArchive::open(Cursor::new(bytes), MAX_BYTES).err().expect("refused").to_string();
        assert!(error.contains("no zip archive that Rouse reads"), "{error}");
    }
}
