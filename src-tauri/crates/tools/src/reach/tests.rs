use super::*;
use crate::testing::context;

fn reach(workspace: &Path, folders: &[&str], hidden: &[&Path]) -> Reach {
    let folders = folders.iter().map(|text| text.parse().expect("a folder")).collect();
    let hidden: Vec<PathBuf> = hidden.iter().map(|path| path.to_path_buf()).collect();
    Reach::of(&ToolContext { folders, ..context(workspace) }, &hidden.into())
}

/// A workspace and a folder beside it, by their real paths.
struct Scene {
    _all: tempfile::TempDir,
    workspace: PathBuf,
    notes: PathBuf,
}

impl Scene {
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

    fn reach(&self, end: &str) -> Reach {
        reach(&self.workspace, &[&format!("{}{end}", self.notes.display())], &[])
    }
}

#[test]
fn path_in_a_granted_folder_opens_there() {
    let scene = Scene::new();
    let path = scene.notes.join("a.md").display().to_string();
    let reached = scene.reach("").open(&path, FolderAccess::Read).expect("granted");
    assert_eq!((reached.folder, reached.name), (scene.notes.clone(), path.clone()));
    assert_eq!(reached.path.to_string(), "a.md");
    let plain = scene.reach("").open("a.md", FolderAccess::Read).expect("the workspace");
    assert_eq!((plain.folder, plain.name.as_str()), (scene.workspace.clone(), "a.md"));
    let without = reach(&scene.workspace, &[], &[]).open(&path, FolderAccess::Read);
    assert!(matches!(without.err(), Some(WorkspaceError::Outside { .. })));
}

#[test]
fn read_grant_does_not_open_for_writing() {
    let scene = Scene::new();
    let path = scene.notes.join("a.md").display().to_string();
    let refused = scene.reach("").open(&path, FolderAccess::Write);
    assert!(matches!(refused.err(), Some(WorkspaceError::Outside { .. })));
    assert!(scene.reach(":write").open(&path, FolderAccess::Write).is_ok());
}

#[cfg(unix)]
#[test]
fn granted_folder_behind_a_link_is_refused() {
    let scene = Scene::new();
    let link = scene.workspace.with_file_name("link");
    std::os::unix::fs::symlink(&scene.notes, &link).expect("a link");
    let refused = reach(&scene.workspace, &[&link.display().to_string()], &[]).granted();
    let why = refused.expect_err("a link").to_string();
    assert!(why.contains(&format!("Grant {} instead", scene.notes.display())), "{why}");
}

#[test]
fn missing_granted_folder_is_named() {
    let scene = Scene::new();
    let why = scene.reach("/gone").granted().expect_err("not there").to_string();
    assert!(why.contains("notes/gone is granted to this job and does not exist"), "{why}");
}

#[test]
fn folder_that_brings_more_along_is_refused() {
    let scene = Scene::new();
    let above = scene.notes.parent().expect("a folder");
    let why = |folder: &str, hidden: &[&Path]| {
        let refused = reach(&scene.workspace, &[folder], hidden).granted();
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
    assert!(reach(&scene.workspace, &[&above.display().to_string()], &[]).granted().is_ok());
}

#[test]
fn granted_folder_in_the_workspace_adds_nothing() {
    let scene = Scene::new();
    let sub = scene.workspace.join("sub");
    std::fs::create_dir(&sub).expect("made");
    let granted = reach(&scene.workspace, &[&sub.display().to_string()], &[]).granted();
    assert_eq!(granted, Ok(Vec::new()));
}
