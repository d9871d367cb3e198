//! The folders of a command: the private home, granted folders, and what lies outside of them.

use rouse_core::job::FolderAccess;

use super::*;
use crate::reach::GrantedFolder;

fn own_home() -> PathBuf {
    PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/root".into()))
}

/// A folder beside the workspace, by its real path.
fn beside() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let real = folder.path().canonicalize().expect("there");
    (folder, real)
}

fn granted(path: &Path, access: FolderAccess) -> Vec<GrantedFolder> {
    vec![GrantedFolder { path: path.to_owned(), access }]
}

#[tokio::test]
async fn write_outside_the_folders_fails() {
    let room = Room::new();
    let home = own_home();
    let backups = home.join("rouse-backups");
    for folder in [backups.as_path(), Path::new("/srv/x"), Path::new("/var/x")] {
        let line = format!("mkdir -p '{}'", folder.display());
        let Some(said) = room.fails(&line).await else { return };
        assert!(said.contains("Read-only file system"), "{said}");
    }
    let Some(said) = room.fails(&format!("echo x > '{}'", home.join("x").display())).await else {
        return;
    };
    // Where nobody has the folder, there is none to write in.
    assert!(said.contains("Read-only") || said.contains("nonexistent"), "{said}");
}

#[tokio::test]
async fn files_of_the_persons_home_are_not_there() {
    let Ok(secret) = tempfile::Builder::new().prefix(".rouse-secret").tempfile_in(own_home())
    else {
        return;
    };
    std::fs::write(secret.path(), "a key").expect("written");
    let room = Room::new();
    let Some(said) = room.fails(&format!("cat '{}'", secret.path().display())).await else {
        return;
    };
    assert!(said.contains("No such file") && !said.contains("a key"), "{said}");
}

#[tokio::test]
async fn private_home_stays_between_commands() {
    let (_folder, home) = beside();
    let mut room = Room::new();
    room.sandbox.home = Some(home.clone());
    let Some(said) = room.says("mkdir ~/Backups && echo kept > ~/Backups/a; echo ~").await else {
        return;
    };
    assert_eq!(said, home.display().to_string());
    assert_eq!(std::fs::read_to_string(home.join("Backups/a")).expect("kept"), "kept\n");
    let Some(said) = room.says("cat \"$HOME/Backups/a\"").await else { return };
    assert_eq!(said, "kept");
}

#[tokio::test]
async fn private_home_in_hidden_data_is_the_only_part_seen() {
    let mut room = Room::new();
    let data = room.sandbox.workspace.join("data");
    let home = data.join("homes/one");
    std::fs::create_dir_all(&home).expect("made");
    std::fs::write(data.join("gateway.token"), "a token").expect("written");
    (room.sandbox.home, room.sandbox.hidden) = (Some(home.clone()), vec![data]);
    let line = "ls -A data; (echo x > data/new) 2>&1; mkdir data/homes/two 2>&1; echo mine > ~/a";
    let Some(said) = room.says(line).await else { return };
    assert!(said.starts_with("homes\n") && said.matches("Read-only").count() == 2, "{said}");
    assert_eq!(std::fs::read_to_string(home.join("a")).expect("kept"), "mine\n");
}

#[tokio::test]
async fn granted_folder_can_be_read_and_not_written() {
    let (_folder, notes) = beside();
    std::fs::write(notes.join("a.md"), "a note").expect("written");
    let mut room = Room::new();
    let path = notes.display();
    let cat = format!("cat '{path}/a.md'");
    let Some(said) = room.fails(&cat).await else { return };
    assert!(said.contains("No such file"), "{said}");
    room.sandbox.granted = granted(&notes, FolderAccess::Read);
    assert_eq!(room.says(&cat).await.as_deref(), Some("a note"));
    let line = format!("echo x > '{path}/b' || echo x >> '{path}/a.md' || rm '{path}/a.md'");
    let said = room.fails(&line).await.expect("confined");
    assert_eq!(said.matches("Read-only file system").count(), 3, "{said}");
}

#[tokio::test]
async fn folder_granted_for_writing_keeps_what_is_written() {
    let (_folder, out) = beside();
    let mut room = Room::new();
    room.sandbox.granted = granted(&out, FolderAccess::Write);
    let line = format!("mkdir '{0}/sub' && echo kept > '{0}/sub/a'", out.display());
    if room.says(&line).await.is_some() {
        assert_eq!(std::fs::read_to_string(out.join("sub/a")).expect("kept"), "kept\n");
    }
}

#[tokio::test]
async fn folder_for_writing_in_a_folder_for_reading_works() {
    let (_folder, notes) = beside();
    let out = notes.join("out");
    std::fs::create_dir(&out).expect("made");
    let mut room = Room::new();
    room.sandbox.granted = granted(&notes, FolderAccess::Read);
    room.sandbox.granted.extend(granted(&out, FolderAccess::Write));
    let line = format!("echo x > '{0}/out/a'; echo x > '{0}/a'; :", notes.display());
    if room.says(&line).await.is_some() {
        assert!(out.join("a").exists() && !notes.join("a").exists());
    }
}
