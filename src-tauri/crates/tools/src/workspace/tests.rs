//! Escapes from the workspace, each of which must fail.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;

use super::{EntryKind, Workspace, WorkspaceError};

/// A workspace `work/` with files, beside `outside/secret.txt`.
struct WorkspaceFixture {
    dir: TempDir,
}

impl WorkspaceFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for folder in ["work/sub/deep", "outside"] {
            fs::create_dir_all(dir.path().join(folder)).expect("a folder");
        }
        for (file, text) in [
            ("work/a.txt", "inside a"),
            ("work/sub/b.txt", "inside b"),
            ("outside/secret.txt", "secret"),
        ] {
            fs::write(dir.path().join(file), text).expect("a file");
        }
        Self { dir }
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    fn open(&self) -> Workspace {
        Workspace::open(&self.work()).expect("the workspace opens")
    }

    fn write(&self, path: &str, text: &str) -> Result<bool, WorkspaceError> {
        let workspace = self.open();
        workspace.replace_file(&workspace.parse_path(path)?, text.as_bytes())
    }

    /// Asserts that nothing outside has changed.
    fn assert_outside_unchanged(&self) {
        let names = |folder: PathBuf| {
            let list_entries = fs::read_dir(folder).expect("listed");
            let mut names: Vec<_> =
                list_entries.map(|entry| entry.expect("an entry").file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(self.outside()), ["secret.txt"]);
        assert_eq!(names(self.dir.path().to_owned()), ["outside", "work"]);
        let secret = fs::read_to_string(self.outside().join("secret.txt"));
        assert_eq!(secret.expect("present"), "secret");
    }

    fn read(&self, path: &str) -> Result<String, WorkspaceError> {
        let workspace = self.open();
        let (file, _) = workspace.open_file(&workspace.parse_path(path)?)?;
        let mut text = String::new();
        file.take(1_000).read_to_string(&mut text).expect("readable");
        Ok(text)
    }
}

#[test]
fn files_inside_open() {
    let fixture = WorkspaceFixture::new();
    let absolute = fixture.work().join("sub/b.txt");
    let cases = [
        ("a.txt", "inside a"),
        ("./a.txt", "inside a"),
        ("sub/b.txt", "inside b"),
        ("sub//./b.txt", "inside b"),
        (absolute.to_str().expect("plain"), "inside b"),
    ];
    for (path, expected) in cases {
        assert_eq!(fixture.read(path).expect("opened"), expected, "{path}");
    }
}

#[test]
fn path_outside_is_refused() {
    let fixture = WorkspaceFixture::new();
    let secret = fixture.outside().join("secret.txt");
    let around = fixture.work().join("../outside/secret.txt");
    let sibling = format!("{}-other/x", fixture.work().display());
    let paths = [
        "..",
        "../outside/secret.txt",
        "sub/../../outside/secret.txt",
        "sub/..",
        "./../a",
        "sub/../a.txt",
        "/etc/passwd",
        "/",
        secret.to_str().expect("plain"),
        around.to_str().expect("plain"),
        &sibling,
    ];
    for path in paths {
        let error = fixture.read(path).expect_err(path);
        assert!(matches!(error, WorkspaceError::Outside { .. }), "{path}: {error:?}");
    }
}

#[test]
fn missing_path_or_non_file_is_an_error() {
    let fixture = WorkspaceFixture::new();
    assert!(matches!(fixture.read("none.txt"), Err(WorkspaceError::Missing { .. })));
    assert!(matches!(fixture.read("none/x.txt"), Err(WorkspaceError::Missing { .. })));
    assert!(matches!(fixture.read("sub"), Err(WorkspaceError::IsAFolder { .. })));
    assert!(matches!(fixture.read("."), Err(WorkspaceError::IsAFolder { .. })));
    assert!(matches!(fixture.read("a\0.txt"), Err(WorkspaceError::Unusable { .. })));
    assert!(matches!(fixture.read(&"x".repeat(300)), Err(WorkspaceError::Unusable { .. })));
    let workspace = fixture.open();
    let file = workspace.parse_path("a.txt").expect("plain");
    assert!(matches!(workspace.list_entries(&file, 10), Err(WorkspaceError::NotAFolder { .. })));
    let nowhere = fixture.dir.path().join("nowhere");
    assert!(matches!(Workspace::open(&nowhere), Err(WorkspaceError::Root { .. })));
    assert!(matches!(
        Workspace::open(&fixture.work().join("a.txt")),
        Err(WorkspaceError::Root { .. })
    ));
}

#[test]
fn folder_lists_its_entries() {
    let fixture = WorkspaceFixture::new();
    let workspace = fixture.open();
    let root = workspace.parse_path(".").expect("plain");
    let (mut list_entries, has_more) = workspace.list_entries(&root, 10).expect("listed");
    list_entries.sort_by(|a, b| a.name.cmp(&b.name));
    let seen: Vec<_> = list_entries.iter().map(|entry| (entry.name.to_str(), entry.kind)).collect();
    assert_eq!(seen, [(Some("a.txt"), EntryKind::File), (Some("sub"), EntryKind::Folder)]);
    assert_eq!((list_entries[0].size, has_more), (8, false));
    assert!(workspace.list_entries(&root, 1).expect("listed").1, "more than 1 entry");
    assert!(!workspace.list_entries(&root, 2).expect("listed").1, "just 2 entries");
}

#[test]
fn write_outside_is_refused() {
    let fixture = WorkspaceFixture::new();
    let secret = fixture.outside().join("secret.txt");
    let around = fixture.work().join("../outside/secret.txt");
    let shouted = fixture.work().join("a.txt").display().to_string().to_uppercase();
    let paths = [
        "../new.txt",
        "../outside/secret.txt",
        "sub/../../outside/secret.txt",
        "new/../../new.txt",
        "sub/..",
        "/tmp/rouse-new.txt",
        secret.to_str().expect("plain"),
        around.to_str().expect("plain"),
        // A case-insensitive disk has the same path; still counts as outside.
        &shouted,
    ];
    for path in paths {
        let error = fixture.write(path, "x").expect_err(path);
        assert!(matches!(error, WorkspaceError::Outside { .. }), "{path}: {error:?}");
        let workspace = fixture.open();
        let folder = workspace.parse_path(path).and_then(|path| workspace.create_folder(&path));
        assert!(matches!(folder, Err(WorkspaceError::Outside { .. })), "{path}: {folder:?}");
    }
    fixture.assert_outside_unchanged();
}

#[test]
fn home_path_is_inside_only_in_a_workspace_at_home() {
    let fixture = WorkspaceFixture::new();
    for path in ["~", "~/x.txt", "~/../x.txt"] {
        let error = fixture.write(path, "x").expect_err(path);
        assert!(matches!(error, WorkspaceError::Outside { .. }), "{path}: {error:?}");
    }
    let home_folder = crate::workspace::home_folder().expect("a home_folder");
    assert_eq!(crate::workspace::expand_home("~/a/b"), Some(home_folder.join("a/b")));
    assert_eq!(crate::workspace::expand_home("~other/a"), None);
    assert_eq!(crate::workspace::expand_home("a/~/b"), None);
}

#[test]
fn unwritable_target_is_an_error_and_unchanged() {
    let fixture = WorkspaceFixture::new();
    assert!(matches!(fixture.write("sub", "x"), Err(WorkspaceError::IsAFolder { .. })));
    assert!(matches!(fixture.write(".", "x"), Err(WorkspaceError::IsAFolder { .. })));
    assert!(matches!(fixture.write("a.txt/x", "x"), Err(WorkspaceError::NotAFolder { .. })));
    assert!(matches!(fixture.write("a.txt/x/y", "x"), Err(WorkspaceError::NotAFolder { .. })));
    assert!(matches!(fixture.write("a\0", "x"), Err(WorkspaceError::Unusable { .. })));
    assert!(matches!(fixture.write(&"x".repeat(300), "x"), Err(WorkspaceError::Unusable { .. })));
    let path = fixture.work().join("a.txt");
    let mut rights = fs::metadata(&path).expect("present").permissions();
    rights.set_readonly(true);
    fs::set_permissions(&path, rights).expect("rights");
    assert!(matches!(fixture.write("a.txt", "x"), Err(WorkspaceError::ReadOnly { .. })));
    assert_eq!(fixture.read("a.txt").expect("opened"), "inside a");
}

#[test]
fn hard_link_is_neither_read_nor_written() {
    let fixture = WorkspaceFixture::new();
    fs::hard_link(fixture.outside().join("secret.txt"), fixture.work().join("linked.txt"))
        .expect("a hard link");
    assert!(matches!(fixture.read("linked.txt"), Err(WorkspaceError::HardLink { .. })));
    assert!(matches!(fixture.write("linked.txt", "x"), Err(WorkspaceError::HardLink { .. })));
    fixture.assert_outside_unchanged();
}

#[test]
fn reader_during_a_write_sees_old_or_new_content() {
    let fixture = WorkspaceFixture::new();
    let [old, new] = ["o", "n"].map(|letter| letter.repeat(100_000));
    fixture.write("a.txt", &old).expect("written");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut count = 0_u32;
            while count == 0 || !is_over.load(Ordering::Relaxed) {
                let text = fs::read_to_string(fixture.work().join("a.txt")).expect("present");
                assert!(text == old || text == new, "a part: {} bytes", text.len());
                count += 1;
            }
        });
        for round in 0..200 {
            let text = if round % 2 == 0 { &new } else { &old };
            assert!(!fixture.write("a.txt", text).expect("written"));
        }
        is_over.store(true, Ordering::Relaxed);
        reader.join().expect("whole files only");
    });
}

#[cfg(unix)]
mod unix {
    use std::os::fd::AsFd;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use rustix::fs::OFlags;

    use super::*;
    use crate::workspace::system;

    /// The links of `work/`: name and target.
    fn with_links() -> WorkspaceFixture {
        let fixture = WorkspaceFixture::new();
        let outside = fixture.outside();
        let secret = outside.join("secret.txt");
        let links: [(&str, &Path); 9] = [
            ("out-file", &secret),
            ("out-dir", &outside),
            ("out-parse_path", Path::new("../outside/secret.txt")),
            ("sub/out-up", Path::new("../../outside")),
            ("chain", Path::new("out-dir")),
            ("root", Path::new("/")),
            ("magic", Path::new("/proc/self/root")),
            ("loop", Path::new("loop")),
            ("self-up", Path::new("..")),
        ];
        for (name, to) in links {
            symlink(to, fixture.work().join(name)).expect("a link");
        }
        fixture
    }

    #[test]
    fn links_never_lead_outside() {
        let fixture = with_links();
        let secret = fixture.outside().join("secret.txt");
        let through_root = format!("root{}", secret.display());
        let through_magic = format!("magic{}", secret.display());
        let paths = [
            "out-file",
            "out-dir/secret.txt",
            "out-parse_path",
            "sub/out-up/secret.txt",
            "chain/secret.txt",
            "self-up/outside/secret.txt",
            "loop",
            "loop/x",
            &through_root,
            &through_magic,
            "root/etc/passwd",
        ];
        for path in paths {
            let error = fixture.read(path).expect_err(path);
            let is_refused = matches!(
                error,
                WorkspaceError::Outside { .. }
                    | WorkspaceError::Link { .. }
                    | WorkspaceError::NotAFolder { .. }
            );
            assert!(is_refused, "{path}: {error:?}");
        }
        let workspace = fixture.open();
        for path in ["out-dir", "sub/out-up", "chain", "root", "self-up", "magic"] {
            let folder = workspace.parse_path(path).expect("plain");
            assert!(workspace.list_entries(&folder, 10).is_err(), "{path}");
        }
    }

    #[test]
    fn walk_without_openat2_refuses_all_links() {
        let fixture = with_links();
        symlink("a.txt", fixture.work().join("in-file")).expect("a link");
        symlink("sub", fixture.work().join("in-dir")).expect("a link");
        let root = fs::File::open(fixture.work()).expect("the workspace");
        let workspace = fixture.open();
        let walk = |path: &str| {
            let path = workspace.parse_path(path).expect("plain");
            system::walk_beneath(root.as_fd(), &path, OFlags::RDONLY | OFlags::CLOEXEC)
        };
        for path in ["a.txt", "sub/b.txt", "sub", "."] {
            assert!(walk(path).is_ok(), "{path}");
        }
        for path in [
            "out-file",
            "out-dir/secret.txt",
            "out-parse_path",
            "self-up/outside/secret.txt",
            "in-file",
            "in-dir/b.txt",
            "root",
        ] {
            assert!(walk(path).is_err(), "{path}");
        }
    }

    #[test]
    fn folder_swapped_for_a_link_leads_nowhere() {
        let fixture = WorkspaceFixture::new();
        let [swap, aside] = ["work/swap", "work/aside"].map(|name| fixture.dir.path().join(name));
        fs::create_dir(&swap).expect("a folder");
        fs::write(swap.join("secret.txt"), "inside").expect("a file");
        symlink(fixture.outside(), &aside).expect("a link");
        let is_over = AtomicBool::new(false);
        let seen: Vec<Option<String>> = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    exchange(&swap, &aside);
                }
            });
            // An error means that the folder was a link.
            let seen = (0..5_000).map(|_| fixture.read("swap/secret.txt").ok()).collect();
            is_over.store(true, Ordering::Relaxed);
            seen
        });
        assert!(seen.iter().flatten().all(|text| text == "inside"), "read outside");
        assert!(seen.contains(&Some("inside".to_owned())), "the race was never open");
    }

    #[test]
    fn write_through_a_link_is_refused() {
        let fixture = with_links();
        symlink("a.txt", fixture.work().join("in-file")).expect("a link");
        symlink("nowhere", fixture.work().join("dangling")).expect("a link");
        let paths = [
            "out-file",
            "out-dir/new.txt",
            "out-dir/new/deep.txt",
            "out-parse_path",
            "sub/out-up/new.txt",
            "chain/new.txt",
            "self-up/new.txt",
            "self-up/outside/secret.txt",
            "root/tmp/rouse-new.txt",
            "magic/tmp/rouse-new.txt",
            "loop",
            "loop/x",
            "in-file",
            "dangling",
            "dangling/new.txt",
        ];
        for path in paths {
            let error = fixture.write(path, "x").expect_err(path);
            let WorkspaceError::ThroughLink { link, real, .. } = &error else {
                panic!("{path}: {error:?}")
            };
            assert!(path.starts_with(link), "{path}: {error}");
            let inside = (path == "in-file").then_some("a.txt");
            assert_eq!(real.as_deref(), inside, "{path}: {error}");
        }
        fixture.assert_outside_unchanged();
        assert_eq!(fixture.read("a.txt").expect("opened"), "inside a");
        assert!(!fixture.work().join("nowhere").exists());
    }

    #[test]
    fn write_through_an_inner_link_is_refused() {
        let fixture = WorkspaceFixture::new();
        symlink("sub", fixture.work().join("in-dir")).expect("a link");
        symlink("..", fixture.work().join("sub/up")).expect("a link");
        let workspace = fixture.open();
        for (path, link, real) in [
            ("in-dir/b.txt", "in-dir", "sub/b.txt"),
            ("in-dir/new/er.txt", "in-dir", "sub/new/er.txt"),
            ("in-dir/up/a.txt", "in-dir", "sub/up/a.txt"),
            ("sub/up/a.txt", "sub/up", "a.txt"),
            ("sub/up/new", "sub/up", "new"),
        ] {
            let plain = workspace.parse_path(path).expect("plain");
            let refused = [
                fixture.write(path, "x").map(drop),
                workspace.create_folder(&plain).map(drop),
                workspace.target_state(&plain).map(drop),
                workspace.replaced_file_hash(&plain).map(drop),
            ];
            for refusal in refused {
                let message = refusal.expect_err(path).to_string();
                assert!(message.contains(&format!("{link} is a link")), "{path}: {message}");
                assert!(
                    message.ends_with(&format!("Use the real path: {real}.")),
                    "{path}: {message}"
                );
            }
        }
        assert_eq!(fixture.read("sub/b.txt").expect("opened"), "inside b");
        assert_eq!(fixture.read("a.txt").expect("opened"), "inside a");
        let (work, sub) = (fixture.work(), fixture.work().join("sub"));
        assert!(!work.join("new").exists() && !sub.join("new").exists());
        // Like a system without `openat2`.
        fs::write(work.join("file"), "x").expect("a file");
        let error = fixture.write("file/in-dir/x", "x").expect_err("a file is no folder");
        assert!(matches!(error, WorkspaceError::NotAFolder { .. }), "{error:?}");
    }

    #[test]
    fn write_stays_inside_while_folders_become_links() {
        let fixture = WorkspaceFixture::new();
        let [swap, aside] = ["work/swap", "work/aside"].map(|name| fixture.dir.path().join(name));
        fs::create_dir(&swap).expect("a folder");
        symlink(fixture.outside(), &aside).expect("a link");
        let is_over = AtomicBool::new(false);
        let written = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    exchange(&swap, &aside);
                }
            });
            let workspace = fixture.open();
            let write = |round: u32| {
                // An error means that the folder was a link.
                let name = ["swap/new.txt", "swap/deep/er/new.txt"][round as usize % 2];
                let path = workspace.parse_path(name).expect("plain");
                let written = workspace.replace_file(&path, b"x").is_ok();
                let folder = workspace.parse_path(&format!("swap/folder{}", round % 8));
                let made = workspace.create_folder(&folder.expect("plain")).is_ok();
                u32::from(written) + u32::from(made)
            };
            let written: u32 = (0..10_000).map(write).sum();
            is_over.store(true, Ordering::Relaxed);
            written
        });
        fixture.assert_outside_unchanged();
        assert!((1..20_000).contains(&written), "the race was never open: {written}");
    }

    #[test]
    fn link_swapped_into_the_target_is_replaced() {
        let fixture = WorkspaceFixture::new();
        let [name, link] = ["work/a.txt", "work/link"].map(|name| fixture.dir.path().join(name));
        let secret = fixture.outside().join("secret.txt");
        symlink(&secret, &link).expect("a link");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    // Recreates the replaced link, so that there is always a link to swap in.
                    drop(fs::remove_file(&link).and_then(|()| symlink(&secret, &link)));
                    drop(fs::rename(&link, &name));
                    drop(symlink(&secret, &link));
                }
            });
            for _ in 0..10_000 {
                drop(fixture.write("a.txt", "x"));
            }
            is_over.store(true, Ordering::Relaxed);
        });
        fixture.assert_outside_unchanged();
    }

    #[test]
    fn replaced_file_keeps_its_mode_without_setuid() {
        use std::os::unix::fs::PermissionsExt as _;
        let fixture = WorkspaceFixture::new();
        let mode_of = |name: &str| {
            let metadata = fs::metadata(fixture.work().join(name)).expect("present");
            metadata.permissions().mode() & 0o7777
        };
        for (mode, expected) in [(0o640, 0o640), (0o755, 0o755), (0o4755, 0o755), (0o600, 0o600)] {
            let rights = fs::Permissions::from_mode(mode);
            fs::set_permissions(fixture.work().join("a.txt"), rights).expect("rights");
            fixture.write("a.txt", "x").expect("written");
            assert_eq!(mode_of("a.txt"), expected, "{mode:o}");
        }
        fixture.write("new.txt", "x").expect("written");
        assert_eq!(mode_of("new.txt") & 0o111, 0, "a new file is no program");
    }

    #[cfg(target_os = "linux")]
    fn exchange(a: &Path, b: &Path) {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).expect("both exist");
    }

    #[cfg(not(target_os = "linux"))]
    fn exchange(a: &Path, b: &Path) {
        let between = a.with_extension("between");
        fs::rename(a, &between)
            .and_then(|()| fs::rename(b, a))
            .and_then(|()| fs::rename(between, b))
            .expect("both exist");
    }

    #[test]
    fn socket_is_not_a_file() {
        let fixture = WorkspaceFixture::new();
        let _listener = std::os::unix::net::UnixListener::bind(fixture.work().join("socket"))
            .expect("a socket");
        assert!(matches!(fixture.read("socket"), Err(WorkspaceError::NotAFile { .. })));
        assert!(matches!(fixture.write("socket", "x"), Err(WorkspaceError::NotAFile { .. })));
    }

    #[cfg(target_os = "linux")]
    mod linux {
        use rustix::fs::{CWD, FileType, mknodat};

        use super::*;

        #[test]
        fn inner_links_are_followed() {
            let fixture = WorkspaceFixture::new();
            symlink("sub/../sub/b.txt", fixture.work().join("in-file")).expect("a link");
            symlink("sub", fixture.work().join("in-dir")).expect("a link");
            assert_eq!(fixture.read("in-file").expect("opened"), "inside b");
            assert_eq!(fixture.read("in-dir/b.txt").expect("opened"), "inside b");
        }

        #[test]
        fn pipe_is_refused_without_waiting_for_its_writer() {
            let fixture = WorkspaceFixture::new();
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            mknodat(CWD, fixture.work().join("pipe"), FileType::Fifo, mode, 0).expect("a pipe");
            assert!(matches!(fixture.write("pipe", "x"), Err(WorkspaceError::NotAFile { .. })));
            assert!(matches!(fixture.read("pipe"), Err(WorkspaceError::NotAFile { .. })));
        }

        #[test]
        fn device_is_refused() {
            let fixture = WorkspaceFixture::new();
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            let zero = rustix::fs::makedev(1, 5);
            // Creating a device needs rights that not every test user has.
            if mknodat(CWD, fixture.work().join("zero"), FileType::CharacterDevice, mode, zero)
                .is_ok()
            {
                assert!(matches!(fixture.read("zero"), Err(WorkspaceError::NotAFile { .. })));
                assert!(matches!(fixture.write("zero", "x"), Err(WorkspaceError::NotAFile { .. })));
            }
        }
    }
}
