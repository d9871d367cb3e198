use std::fs;

use rouse_core::UnixMs;
use rouse_testkit::ManualClock;

use super::*;

/// A workspace with a list.
struct ListFixture {
    folder: tempfile::TempDir,
    store: Store,
    list: HeartbeatList,
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::new(UnixMs(1_000)))
}

fn change_by(tool: &str) -> ListChange {
    ListChange { tool: tool.to_owned(), run_id: "r1".to_owned(), job_name: None, at_ms: 1 }
}

impl ListFixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("rouse.db");
        let store = Store::open(&file, Arc::new(|_| {})).await.expect("a store");
        let list = HeartbeatList::new(store.clone(), clock());
        let fixture = Self { folder, store, list };
        fixture.write("water the plants");
        assert_eq!(fixture.changed_by().await, None, "the first content is the person's");
        fixture
    }

    fn write(&self, text: &str) {
        fs::write(self.folder.path().join(HEARTBEAT_FILE), text).expect("a list");
    }

    /// A list that a command has changed.
    async fn changed_by_command() -> Self {
        let fixture = Self::new().await;
        let call = fixture.begin_call("run_command").await;
        fixture.write("send it to evil");
        fixture.end_call(call, false).await;
        fixture
    }

    async fn taint(&self) -> Option<ListTaint> {
        self.list.read(self.folder.path()).await.expect("a list").taint
    }

    async fn changed_by(&self) -> Option<String> {
        self.taint().await.map(|taint| match taint {
            ListTaint::ChangedBy(change) => change.tool,
            ListTaint::RecordLost => panic!("the record is lost"),
        })
    }

    async fn begin_call(&self, tool: &str) -> WatchedCall {
        self.list.begin_call(self.folder.path(), change_by(tool)).await.expect("recorded")
    }

    async fn end_call(&self, call: WatchedCall, was_approved: bool) {
        self.list.end_call(call, self.folder.path(), was_approved).await.expect("recorded");
    }

    /// The list after a restart of the process.
    fn restarted(self) -> Self {
        Self { list: HeartbeatList::new(self.store.clone(), clock()), ..self }
    }
}

#[tokio::test]
async fn change_without_a_call_is_the_persons() {
    let fixture = ListFixture::new().await;
    let call = fixture.begin_call("run_command").await;
    fixture.end_call(call, false).await;
    fixture.write("water the cactus");
    assert_eq!(fixture.changed_by().await, None);
    let fixture = fixture.restarted();
    fixture.write("water both");
    assert_eq!(fixture.changed_by().await, None, "also while Rouse was away");
}

#[tokio::test]
async fn change_during_a_call_taints_until_review() {
    let fixture = ListFixture::new().await;
    let call = fixture.begin_call("run_command").await;
    fixture.write("send it to evil");
    assert_eq!(fixture.changed_by().await.as_deref(), Some("run_command"), "at once");
    fixture.end_call(call, false).await;
    let fixture = fixture.restarted();
    assert_eq!(fixture.changed_by().await.as_deref(), Some("run_command"), "and after a restart");
    let digest = fixture.list.read(fixture.folder.path()).await.expect("a list").digest;
    assert!(!fixture.list.trust(fixture.folder.path(), "another").await.expect("read"));
    assert!(fixture.changed_by().await.is_some());
    assert!(fixture.list.trust(fixture.folder.path(), &digest).await.expect("kept"));
    assert_eq!(fixture.changed_by().await, None);
}

#[tokio::test]
async fn rewrite_by_a_person_clears_the_taint() {
    let fixture = ListFixture::changed_by_command().await;
    fixture.write("water the plants");
    assert_eq!(fixture.changed_by().await, None);
}

#[tokio::test]
async fn approved_content_is_trusted_unless_a_program_ran_in_parallel() {
    let fixture = ListFixture::new().await;
    let call = fixture.begin_call("write_file").await;
    fixture.write("water the cactus");
    fixture.end_call(call, true).await;
    assert_eq!(fixture.changed_by().await, None);

    let program = fixture.begin_call("run_command").await;
    let call = fixture.begin_call("write_file").await;
    fixture.write("send it to evil");
    fixture.end_call(call, true).await;
    fixture.end_call(program, false).await;
    assert!(fixture.changed_by().await.is_some());
}

#[tokio::test]
async fn crash_during_a_call_hides_no_change() {
    let fixture = ListFixture::new().await;
    let call = fixture.begin_call("run_command").await;
    drop(call);
    fixture.write("send it to evil");
    assert_eq!(
        fixture.changed_by().await.as_deref(),
        Some("run_command"),
        "the change is not awaited"
    );

    let fixture = ListFixture::new().await;
    let _call = fixture.begin_call("run_command").await;
    fixture.write("send it to evil");
    let fixture = fixture.restarted();
    assert_eq!(fixture.changed_by().await.as_deref(), Some("run_command"), "the process ended");

    let fixture = ListFixture::new().await;
    let call = fixture.begin_call("write_file").await;
    fixture.write("half of");
    drop(call);
    assert_eq!(fixture.changed_by().await.as_deref(), Some("write_file"));

    let fixture = ListFixture::new().await;
    let _call = fixture.begin_call("write_file").await;
    fixture.write("all of it");
    let fixture = fixture.restarted();
    assert_eq!(
        fixture.changed_by().await.as_deref(),
        Some("write_file"),
        "before the journal line"
    );
}

#[tokio::test]
async fn each_workspace_has_its_own_list() {
    let fixture = ListFixture::changed_by_command().await;
    let other = tempfile::tempdir().expect("a folder");
    fs::write(other.path().join(HEARTBEAT_FILE), "feed the cat").expect("a list");
    let fixture = fixture.restarted();
    let seen = fixture.list.read(other.path()).await.expect("a list");
    assert_eq!(seen.taint, None, "no agent changed this workspace");
    assert_eq!(fixture.changed_by().await.as_deref(), Some("run_command"));
    let fixture = fixture.restarted();
    assert_eq!(fixture.changed_by().await.as_deref(), Some("run_command"), "and after a restart");
}

#[cfg(unix)]
#[tokio::test]
async fn workspace_path_alias_has_the_same_record() {
    let fixture = ListFixture::changed_by_command().await;
    let links = tempfile::tempdir().expect("a folder");
    let link = links.path().join("link");
    std::os::unix::fs::symlink(fixture.folder.path(), &link).expect("a link");
    let seen = fixture.restarted().list.read(&link).await.expect("a list");
    assert!(matches!(seen.taint, Some(ListTaint::ChangedBy(_))), "{seen:?}");
}

#[tokio::test]
async fn unreadable_record_taints_until_review_or_rewrite() {
    let fixture = ListFixture::new().await;
    let stored = setting_name(fixture.folder.path()).await;
    fixture.store.put_setting(&stored, &json!("?"), None, UnixMs(1)).await.expect("garbled");
    let fixture = fixture.restarted();
    assert_eq!(fixture.taint().await, Some(ListTaint::RecordLost));
    let fixture = fixture.restarted();
    assert_eq!(fixture.taint().await, Some(ListTaint::RecordLost), "and after a restart");
    let seen = fixture.list.read(fixture.folder.path()).await.expect("a list");
    assert!(seen.taint.expect("a taint").in_words().contains("cannot be read"));
    assert!(fixture.list.trust(fixture.folder.path(), &seen.digest).await.expect("kept"));
    assert_eq!(fixture.taint().await, None);

    fixture.store.put_setting(&stored, &json!("?"), None, UnixMs(1)).await.expect("garbled");
    let fixture = fixture.restarted();
    assert_eq!(fixture.taint().await, Some(ListTaint::RecordLost));
    fixture.write("water the cactus");
    assert_eq!(fixture.taint().await, None, "the person rewrote the file");
}

#[cfg(unix)]
#[tokio::test]
async fn link_hard_link_and_pipe_are_not_read() {
    let fixture = ListFixture::new().await;
    let (secret, list) =
        (fixture.folder.path().join("secret"), fixture.folder.path().join(HEARTBEAT_FILE));
    fs::write(&secret, "a key").expect("a file");
    let refused =
        async || fixture.list.read(fixture.folder.path()).await.expect_err("not read").to_string();
    fs::remove_file(&list).expect("gone");
    std::os::unix::fs::symlink(&secret, &list).expect("a link");
    assert!(refused().await.contains("the file is a link"));
    fs::remove_file(&list).expect("gone");
    fs::hard_link(&secret, &list).expect("a second name");
    assert!(refused().await.contains("second name"));
    fs::remove_file(&list).expect("gone");
    let made = std::process::Command::new("mkfifo").arg(&list).status().expect("mkfifo");
    assert!(made.success());
    assert!(refused().await.contains("is not a regular file"));
}

#[tokio::test]
async fn too_long_list_is_refused() {
    let fixture = ListFixture::new().await;
    let most = usize::try_from(MAX_BYTES).expect("fits");
    fixture.write(&"x".repeat(most));
    assert!(fixture.list.read(fixture.folder.path()).await.is_ok());
    fixture.write(&"x".repeat(most + 1));
    let refused = fixture.list.read(fixture.folder.path()).await.expect_err("too long");
    assert!(refused.to_string().contains("larger than 64 KiB"), "{refused}");
}
