//! Folders of a command: the private home, granted folders, and everything outside.

use rouse_core::job::FolderAccess;

use super::*;
use crate::workspace::GrantedFolder;

fn own_home() -> PathBuf {
    PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/root".into()))
}

/// A folder beside the workspace, by real path.
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
    let fixture = SandboxFixture::new();
    let home = own_home();
    let backups = home.join("rouse-backups");
    for folder in [backups.as_path(), Path::new("/srv/x"), Path::new("/var/x")] {
        let line = format!("mkdir -p '{}'", folder.display());
        let Some(output) = fixture.failure_of(&line).await else { return };
        assert!(output.contains("Read-only file system"), "{output}");
    }
    let Some(output) =
        fixture.failure_of(&format!("echo x > '{}'", home.join("x").display())).await
    else {
        return;
    };
    // Without the home inside, there is no folder to write to.
    assert!(output.contains("Read-only") || output.contains("nonexistent"), "{output}");
}

#[tokio::test]
async fn files_of_the_home_are_absent() {
    let Ok(secret) = tempfile::Builder::new().prefix(".rouse-secret").tempfile_in(own_home())
    else {
        return;
    };
    std::fs::write(secret.path(), "a key").expect("written");
    let fixture = SandboxFixture::new();
    let Some(output) = fixture.failure_of(&format!("cat '{}'", secret.path().display())).await
    else {
        return;
    };
    assert!(output.contains("No such file") && !output.contains("a key"), "{output}");
}

#[tokio::test]
async fn private_home_is_kept_between_commands() {
    let (_folder, home) = beside();
    let mut fixture = SandboxFixture::new();
    fixture.sandbox.home = Some(home.clone());
    let Some(output) =
        fixture.output_of("mkdir ~/Backups && echo kept > ~/Backups/a; echo ~").await
    else {
        return;
    };
    assert_eq!(output, home.display().to_string());
    assert_eq!(std::fs::read_to_string(home.join("Backups/a")).expect("kept"), "kept\n");
    let Some(output) = fixture.output_of("cat \"$HOME/Backups/a\"").await else { return };
    assert_eq!(output, "kept");
}

#[tokio::test]
async fn only_the_private_home_of_hidden_data_is_visible() {
    let mut fixture = SandboxFixture::new();
    let data = fixture.sandbox.workspace.join("data");
    let home = data.join("homes/one");
    std::fs::create_dir_all(&home).expect("made");
    std::fs::write(data.join("gateway.token"), "a token").expect("written");
    (fixture.sandbox.home, fixture.sandbox.hidden) = (Some(home.clone()), vec![data]);
    let line = "ls -A data; (echo x > data/new) 2>&1; mkdir data/homes/two 2>&1; echo mine > ~/a";
    let Some(output) = fixture.output_of(line).await else { return };
    assert!(output.starts_with("homes\n") && output.matches("Read-only").count() == 2, "{output}");
    assert_eq!(std::fs::read_to_string(home.join("a")).expect("kept"), "mine\n");
}

#[tokio::test]
async fn read_grant_allows_no_write() {
    let (_folder, notes) = beside();
    std::fs::write(notes.join("a.md"), "a note").expect("written");
    let mut fixture = SandboxFixture::new();
    let path = notes.display();
    let cat = format!("cat '{path}/a.md'");
    let Some(output) = fixture.failure_of(&cat).await else { return };
    assert!(output.contains("No such file"), "{output}");
    fixture.sandbox.granted = granted(&notes, FolderAccess::Read);
    assert_eq!(fixture.output_of(&cat).await.as_deref(), Some("a note"));
    let line = format!("echo x > '{path}/b' || echo x >> '{path}/a.md' || rm '{path}/a.md'");
    let output = fixture.failure_of(&line).await.expect("confined");
    assert_eq!(output.matches("Read-only file system").count(), 3, "{output}");
}

#[tokio::test]
async fn write_grant_keeps_written_files() {
    let (_folder, out) = beside();
    let mut fixture = SandboxFixture::new();
    fixture.sandbox.granted = granted(&out, FolderAccess::Write);
    let line = format!("mkdir '{0}/sub' && echo kept > '{0}/sub/a'", out.display());
    if fixture.output_of(&line).await.is_some() {
        assert_eq!(std::fs::read_to_string(out.join("sub/a")).expect("kept"), "kept\n");
    }
}

#[tokio::test]
async fn write_grant_inside_a_read_grant_works() {
    let (_folder, notes) = beside();
    let out = notes.join("out");
    std::fs::create_dir(&out).expect("made");
    let mut fixture = SandboxFixture::new();
    fixture.sandbox.granted = granted(&notes, FolderAccess::Read);
    fixture.sandbox.granted.extend(granted(&out, FolderAccess::Write));
    let line = format!("echo x > '{0}/out/a'; echo x > '{0}/a'; :", notes.display());
    if fixture.output_of(&line).await.is_some() {
        assert!(out.join("a").exists() && !notes.join("a").exists());
    }
}
