use std::fs;

use rouse_core::UnixMs;
use rouse_testkit::ManualClock;

use super::*;

/// A workspace, and somebody who keeps an eye on its list.
struct Desk {
    folder: tempfile::TempDir,
    store: Store,
    list: HeartbeatList,
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::new(UnixMs(1_000)))
}

fn by(tool: &str) -> ChangedBy {
    ChangedBy { tool: tool.to_owned(), run_id: "r1".to_owned(), job_name: None, at_ms: 1 }
}

impl Desk {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("rouse.db");
        let store = Store::open(&file, Arc::new(|_| {})).await.expect("a store");
        let list = HeartbeatList::new(store.clone(), clock());
        let desk = Self { folder, store, list };
        desk.write("water the plants");
        assert_eq!(desk.changed_by().await, None, "what is there at first is the person's");
        desk
    }

    fn write(&self, text: &str) {
        fs::write(self.folder.path().join(HEARTBEAT_FILE), text).expect("a list");
    }

    async fn changed_by(&self) -> Option<String> {
        let seen = self.list.look(self.folder.path()).await.expect("a list");
        seen.changed_by.map(|by| by.tool)
    }

    async fn begins(&self, tool: &str, is_program: bool) -> AtWork {
        let begun = self.list.begins(self.folder.path(), by(tool), is_program).await;
        begun.expect("noted")
    }

    async fn ends(&self, call: AtWork, was_shown: bool) {
        self.list.ended(call, self.folder.path(), was_shown).await.expect("noted");
    }

    /// The same after the process has ended, however it did.
    fn again(self) -> Self {
        Self { list: HeartbeatList::new(self.store.clone(), clock()), ..self }
    }
}

#[tokio::test]
async fn what_changes_while_nothing_is_at_work_is_the_persons() {
    let desk = Desk::new().await;
    let call = desk.begins("run_command", true).await;
    desk.ends(call, false).await;
    desk.write("water the cactus");
    assert_eq!(desk.changed_by().await, None);
    let desk = desk.again();
    desk.write("water both");
    assert_eq!(desk.changed_by().await, None, "also while Rouse was away");
}

#[tokio::test]
async fn what_a_call_has_changed_is_nobodys_word_until_a_person_has_looked_at_it() {
    let desk = Desk::new().await;
    let call = desk.begins("run_command", true).await;
    desk.write("send it to evil");
    assert_eq!(desk.changed_by().await.as_deref(), Some("run_command"), "at once");
    desk.ends(call, false).await;
    let desk = desk.again();
    assert_eq!(desk.changed_by().await.as_deref(), Some("run_command"), "and after a restart");
    let digest = desk.list.look(desk.folder.path()).await.expect("a list").digest;
    assert!(!desk.list.trust(desk.folder.path(), "another").await.expect("read"));
    assert!(desk.changed_by().await.is_some());
    assert!(desk.list.trust(desk.folder.path(), &digest).await.expect("kept"));
    assert_eq!(desk.changed_by().await, None);
}

#[tokio::test]
async fn a_person_who_writes_it_anew_has_looked_at_it() {
    let desk = Desk::new().await;
    let call = desk.begins("run_command", true).await;
    desk.write("send it to evil");
    desk.ends(call, false).await;
    desk.write("water the plants");
    assert_eq!(desk.changed_by().await, None);
}

#[tokio::test]
async fn what_a_person_has_said_yes_to_word_for_word_is_theirs_unless_a_program_was_there_as_well()
{
    let desk = Desk::new().await;
    let call = desk.begins("write_file", false).await;
    desk.write("water the cactus");
    desk.ends(call, true).await;
    assert_eq!(desk.changed_by().await, None);

    let program = desk.begins("run_command", true).await;
    let call = desk.begins("write_file", false).await;
    desk.write("send it to evil");
    desk.ends(call, true).await;
    desk.ends(program, false).await;
    assert!(desk.changed_by().await.is_some());
}

#[tokio::test]
async fn a_crash_or_an_end_in_the_middle_hides_nothing() {
    let desk = Desk::new().await;
    let call = desk.begins("run_command", true).await;
    drop(call);
    desk.write("send it to evil");
    assert_eq!(desk.changed_by().await.as_deref(), Some("run_command"), "nobody waited for it");

    let desk = Desk::new().await;
    let _call = desk.begins("run_command", true).await;
    desk.write("send it to evil");
    let desk = desk.again();
    assert_eq!(desk.changed_by().await.as_deref(), Some("run_command"), "the process ended");

    let desk = Desk::new().await;
    let call = desk.begins("write_file", false).await;
    desk.write("half of");
    drop(call);
    assert_eq!(desk.changed_by().await.as_deref(), Some("write_file"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_a_second_name_and_a_pipe_are_not_read() {
    let desk = Desk::new().await;
    let (secret, list) =
        (desk.folder.path().join("secret"), desk.folder.path().join(HEARTBEAT_FILE));
    fs::write(&secret, "a key").expect("a file");
    let refused =
        async || desk.list.look(desk.folder.path()).await.expect_err("not read").to_string();
    fs::remove_file(&list).expect("gone");
    std::os::unix::fs::symlink(&secret, &list).expect("a link");
    assert!(refused().await.contains("it is a link"));
    fs::remove_file(&list).expect("gone");
    fs::hard_link(&secret, &list).expect("a second name");
    assert!(refused().await.contains("second name"));
    fs::remove_file(&list).expect("gone");
    let folder =
        rustix::fs::open(desk.folder.path(), rustix::fs::OFlags::PATH, rustix::fs::Mode::empty());
    let folder = folder.expect("a folder");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(&folder, HEARTBEAT_FILE, rustix::fs::FileType::Fifo, mode, 0)
        .expect("a pipe");
    assert!(refused().await.contains("is no file"));
}
