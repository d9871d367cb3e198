//! Ways out of the workspace, each of which must stay closed.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;

use super::{EntryKind, Workspace, WorkspaceError};

/// `work/` with files in it, beside `outside/secret.txt`.
struct House {
    dir: TempDir,
}

impl House {
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
        workspace.replace(&workspace.relative(path)?, text.as_bytes())
    }

    /// What is outside, by name; it must stay as it was.
    fn outside_is_untouched(&self) {
        let names = |folder: PathBuf| {
            let entries = fs::read_dir(folder).expect("it lists");
            let mut names: Vec<_> =
                entries.map(|entry| entry.expect("an entry").file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(self.outside()), ["secret.txt"]);
        assert_eq!(names(self.dir.path().to_owned()), ["outside", "work"]);
        let secret = fs::read_to_string(self.outside().join("secret.txt"));
        assert_eq!(secret.expect("it is there"), "secret");
    }

    fn read(&self, path: &str) -> Result<String, WorkspaceError> {
        let workspace = self.open();
        let (file, _) = workspace.open_file(&workspace.relative(path)?)?;
        let mut text = String::new();
        file.take(1_000).read_to_string(&mut text).expect("readable");
        Ok(text)
    }
}

#[test]
fn what_is_inside_opens() {
    let house = House::new();
    let absolute = house.work().join("sub/b.txt");
    let cases = [
        ("a.txt", "inside a"),
        ("./a.txt", "inside a"),
        ("sub/b.txt", "inside b"),
        ("sub//./b.txt", "inside b"),
        (absolute.to_str().expect("plain"), "inside b"),
    ];
    for (path, expected) in cases {
        assert_eq!(house.read(path).expect("it opens"), expected, "{path}");
    }
}

#[test]
fn what_is_written_as_outside_is_refused() {
    let house = House::new();
    let secret = house.outside().join("secret.txt");
    let around = house.work().join("../outside/secret.txt");
    let sibling = format!("{}-other/x", house.work().display());
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
        let error = house.read(path).expect_err(path);
        assert!(matches!(error, WorkspaceError::Outside { .. }), "{path}: {error:?}");
    }
}

#[test]
fn what_is_not_there_or_not_a_file_says_so() {
    let house = House::new();
    assert!(matches!(house.read("none.txt"), Err(WorkspaceError::Missing { .. })));
    assert!(matches!(house.read("none/x.txt"), Err(WorkspaceError::Missing { .. })));
    assert!(matches!(house.read("sub"), Err(WorkspaceError::IsAFolder { .. })));
    assert!(matches!(house.read("."), Err(WorkspaceError::IsAFolder { .. })));
    assert!(matches!(house.read("a\0.txt"), Err(WorkspaceError::Unusable { .. })));
    assert!(matches!(house.read(&"x".repeat(300)), Err(WorkspaceError::Unusable { .. })));
    let workspace = house.open();
    let file = workspace.relative("a.txt").expect("plain");
    assert!(matches!(workspace.entries(&file, 10), Err(WorkspaceError::NotAFolder { .. })));
    let nowhere = house.dir.path().join("nowhere");
    assert!(matches!(Workspace::open(&nowhere), Err(WorkspaceError::Root { .. })));
    assert!(matches!(
        Workspace::open(&house.work().join("a.txt")),
        Err(WorkspaceError::Root { .. })
    ));
}

#[test]
fn a_folder_lists_what_is_in_it() {
    let house = House::new();
    let workspace = house.open();
    let root = workspace.relative(".").expect("plain");
    let (mut entries, has_more) = workspace.entries(&root, 10).expect("it lists");
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let seen: Vec<_> = entries.iter().map(|entry| (entry.name.to_str(), entry.kind)).collect();
    assert_eq!(seen, [(Some("a.txt"), EntryKind::File), (Some("sub"), EntryKind::Folder)]);
    assert_eq!((entries[0].size, has_more), (8, false));
    assert!(workspace.entries(&root, 1).expect("it lists").1, "there is more than one");
    assert!(!workspace.entries(&root, 2).expect("it lists").1, "there are just two");
}

#[test]
fn what_is_written_as_outside_is_not_written() {
    let house = House::new();
    let secret = house.outside().join("secret.txt");
    let around = house.work().join("../outside/secret.txt");
    let shouted = house.work().join("a.txt").display().to_string().to_uppercase();
    let paths = [
        "../new.txt",
        "../outside/secret.txt",
        "sub/../../outside/secret.txt",
        "new/../../new.txt",
        "sub/..",
        "/tmp/rouse-new.txt",
        secret.to_str().expect("plain"),
        around.to_str().expect("plain"),
        // On a disk that knows no case this is the same path; it counts as outside all the same.
        &shouted,
    ];
    for path in paths {
        let error = house.write(path, "x").expect_err(path);
        assert!(matches!(error, WorkspaceError::Outside { .. }), "{path}: {error:?}");
        let workspace = house.open();
        let folder = workspace.relative(path).and_then(|path| workspace.make_folder(&path));
        assert!(matches!(folder, Err(WorkspaceError::Outside { .. })), "{path}: {folder:?}");
    }
    house.outside_is_untouched();
}

#[test]
fn a_path_that_begins_at_home_is_inside_only_when_the_workspace_is_there() {
    let house = House::new();
    for path in ["~", "~/x.txt", "~/../x.txt"] {
        let error = house.write(path, "x").expect_err(path);
        assert!(matches!(error, WorkspaceError::Outside { .. }), "{path}: {error:?}");
    }
    let home = crate::workspace::home().expect("a home");
    assert_eq!(crate::workspace::from_home("~/a/b"), Some(home.join("a/b")));
    assert_eq!(crate::workspace::from_home("~other/a"), None);
    assert_eq!(crate::workspace::from_home("a/~/b"), None);
}

#[test]
fn what_cannot_be_written_says_so_and_stays() {
    let house = House::new();
    assert!(matches!(house.write("sub", "x"), Err(WorkspaceError::IsAFolder { .. })));
    assert!(matches!(house.write(".", "x"), Err(WorkspaceError::IsAFolder { .. })));
    assert!(matches!(house.write("a.txt/x", "x"), Err(WorkspaceError::NotAFolder { .. })));
    assert!(matches!(house.write("a.txt/x/y", "x"), Err(WorkspaceError::NotAFolder { .. })));
    assert!(matches!(house.write("a\0", "x"), Err(WorkspaceError::Unusable { .. })));
    assert!(matches!(house.write(&"x".repeat(300), "x"), Err(WorkspaceError::Unusable { .. })));
    let path = house.work().join("a.txt");
    let mut rights = fs::metadata(&path).expect("it is there").permissions();
    rights.set_readonly(true);
    fs::set_permissions(&path, rights).expect("rights");
    assert!(matches!(house.write("a.txt", "x"), Err(WorkspaceError::ReadOnly { .. })));
    assert_eq!(house.read("a.txt").expect("it opens"), "inside a");
}

#[test]
fn a_second_name_of_a_file_is_neither_read_nor_written() {
    let house = House::new();
    fs::hard_link(house.outside().join("secret.txt"), house.work().join("linked.txt"))
        .expect("a hard link");
    assert!(matches!(house.read("linked.txt"), Err(WorkspaceError::HardLink { .. })));
    assert!(matches!(house.write("linked.txt", "x"), Err(WorkspaceError::HardLink { .. })));
    house.outside_is_untouched();
}

#[test]
fn whoever_reads_while_it_is_written_sees_the_old_or_the_new() {
    let house = House::new();
    let [old, new] = ["o", "n"].map(|letter| letter.repeat(100_000));
    house.write("a.txt", &old).expect("written");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut count = 0_u32;
            while count == 0 || !is_over.load(Ordering::Relaxed) {
                let text = fs::read_to_string(house.work().join("a.txt")).expect("it is there");
                assert!(text == old || text == new, "a part: {} bytes", text.len());
                count += 1;
            }
        });
        for round in 0..200 {
            let text = if round % 2 == 0 { &new } else { &old };
            assert!(!house.write("a.txt", text).expect("written"));
        }
        is_over.store(true, Ordering::Relaxed);
        reader.join().expect("it saw whole files only");
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

    /// The links of `work/`: name, what it points to.
    fn with_links() -> House {
        let house = House::new();
        let outside = house.outside();
        let secret = outside.join("secret.txt");
        let links: [(&str, &Path); 9] = [
            ("out-file", &secret),
            ("out-dir", &outside),
            ("out-relative", Path::new("../outside/secret.txt")),
            ("sub/out-up", Path::new("../../outside")),
            ("chain", Path::new("out-dir")),
            ("root", Path::new("/")),
            ("magic", Path::new("/proc/self/root")),
            ("loop", Path::new("loop")),
            ("self-up", Path::new("..")),
        ];
        for (name, to) in links {
            symlink(to, house.work().join(name)).expect("a link");
        }
        house
    }

    #[test]
    fn no_link_leads_outside() {
        let house = with_links();
        let secret = house.outside().join("secret.txt");
        let through_root = format!("root{}", secret.display());
        let through_magic = format!("magic{}", secret.display());
        let paths = [
            "out-file",
            "out-dir/secret.txt",
            "out-relative",
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
            let error = house.read(path).expect_err(path);
            let is_refused = matches!(
                error,
                WorkspaceError::Outside { .. }
                    | WorkspaceError::Link { .. }
                    | WorkspaceError::NotAFolder { .. }
            );
            assert!(is_refused, "{path}: {error:?}");
        }
        let workspace = house.open();
        for path in ["out-dir", "sub/out-up", "chain", "root", "self-up", "magic"] {
            let folder = workspace.relative(path).expect("plain");
            assert!(workspace.entries(&folder, 10).is_err(), "{path}");
        }
    }

    #[test]
    fn the_walk_without_openat2_follows_no_link_at_all() {
        let house = with_links();
        symlink("a.txt", house.work().join("in-file")).expect("a link");
        symlink("sub", house.work().join("in-dir")).expect("a link");
        let root = fs::File::open(house.work()).expect("the workspace");
        let workspace = house.open();
        let walk = |path: &str| {
            let path = workspace.relative(path).expect("plain");
            system::walk_beneath(root.as_fd(), &path, OFlags::RDONLY | OFlags::CLOEXEC)
        };
        for path in ["a.txt", "sub/b.txt", "sub", "."] {
            assert!(walk(path).is_ok(), "{path}");
        }
        for path in [
            "out-file",
            "out-dir/secret.txt",
            "out-relative",
            "self-up/outside/secret.txt",
            "in-file",
            "in-dir/b.txt",
            "root",
        ] {
            assert!(walk(path).is_err(), "{path}");
        }
    }

    #[test]
    fn a_folder_swapped_for_a_link_leads_nowhere() {
        let house = House::new();
        let [swap, aside] = ["work/swap", "work/aside"].map(|name| house.dir.path().join(name));
        fs::create_dir(&swap).expect("a folder");
        fs::write(swap.join("secret.txt"), "inside").expect("a file");
        symlink(house.outside(), &aside).expect("a link");
        let is_over = AtomicBool::new(false);
        let seen: Vec<Option<String>> = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    exchange(&swap, &aside);
                }
            });
            // An error is fine: then it was a link just now.
            let seen = (0..5_000).map(|_| house.read("swap/secret.txt").ok()).collect();
            is_over.store(true, Ordering::Relaxed);
            seen
        });
        assert!(seen.iter().flatten().all(|text| text == "inside"), "it read outside");
        assert!(seen.contains(&Some("inside".to_owned())), "the race was never open");
    }

    #[test]
    fn no_link_is_written_through() {
        let house = with_links();
        symlink("a.txt", house.work().join("in-file")).expect("a link");
        symlink("nowhere", house.work().join("dangling")).expect("a link");
        let paths = [
            "out-file",
            "out-dir/new.txt",
            "out-dir/new/deep.txt",
            "out-relative",
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
            let error = house.write(path, "x").expect_err(path);
            let WorkspaceError::ThroughLink { link, real, .. } = &error else {
                panic!("{path}: {error:?}")
            };
            assert!(path.starts_with(link), "{path}: {error}");
            let inside = (path == "in-file").then_some("a.txt");
            assert_eq!(real.as_deref(), inside, "{path}: {error}");
        }
        house.outside_is_untouched();
        assert_eq!(house.read("a.txt").expect("it opens"), "inside a");
        assert!(!house.work().join("nowhere").exists());
    }

    #[test]
    fn nothing_is_written_through_a_link_that_stays_inside_either() {
        let house = House::new();
        symlink("sub", house.work().join("in-dir")).expect("a link");
        symlink("..", house.work().join("sub/up")).expect("a link");
        let workspace = house.open();
        for (path, link, real) in [
            ("in-dir/b.txt", "in-dir", "sub/b.txt"),
            ("in-dir/new/er.txt", "in-dir", "sub/new/er.txt"),
            ("in-dir/up/a.txt", "in-dir", "sub/up/a.txt"),
            ("sub/up/a.txt", "sub/up", "a.txt"),
            ("sub/up/new", "sub/up", "new"),
        ] {
            let plain = workspace.relative(path).expect("plain");
            let refused = [
                house.write(path, "x").map(drop),
                workspace.make_folder(&plain).map(drop),
                workspace.standing(&plain).map(drop),
                workspace.replaced_digest(&plain).map(drop),
            ];
            for refusal in refused {
                let said = refusal.expect_err(path).to_string();
                assert!(said.contains(&format!("{link} is a link")), "{path}: {said}");
                assert!(said.ends_with(&format!("Use the real path: {real}.")), "{path}: {said}");
            }
        }
        assert_eq!(house.read("sub/b.txt").expect("it opens"), "inside b");
        assert_eq!(house.read("a.txt").expect("it opens"), "inside a");
        let (work, sub) = (house.work(), house.work().join("sub"));
        assert!(!work.join("new").exists() && !sub.join("new").exists());
        // As where nothing but the walk by hand is known.
        fs::write(work.join("file"), "x").expect("a file");
        let error = house.write("file/in-dir/x", "x").expect_err("a file is no folder");
        assert!(matches!(error, WorkspaceError::NotAFolder { .. }), "{error:?}");
    }

    #[test]
    fn writes_go_nowhere_else_while_folders_are_swapped_for_links() {
        let house = House::new();
        let [swap, aside] = ["work/swap", "work/aside"].map(|name| house.dir.path().join(name));
        fs::create_dir(&swap).expect("a folder");
        symlink(house.outside(), &aside).expect("a link");
        let is_over = AtomicBool::new(false);
        let written = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    exchange(&swap, &aside);
                }
            });
            let workspace = house.open();
            let write = |round: u32| {
                // An error is fine: then it was a link just now.
                let name = ["swap/new.txt", "swap/deep/er/new.txt"][round as usize % 2];
                let path = workspace.relative(name).expect("plain");
                let written = workspace.replace(&path, b"x").is_ok();
                let folder = workspace.relative(&format!("swap/folder{}", round % 8));
                let made = workspace.make_folder(&folder.expect("plain")).is_ok();
                u32::from(written) + u32::from(made)
            };
            let written: u32 = (0..10_000).map(write).sum();
            is_over.store(true, Ordering::Relaxed);
            written
        });
        house.outside_is_untouched();
        assert!((1..20_000).contains(&written), "the race was never open: {written}");
    }

    #[test]
    fn the_last_name_swapped_for_a_link_is_replaced_itself() {
        let house = House::new();
        let [name, link] = ["work/a.txt", "work/link"].map(|name| house.dir.path().join(name));
        let secret = house.outside().join("secret.txt");
        symlink(&secret, &link).expect("a link");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    // What was replaced is made anew, so that there is always a link to swap in.
                    drop(fs::remove_file(&link).and_then(|()| symlink(&secret, &link)));
                    drop(fs::rename(&link, &name));
                    drop(symlink(&secret, &link));
                }
            });
            for _ in 0..10_000 {
                drop(house.write("a.txt", "x"));
            }
            is_over.store(true, Ordering::Relaxed);
        });
        house.outside_is_untouched();
    }

    #[test]
    fn what_is_replaced_keeps_its_mode_and_lends_no_rights() {
        use std::os::unix::fs::PermissionsExt as _;
        let house = House::new();
        let mode_of = |name: &str| {
            let metadata = fs::metadata(house.work().join(name)).expect("it is there");
            metadata.permissions().mode() & 0o7777
        };
        for (mode, expected) in [(0o640, 0o640), (0o755, 0o755), (0o4755, 0o755), (0o600, 0o600)] {
            let rights = fs::Permissions::from_mode(mode);
            fs::set_permissions(house.work().join("a.txt"), rights).expect("rights");
            house.write("a.txt", "x").expect("written");
            assert_eq!(mode_of("a.txt"), expected, "{mode:o}");
        }
        house.write("new.txt", "x").expect("written");
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
    fn sockets_are_no_files() {
        let house = House::new();
        let _listener =
            std::os::unix::net::UnixListener::bind(house.work().join("socket")).expect("a socket");
        assert!(matches!(house.read("socket"), Err(WorkspaceError::NotAFile { .. })));
        assert!(matches!(house.write("socket", "x"), Err(WorkspaceError::NotAFile { .. })));
    }

    #[cfg(target_os = "linux")]
    mod linux {
        use rustix::fs::{CWD, FileType, mknodat};

        use super::*;

        #[test]
        fn links_that_stay_inside_work() {
            let house = House::new();
            symlink("sub/../sub/b.txt", house.work().join("in-file")).expect("a link");
            symlink("sub", house.work().join("in-dir")).expect("a link");
            assert_eq!(house.read("in-file").expect("it opens"), "inside b");
            assert_eq!(house.read("in-dir/b.txt").expect("it opens"), "inside b");
        }

        #[test]
        fn a_pipe_is_refused_without_waiting_for_its_writer() {
            let house = House::new();
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            mknodat(CWD, house.work().join("pipe"), FileType::Fifo, mode, 0).expect("a pipe");
            assert!(matches!(house.write("pipe", "x"), Err(WorkspaceError::NotAFile { .. })));
            assert!(matches!(house.read("pipe"), Err(WorkspaceError::NotAFile { .. })));
        }

        #[test]
        fn a_device_is_refused() {
            let house = House::new();
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            let zero = rustix::fs::makedev(1, 5);
            // Making one needs rights that not everybody who runs the tests has.
            if mknodat(CWD, house.work().join("zero"), FileType::CharacterDevice, mode, zero)
                .is_ok()
            {
                assert!(matches!(house.read("zero"), Err(WorkspaceError::NotAFile { .. })));
                assert!(matches!(house.write("zero", "x"), Err(WorkspaceError::NotAFile { .. })));
            }
        }
    }
}
