use super::*;
use crate::test_context::context;

fn run_folders(workspace: &Path, folders: &[&str], hidden: &[&Path]) -> RunFolders {
    let folders = folders.iter().map(|text| text.parse().expect("a folder")).collect();
    let hidden: Vec<PathBuf> = hidden.iter().map(|path| path.to_path_buf()).collect();
    RunFolders::new(&ToolContext { folders, ..context(workspace) }, &hidden.into())
}

/// A workspace and a second folder, by real paths.
struct GrantFixture {
    _all: tempfile::TempDir,
    workspace: PathBuf,
    notes: PathBuf,
}

impl GrantFixture {
    fn new() -> Self {
        let all = tempfile::tempdir().expect("a folder");
        let real = all.path().canonicalize().expect("there");
        let [workspace, notes] = ["workspace", "notes"].map(|name| real.join(name));
        for folder in [&workspace, &notes] {
            std::fs::create_dir(folder).expect("made");
        }
        std::fs::write(notes.join("a.md"), "a").expect("written");
        Self { _all: all, workspace, notes }
    }

    fn run_folders(&self, end: &str) -> RunFolders {
        run_folders(&self.workspace, &[&format!("{}{end}", self.notes.display())], &[])
    }
}

#[test]
fn path_in_a_granted_folder_opens() {
    let scene = GrantFixture::new();
    let path = scene.notes.join("a.md").display().to_string();
    let resolved = scene.run_folders("").resolve(&path, FolderAccess::Read).expect("granted");
    assert_eq!((resolved.folder, resolved.name), (scene.notes.clone(), path.clone()));
    assert_eq!(resolved.path.to_string(), "a.md");
    let plain = scene.run_folders("").resolve("a.md", FolderAccess::Read).expect("the workspace");
    assert_eq!((plain.folder, plain.name.as_str()), (scene.workspace.clone(), "a.md"));
    let without = run_folders(&scene.workspace, &[], &[]).resolve(&path, FolderAccess::Read);
    assert!(matches!(without.err(), Some(WorkspaceError::Outside { .. })));
}

#[test]
fn read_grant_does_not_open_for_writing() {
    let scene = GrantFixture::new();
    let path = scene.notes.join("a.md").display().to_string();
    let refused = scene.run_folders("").resolve(&path, FolderAccess::Write);
    assert!(matches!(refused.err(), Some(WorkspaceError::Outside { .. })));
    assert!(scene.run_folders(":write").resolve(&path, FolderAccess::Write).is_ok());
}

#[cfg(unix)]
#[test]
fn granted_folder_behind_a_link_is_refused() {
    let scene = GrantFixture::new();
    let link = scene.workspace.with_file_name("link");
    std::os::unix::fs::symlink(&scene.notes, &link).expect("a link");
    let refused =
        run_folders(&scene.workspace, &[&link.display().to_string()], &[]).granted_folders();
    let why = refused.expect_err("a link").to_string();
    assert!(why.contains(&format!("Grant {} instead", scene.notes.display())), "{why}");
}

#[test]
fn missing_granted_folder_is_named() {
    let scene = GrantFixture::new();
    let why = scene.run_folders("/gone").granted_folders().expect_err("not there").to_string();
    assert!(why.contains("notes/gone does not exist"), "{why}");
}

#[test]
fn grant_that_exposes_more_is_refused() {
    let scene = GrantFixture::new();
    let above = scene.notes.parent().expect("a folder");
    let why = |folder: &str, hidden: &[&Path]| {
        let refused = run_folders(&scene.workspace, &[folder], hidden).granted_folders();
        refused.expect_err("refused").to_string()
    };
    let data = scene.notes.join("data");
    std::fs::create_dir(&data).expect("made");
    for (folder, hidden) in [(&scene.notes, &data), (&data, &scene.notes), (&data, &data)] {
        assert!(why(&folder.display().to_string(), &[hidden]).contains("Rouse's own data"));
    }
    let writable = format!("{}:write", above.display());
    assert!(why(&writable, &[]).contains("it contains the workspace"));
    #[cfg(unix)]
    for (folder, part) in [("/", "whole home"), ("/usr", "/usr"), ("/dev", "/dev")] {
        assert!(why(folder, &[]).contains(part), "{folder}");
    }
    assert!(
        run_folders(&scene.workspace, &[&above.display().to_string()], &[])
            .granted_folders()
            .is_ok()
    );
}

#[test]
fn granted_folder_in_the_workspace_adds_nothing() {
    let scene = GrantFixture::new();
    let sub = scene.workspace.join("sub");
    std::fs::create_dir(&sub).expect("made");
    let granted_folders =
        run_folders(&scene.workspace, &[&sub.display().to_string()], &[]).granted_folders();
    assert_eq!(granted_folders, Ok(Vec::new()));
}
