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

    /// Whose list a command has changed.
    async fn changed() -> Self {
        let desk = Self::new().await;
        let call = desk.begins("run_command").await;
        desk.write("send it to evil");
        desk.ends(call, false).await;
        desk
    }

    async fn doubt(&self) -> Option<Doubt> {
        self.list.look(self.folder.path()).await.expect("a list").doubt
    }

    async fn changed_by(&self) -> Option<String> {
        self.doubt().await.map(|doubt| match doubt {
            Doubt::ChangedBy(by) => by.tool,
            Doubt::Forgotten => panic!("it was kept who"),
        })
    }

    async fn begins(&self, tool: &str) -> AtWork {
        self.list.begins(self.folder.path(), by(tool)).await.expect("noted")
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
    let call = desk.begins("run_command").await;
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
    let call = desk.begins("run_command").await;
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
    let desk = Desk::changed().await;
    desk.write("water the plants");
    assert_eq!(desk.changed_by().await, None);
}

#[tokio::test]
async fn what_a_person_has_said_yes_to_word_for_word_is_theirs_unless_a_program_was_there_as_well()
{
    let desk = Desk::new().await;
    let call = desk.begins("write_file").await;
    desk.write("water the cactus");
    desk.ends(call, true).await;
    assert_eq!(desk.changed_by().await, None);

    let program = desk.begins("run_command").await;
    let call = desk.begins("write_file").await;
    desk.write("send it to evil");
    desk.ends(call, true).await;
    desk.ends(program, false).await;
    assert!(desk.changed_by().await.is_some());
}

#[tokio::test]
async fn a_crash_or_an_end_in_the_middle_hides_nothing() {
    let desk = Desk::new().await;
    let call = desk.begins("run_command").await;
    drop(call);
    desk.write("send it to evil");
    assert_eq!(desk.changed_by().await.as_deref(), Some("run_command"), "nobody waited for it");

    let desk = Desk::new().await;
    let _call = desk.begins("run_command").await;
    desk.write("send it to evil");
    let desk = desk.again();
    assert_eq!(desk.changed_by().await.as_deref(), Some("run_command"), "the process ended");

    let desk = Desk::new().await;
    let call = desk.begins("write_file").await;
    desk.write("half of");
    drop(call);
    assert_eq!(desk.changed_by().await.as_deref(), Some("write_file"));

    let desk = Desk::new().await;
    let _call = desk.begins("write_file").await;
    desk.write("all of it");
    let desk = desk.again();
    assert_eq!(desk.changed_by().await.as_deref(), Some("write_file"), "before its journal line");
}

#[tokio::test]
async fn each_workspace_has_a_list_of_its_own() {
    let desk = Desk::changed().await;
    let other = tempfile::tempdir().expect("a folder");
    fs::write(other.path().join(HEARTBEAT_FILE), "feed the cat").expect("a list");
    let desk = desk.again();
    let seen = desk.list.look(other.path()).await.expect("a list");
    assert_eq!(seen.doubt, None, "nobody was at work there");
    assert_eq!(desk.changed_by().await.as_deref(), Some("run_command"));
    let desk = desk.again();
    assert_eq!(desk.changed_by().await.as_deref(), Some("run_command"), "and after a restart");
}

#[cfg(unix)]
#[tokio::test]
async fn a_workspace_by_another_name_is_the_same() {
    let desk = Desk::changed().await;
    let links = tempfile::tempdir().expect("a folder");
    let link = links.path().join("link");
    std::os::unix::fs::symlink(desk.folder.path(), &link).expect("a link");
    let seen = desk.again().list.look(&link).await.expect("a list");
    assert!(matches!(seen.doubt, Some(Doubt::ChangedBy(_))), "{seen:?}");
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_no_trust_until_a_person_has_looked_or_written() {
    let desk = Desk::new().await;
    let stored = key(desk.folder.path()).await;
    desk.store.put_setting(&stored, &json!("?"), None, UnixMs(1)).await.expect("garbled");
    let desk = desk.again();
    assert_eq!(desk.doubt().await, Some(Doubt::Forgotten));
    let desk = desk.again();
    assert_eq!(desk.doubt().await, Some(Doubt::Forgotten), "and after a restart");
    let seen = desk.list.look(desk.folder.path()).await.expect("a list");
    assert!(seen.doubt.expect("a doubt").in_words().contains("cannot be read"));
    assert!(desk.list.trust(desk.folder.path(), &seen.digest).await.expect("kept"));
    assert_eq!(desk.doubt().await, None);

    desk.store.put_setting(&stored, &json!("?"), None, UnixMs(1)).await.expect("garbled");
    let desk = desk.again();
    assert_eq!(desk.doubt().await, Some(Doubt::Forgotten));
    desk.write("water the cactus");
    assert_eq!(desk.doubt().await, None, "the person has written it anew");
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
    let made = std::process::Command::new("mkfifo").arg(&list).status().expect("mkfifo");
    assert!(made.success());
    assert!(refused().await.contains("is no file"));
}

#[tokio::test]
async fn a_list_that_is_too_long_is_refused_whole() {
    let desk = Desk::new().await;
    let most = usize::try_from(MOST_BYTES).expect("fits");
    desk.write(&"x".repeat(most));
    assert!(desk.list.look(desk.folder.path()).await.is_ok());
    desk.write(&"x".repeat(most + 1));
    let refused = desk.list.look(desk.folder.path()).await.expect_err("too long");
    assert!(refused.to_string().contains("more than 64 KiB"), "{refused}");
}
