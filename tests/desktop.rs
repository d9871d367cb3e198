//! The whole app on a desktop of its own: a virtual screen, a private session bus, a notification server and a tray host.
//!
//! Everything here is real but the desktop's other side, which these tests play. They wait for what the desktop is told
//! (a registered item, a notification, a window's title) and never for time to pass; a minute without the awaited is a
//! failure. Xvfb and dbus-daemon have to be installed, and the app and the command built (`ROUSE_DESKTOP_BIN` and
//! `ROUSE_BIN`, or `target/debug`).

#![cfg(target_os = "linux")]

#[path = "desktop/desk.rs"]
mod desk;
#[path = "desktop/screen.rs"]
mod screen;
#[path = "desktop/session.rs"]
mod session;
#[path = "desktop/tray.rs"]
mod tray;

use desk::Desk;
use rouse_gateway::EventStream;
use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use serde_json::{Value, json};
use session::{App, Session, soon};
use tray::TrayItem;

/// The app without a window on a desk with a tray, when it has said hello.
async fn in_the_tray() -> (Session, Desk, App, TrayItem) {
    in_the_tray_of(Session::start().await).await
}

async fn in_the_tray_of(session: Session) -> (Session, Desk, App, TrayItem) {
    let mut desk = Desk::set_up(&session).await;
    desk.host_trays().await;
    let app = session.start_app(&["--hidden"]);
    let tray = desk.next_tray_item().await;
    desk.next_notification().await;
    (session, desk, app, tray)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_job_fires_and_its_notification_opens_its_run() {
    let session = Session::start().await;
    let mut desk = Desk::set_up(&session).await;
    desk.host_trays().await;
    let mut app = session.start_app(&["--hidden"]);

    let tray = desk.next_tray_item().await;
    assert_eq!(tray.text("Title").await, "Rouse");
    assert!(!tray.icon().await.is_empty(), "the item has a picture");
    let menu = tray.menu_once(|menu| menu.has("Nothing running") || menu.has("1 running")).await;
    for label in ["Open Rouse", "Settings", "New job…", "Quit Rouse (jobs will not run)"] {
        assert!(menu.has(label), "{label} is in the menu:\n{menu}");
    }
    assert!(menu.under("Pause all").contains(&"For 15 minutes".to_owned()), "{menu}");
    assert_eq!(menu.under("Run now"), ["Hello from Rouse"], "{menu}");
    assert!(
        tray.text("ToolTip").await.starts_with("Next: Hello from Rouse"),
        "the tooltip says what comes"
    );
    session.screen.assert_empty("a hidden start has no window");

    let shown = desk.next_notification().await;
    assert_eq!((shown.app_name.as_str(), shown.summary.as_str()), ("Rouse", "Hello from Rouse"));
    assert_eq!(shown.actions, ["default", "Open"]);
    assert_eq!(shown.desktop_entry.as_deref(), Some("rouse-desktop"));
    assert!(!shown.urgent, "a success is not urgent");

    desk.click(&shown).await;
    session.screen.until_titled("Hello from Rouse · Rouse").await;
    session.second_start(&[]).await;
    assert_eq!(session.screen.titles(), ["Hello from Rouse · Rouse"], "shown as it was left");
    session.screen.save("run-after-click");

    app.quit_by(&tray, "Quit Rouse (jobs will not run)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_window_comes_and_goes_and_rouse_stays() {
    let session = Session::start().await;
    let mut desk = Desk::set_up(&session).await;
    desk.host_trays().await;
    let mut app = session.start_app(&[]);
    let tray = desk.next_tray_item().await;
    session.screen.until_shown().await;
    let hello = desk.next_notification().await;
    assert_eq!(hello.summary, "Hello from Rouse");
    // By now the page has been drawn.
    session.screen.save("first-start");

    session.screen.close_window().await;
    let notice = desk.next_notification().await;
    assert_eq!(notice.summary, "Rouse keeps running");

    tray.activate().await;
    session.screen.until_shown().await;
    session.screen.close_window().await;
    tray.choose("Run now", "Hello from Rouse").await;
    let next = desk.next_notification().await;
    assert_eq!(next.summary, "Hello from Rouse", "closing is explained once");

    session.second_start(&["--open", "/settings"]).await;
    session.screen.until_titled("Settings · Rouse").await;
    session.second_start(&["--open", "/jobs"]).await;
    session.screen.until_titled("Jobs · Rouse").await;
    assert_eq!(session.screen.titles(), ["Jobs · Rouse"], "a second start makes no second window");

    app.quit_by(&tray, "Quit Rouse (jobs will not run)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pausing_in_the_tray_changes_its_words_and_its_picture() {
    let (_session, _desk, mut app, tray) = in_the_tray().await;
    tray.menu_once(|menu| menu.has("Pause all")).await;
    let idle = tray.icon().await;

    tray.choose("Pause all", "Until resumed").await;
    let menu = tray.menu_once(|menu| menu.has("Paused")).await;
    assert!(menu.has("Resume all jobs") && menu.has("Pause longer"), "{menu}");
    assert_eq!(tray.text("ToolTip").await, "Paused");
    assert_ne!(tray.icon().await, idle, "the picture tells as well");

    tray.choose_top("Resume all jobs").await;
    tray.menu_once(|menu| menu.has("Pause all")).await;
    app.quit_by(&tray, "Quit Rouse (jobs will not run)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_stopped_from_the_tray() {
    let (session, _desk, mut app, tray) = in_the_tray().await;
    tray.menu_once(|menu| menu.has("Pause all") && !menu.has("Stop")).await;
    let job = session
        .call(
            "cron.add",
            json!({
                "name": "Endless", "schedule": { "kind": "manual" },
                "payload": { "kind": "toolCall", "tool": "run_command", "arguments": { "command": "sleep 3000" } }
            }),
        )
        .await;
    let job = job["job"]["id"].as_str().expect("an id").to_owned();
    let run = session.call("cron.run", json!({ "id": job, "mode": "force" })).await;
    let is_endless = |label: &String| label.starts_with("◔ Endless · running since");
    let menu = tray.menu_once(|menu| menu.under("Stop").iter().any(is_endless)).await;
    let label = menu.under("Stop").into_iter().find(is_endless).expect("the run");

    tray.choose("Stop", &label).await;
    tray.menu_once(|menu| !menu.has("Stop")).await;
    let run = session.call("runs.get", json!({ "id": run["runId"] })).await;
    assert_eq!(run["run"]["state"], "cancelled", "{run:#}");
    app.quit_by(&tray, "Quit Rouse (jobs will not run)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tray_that_comes_later_is_used_and_none_at_all_is_no_trouble() {
    let session = Session::start().await;
    let mut desk = Desk::set_up(&session).await;
    let mut app = session.start_app(&[]);
    session.screen.until_shown().await;

    session.screen.close_window().await;
    let body = loop {
        let shown = desk.next_notification().await;
        if shown.summary == "Rouse keeps running" {
            break shown.body;
        }
    };
    assert_eq!(
        body,
        "Your jobs go on. Start Rouse again to see its window; quit it there, on the home page."
    );

    desk.host_trays().await;
    let tray = desk.next_tray_item().await;
    tray.menu_once(|menu| menu.has("Open Rouse")).await;
    app.quit_by(&tray, "Quit Rouse (jobs will not run)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_the_session_ends_the_app_in_order() {
    let session = Session::start().await;
    let mut desk = Desk::set_up(&session).await;
    let mut app = session.start_app(&["--hidden"]);
    desk.next_notification().await;
    app.terminate();
    let status = soon("the app's end", app.ended()).await;
    assert!(status.success(), "{status}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_is_urgent_and_goes_away_once_its_run_was_looked_at() {
    let (session, mut desk, mut app, tray) = in_the_tray().await;

    let failing = json!({
        "name": "Reads <nothing> & fails",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "read_file", "arguments": { "path": "not-there.txt" } },
    });
    session.call("cron.add", failing).await;
    tray.choose("Run now", "Reads <nothing> & fails").await;
    let shown = desk.next_notification().await;
    assert_eq!(shown.summary, "Reads <nothing> & fails");
    assert!(shown.urgent, "a failure waits until it is seen");
    let menu = tray.menu_once(|menu| menu.headline().ends_with("1 job failing")).await;
    let recent = menu.under("Recent runs");
    assert!(recent[0].starts_with("✗ Reads <nothing> & fails · failed "), "{recent:?}");

    let runs = session.call("runs.list", json!({ "limit": 1 })).await;
    session.call("runs.seen", json!({ "id": runs["runs"][0]["id"] })).await;
    assert_eq!(desk.next_withdrawn().await, shown.id);
    app.quit_by(&tray, "Quit Rouse (jobs will not run)").await;
}

/// An agent that wants to write one file, as often as it is run.
async fn a_writer() -> (FakeModel, Session, Value) {
    let call = json!({ "path": "note.md", "content": "hello" });
    let server = FakeModel::start(move |request| {
        let body = request.json();
        let messages = body["messages"].as_array().expect("messages");
        match messages.last().map(|last| last["role"] == "user") {
            Some(true) => Reply::events(sse::chat_calls("call", "write_file", &call)),
            _ => Reply::events(sse::chat_says("All done.")),
        }
    });
    let session = Session::start().await;
    session.configure(&format!(
        "[providers.mine]\nkind = \"openai\"\nbaseUrl = \"{}/v1\"\nmodel = \"fake-1\"\n",
        server.url()
    ));
    let job = json!({
        "name": "Writer",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Write it." },
    });
    (server, session, job)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_on_its_notification_and_in_the_tray() {
    let (_server, session, job) = a_writer().await;
    let (session, mut desk, mut app, tray) = in_the_tray_of(session).await;
    let id = session.call("cron.add", job).await["job"]["id"].clone();
    let now = json!({ "id": id, "mode": "force" });

    let run = session.call("cron.run", now.clone()).await["runId"].clone();
    let shown = desk.next_notification().await;
    assert!(shown.urgent && shown.body.contains("write_file on note.md?"), "{}", shown.body);
    assert!(!shown.body.contains("hello"), "what exactly is one click away: {}", shown.body);
    // The app knows by then which of its notifications it is.
    soon("the delivery", settled(&session, &run)).await;
    desk.press(&shown, "Allow once").await;
    let told = desk.next_notification().await;
    assert_eq!(told.body, "All done.");
    let detail = session.call("runs.get", json!({ "id": run })).await;
    assert_eq!(detail["approvals"][0]["answeredFrom"], "notification", "{detail:#}");
    // The same word again is no answer to anything.
    desk.press(&shown, "Allow once").await;
    // The next question has the same words; a click on this one would answer nothing.
    tray.menu_once(|menu| !menu.has("Needs you")).await;

    // Answered in the tray before the app has been told which notification it is: it goes all the same.
    desk.answer(false);
    let run = session.call("cron.run", now).await["runId"].clone();
    let shown = desk.next_notification().await;
    tray.menu_once(|menu| menu.has("Needs you")).await;
    tray.choose("Writer · write_file: note.md", "Deny").await;
    tray.menu_once(|menu| !menu.has("Needs you")).await;
    desk.answer(true);
    // The first one may go twice: by itself when its button was pressed, and because it has its answer.
    while desk.next_withdrawn().await != shown.id {}
    desk.next_notification().await;
    tray.menu_once(|menu| !menu.has("Needs you")).await;
    let detail = session.call("runs.get", json!({ "id": run })).await;
    let asked = &detail["approvals"][0];
    assert_eq!((&asked["state"], &asked["answeredFrom"]), (&json!("denied"), &json!("tray")));
    app.quit_by(&tray, "Quit Rouse (jobs will not run)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_app_is_a_guest_of_the_first_and_takes_over_when_it_ends() {
    let first = Session::start().await;
    let mut first_desk = Desk::set_up(&first).await;
    first_desk.host_trays().await;
    let mut owner = first.start_app(&["--hidden"]);
    let owner_tray = first_desk.next_tray_item().await;
    owner_tray.menu_once(|menu| menu.has("Run now")).await;

    let second = Session::start_beside(&first).await;
    let mut second_desk = Desk::set_up(&second).await;
    second_desk.host_trays().await;
    let mut guest = second.start_app(&["--hidden"]);
    let guest_tray = second_desk.next_tray_item().await;
    guest_tray.menu_once(|menu| menu.has("Quit Rouse (jobs keep running)")).await;
    guest_tray.choose("Pause all", "Until resumed").await;
    owner_tray.menu_once(|menu| menu.has("Paused")).await;
    guest_tray.menu_once(|menu| menu.has("Paused")).await;

    owner.quit_by(&owner_tray, "Quit Rouse (jobs will not run)").await;
    let menu = guest_tray.menu_once(|menu| menu.has("Quit Rouse (jobs will not run)")).await;
    assert!(menu.has("Paused"), "what was paused stays paused: {menu}");
    guest.quit_by(&guest_tray, "Quit Rouse (jobs will not run)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_that_is_attached_shows_what_rouse_serve_has_to_tell() {
    let session = Session::start().await;
    let mut desk = Desk::set_up(&session).await;
    desk.host_trays().await;
    let _server = session.serve().await;
    let mut events = session.events().await;
    let mut guest = session.start_app(&["--hidden"]);
    let tray = desk.next_tray_item().await;
    tray.menu_once(|menu| menu.has("Quit Rouse (jobs keep running)")).await;
    soon("the app to be a screen", until_screens(&mut events, 1)).await;

    let job = json!({
        "name": "Told by serve",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "echo", "arguments": { "text": "hello" } },
    });
    let id = session.call("cron.add", job).await["job"]["id"].clone();
    let now = json!({ "id": id, "mode": "force" });
    let run = session.call("cron.run", now.clone()).await["runId"].clone();
    let shown = desk.next_notification().await;
    assert_eq!((shown.app_name.as_str(), shown.summary.as_str()), ("Rouse", "Told by serve"));
    let delivery = soon("the delivery", settled(&session, &run)).await;
    assert_eq!(delivery["state"], "delivered", "{delivery}");
    desk.click(&shown).await;
    session.screen.until_titled("Told by serve · Rouse").await;
    session.screen.save("attached");

    // A clicked notification is gone by itself; one that was not goes once its run was looked at anywhere.
    let run = session.call("cron.run", now.clone()).await["runId"].clone();
    let shown = desk.next_notification().await;
    session.call("runs.seen", json!({ "id": run })).await;
    // The clicked one may be taken away as well, when its run is looked at.
    while desk.next_withdrawn().await != shown.id {}

    guest.quit_by(&tray, "Quit Rouse (jobs keep running)").await;
    soon("the screen to be gone", until_screens(&mut events, 0)).await;
    let run = session.call("cron.run", now).await["runId"].clone();
    let delivery = soon("the delivery", settled(&session, &run)).await;
    assert_eq!(delivery["state"], "suppressed", "the engine goes on without the app: {delivery}");
}

async fn until_screens(events: &mut EventStream, count: u32) {
    while events.next().await.expect("the engine goes on").data["screens"] != count {}
}

/// The delivery of `run` once its fate is known.
async fn settled(session: &Session, run: &Value) -> Value {
    let mut events = session.events().await;
    loop {
        let detail = session.call("runs.get", json!({ "id": run })).await;
        let delivery = detail["deliveries"][0].clone();
        if !delivery.is_null() && delivery["state"] != "pending" {
            return delivery;
        }
        events.next().await.expect("the engine goes on");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_click_is_heard_however_and_whenever_the_server_tells_it() {
    let session = Session::start().await;
    let mut desk = Desk::set_up(&session).await;
    let mut app = session.start_app(&["--hidden"]);

    let first = desk.next_notification().await;
    desk.click_told_to_sender(&first).await;
    session.screen.until_titled("Hello from Rouse · Rouse").await;

    desk.click_everything_at_once();
    session.call("deliveries.test", json!({})).await;
    desk.next_notification().await;
    session.screen.until_titled("Settings · Rouse").await;

    app.terminate();
    assert!(soon("the app's end", app.ended()).await.success());
}
