//! The whole app on a private desktop: a virtual screen, a session bus, a notification server and a tray host.
//!
//! Only the desktop services are simulated, by these tests. Tests wait for desktop events (a registered item, a
//! notification, a window title) and never for time; a minute without the event is a failure. Needs Xvfb,
//! dbus-daemon, and the built app and CLI (`ROUSE_DESKTOP_BIN` and `ROUSE_BIN`, or `target/debug`).

#![cfg(target_os = "linux")]

#[path = "desktop/fake_desktop.rs"]
mod fake_desktop;
#[path = "desktop/other_computer.rs"]
mod other_computer;
#[path = "desktop/screen.rs"]
mod screen;
#[path = "desktop/session.rs"]
mod session;
#[path = "desktop/tray.rs"]
mod tray;

use fake_desktop::FakeDesktop;
use other_computer::OtherComputer;
use rouse_gateway::{Client, EventStream};
use rouse_testkit::fake_model::FakeModel;
use rouse_tests::{model_calling, model_settings};
use serde_json::{Value, json};
use session::{AppProcess, DesktopSession, with_timeout};
use tray::TrayItem;

/// Starts the hidden app with a tray and awaits the first notification.
async fn start_in_tray() -> (DesktopSession, FakeDesktop, AppProcess, TrayItem) {
    start_session_in_tray(DesktopSession::start().await).await
}

async fn start_session_in_tray(
    session: DesktopSession,
) -> (DesktopSession, FakeDesktop, AppProcess, TrayItem) {
    let mut desktop = FakeDesktop::start(&session).await;
    desktop.show_tray().await;
    let app = session.start_app(&["--hidden"]);
    let tray = desktop.next_tray_item().await;
    desktop.next_notification().await;
    (session, desktop, app, tray)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_job_notification_opens_its_run() {
    let session = DesktopSession::start().await;
    let mut desktop = FakeDesktop::start(&session).await;
    desktop.show_tray().await;
    let mut app = session.start_app(&["--hidden"]);

    let tray = desktop.next_tray_item().await;
    assert_eq!(tray.text("Title").await, "Rouse");
    assert!(!tray.icon().await.is_empty(), "the item has an icon");
    let menu =
        tray.wait_for_menu(|menu| menu.has("Nothing running") || menu.has("1 running")).await;
    for label in ["Open Rouse", "Settings", "New job…", "Quit Rouse (jobs will not run)"] {
        assert!(menu.has(label), "{label} is in the menu:\n{menu}");
    }
    assert!(menu.under("Pause all").contains(&"For 15 minutes".to_owned()), "{menu}");
    assert_eq!(menu.under("Run now"), ["Hello from Rouse"], "{menu}");
    assert!(
        tray.text("ToolTip").await.starts_with("Next: Hello from Rouse"),
        "the tooltip names the next job"
    );
    session.screen.assert_empty("a hidden start has no window");

    let shown = desktop.next_notification().await;
    assert_eq!((shown.app_name.as_str(), shown.summary.as_str()), ("Rouse", "Hello from Rouse"));
    assert_eq!(shown.actions, ["default", "Open"]);
    assert_eq!(shown.desktop_entry.as_deref(), Some("rouse-desktop"));
    assert!(!shown.urgent, "a success is not urgent");

    desktop.click(&shown).await;
    session.screen.wait_for_title("Hello from Rouse · Rouse").await;
    session.start_again(&[]).await;
    assert_eq!(session.screen.titles(), ["Hello from Rouse · Rouse"], "the window is unchanged");
    session.screen.save("run-after-click");

    app.quit_from_tray(&tray, "Quit Rouse (jobs will not run)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_window_keeps_rouse_running() {
    let session = DesktopSession::start().await;
    let mut desktop = FakeDesktop::start(&session).await;
    desktop.show_tray().await;
    let mut app = session.start_app(&[]);
    let tray = desktop.next_tray_item().await;
    session.screen.wait_for_window().await;
    let hello = desktop.next_notification().await;
    assert_eq!(hello.summary, "Hello from Rouse");
    // The page is drawn by now.
    session.screen.save("first-start");

    session.screen.close_window().await;
    let notice = desktop.next_notification().await;
    assert_eq!(notice.summary, "Rouse keeps running");

    tray.activate().await;
    session.screen.wait_for_window().await;
    session.screen.close_window().await;
    tray.choose("Run now", "Hello from Rouse").await;
    let next = desktop.next_notification().await;
    assert_eq!(next.summary, "Hello from Rouse", "the notice appears once");

    session.start_again(&["--open", "/settings"]).await;
    session.screen.wait_for_title("Settings · Rouse").await;
    session.start_again(&["--open", "/jobs"]).await;
    session.screen.wait_for_title("Jobs · Rouse").await;
    assert_eq!(session.screen.titles(), ["Jobs · Rouse"], "a second start opens no second window");

    app.quit_from_tray(&tray, "Quit Rouse (jobs will not run)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pause_changes_tray_menu_and_icon() {
    let (_session, _desktop, mut app, tray) = start_in_tray().await;
    tray.wait_for_menu(|menu| menu.has("Pause all")).await;
    let idle = tray.icon().await;

    tray.choose("Pause all", "Until resumed").await;
    let menu = tray.wait_for_menu(|menu| menu.has("Paused")).await;
    assert!(menu.has("Resume all jobs") && menu.has("Pause longer"), "{menu}");
    assert_eq!(tray.text("ToolTip").await, "Paused");
    assert_ne!(tray.icon().await, idle, "the icon changes");

    tray.choose_top("Resume all jobs").await;
    tray.wait_for_menu(|menu| menu.has("Pause all")).await;
    app.quit_from_tray(&tray, "Quit Rouse (jobs will not run)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_is_stopped_from_tray() {
    let (session, _desktop, mut app, tray) = start_in_tray().await;
    tray.wait_for_menu(|menu| menu.has("Pause all") && !menu.has("Stop")).await;
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
    let menu = tray.wait_for_menu(|menu| menu.under("Stop").iter().any(is_endless)).await;
    let label = menu.under("Stop").into_iter().find(is_endless).expect("the run");

    tray.choose("Stop", &label).await;
    tray.wait_for_menu(|menu| !menu.has("Stop")).await;
    let run = session.call("runs.get", json!({ "id": run["runId"] })).await;
    assert_eq!(run["run"]["state"], "cancelled", "{run:#}");
    app.quit_from_tray(&tray, "Quit Rouse (jobs will not run)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_tray_is_used() {
    let session = DesktopSession::start().await;
    let mut desktop = FakeDesktop::start(&session).await;
    let mut app = session.start_app(&[]);
    session.screen.wait_for_window().await;

    session.screen.close_window().await;
    let body = loop {
        let shown = desktop.next_notification().await;
        if shown.summary == "Rouse keeps running" {
            break shown.body;
        }
    };
    assert_eq!(
        body,
        "Your jobs keep running. Start Rouse again to reopen it; quit it on its Home page."
    );

    desktop.show_tray().await;
    let tray = desktop.next_tray_item().await;
    tray.wait_for_menu(|menu| menu.has("Open Rouse")).await;
    app.quit_from_tray(&tray, "Quit Rouse (jobs will not run)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_end_exits_the_app() {
    let session = DesktopSession::start().await;
    let mut desktop = FakeDesktop::start(&session).await;
    let mut app = session.start_app(&["--hidden"]);
    desktop.next_notification().await;
    app.terminate();
    let status = with_timeout("the app to exit", app.wait()).await;
    assert!(status.success(), "{status}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failure_is_urgent_until_its_run_is_seen() {
    let (session, mut desktop, mut app, tray) = start_in_tray().await;

    let failing = json!({
        "name": "Reads <nothing> & fails",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "read_file", "arguments": { "path": "not-there.txt" } },
    });
    session.call("cron.add", failing).await;
    tray.choose("Run now", "Reads <nothing> & fails").await;
    let shown = desktop.next_notification().await;
    assert_eq!(shown.summary, "Reads <nothing> & fails");
    assert!(shown.urgent, "a failure is urgent");
    let menu = tray.wait_for_menu(|menu| menu.headline().ends_with("1 job failing")).await;
    let recent = menu.under("Recent runs");
    assert!(recent[0].starts_with("✗ Reads <nothing> & fails · failed "), "{recent:?}");

    let runs = session.call("runs.list", json!({ "limit": 1 })).await;
    session.call("runs.seen", json!({ "id": runs["runs"][0]["id"] })).await;
    assert_eq!(desktop.next_withdrawn_id().await, shown.id);
    app.quit_from_tray(&tray, "Quit Rouse (jobs will not run)").await;
}

/// An agent job that writes a file in every run.
fn model_writing_a_file() -> FakeModel {
    model_calling(vec![("write_file", json!({ "path": "note.md", "content": "hello" }))])
}

fn file_job() -> Value {
    json!({
        "name": "Writer",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Write it." },
    })
}

async fn file_writer() -> (FakeModel, DesktopSession, Value) {
    let server = model_writing_a_file();
    let session = DesktopSession::start().await;
    session.configure(&model_settings(&server));
    (server, session, file_job())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approval_is_decided_in_notification_and_tray() {
    let (_server, session, job) = file_writer().await;
    let (session, mut desktop, mut app, tray) = start_session_in_tray(session).await;
    let id = session.call("cron.add", job).await["job"]["id"].clone();
    let now = json!({ "id": id, "mode": "force" });

    let run = session.call("cron.run", now.clone()).await["runId"].clone();
    let shown = desktop.next_notification().await;
    assert!(shown.urgent && shown.body.contains("write_file on note.md."), "{}", shown.body);
    assert!(
        !shown.body.contains("hello"),
        "the notification shows no file content: {}",
        shown.body
    );
    // The app knows the notification's number after the delivery.
    with_timeout("the delivery", wait_for_delivery(&session.client(), &run)).await;
    desktop.press(&shown, "Allow once").await;
    let result = desktop.next_notification().await;
    assert_eq!(result.body, "All done.");
    let detail = session.call("runs.get", json!({ "id": run })).await;
    assert_eq!(detail["approvals"][0]["decidedFrom"], "notification", "{detail:#}");
    // The repeated action has no effect.
    desktop.press(&shown, "Allow once").await;
    // The next approval has the same text; an early click would hit the old entry.
    tray.wait_for_menu(|menu| !menu.has("Needs you")).await;

    // The decision in the tray precedes the server's answer with the number; the notification is still withdrawn.
    desktop.answer(false);
    let run = session.call("cron.run", now).await["runId"].clone();
    let shown = desktop.next_notification().await;
    tray.wait_for_menu(|menu| menu.has("Needs you")).await;
    tray.choose("Writer · write_file: note.md", "Deny").await;
    tray.wait_for_menu(|menu| !menu.has("Needs you")).await;
    desktop.answer(true);
    // The first notification may be withdrawn twice: after its action, and after its decision.
    while desktop.next_withdrawn_id().await != shown.id {}
    desktop.next_notification().await;
    tray.wait_for_menu(|menu| !menu.has("Needs you")).await;
    let detail = session.call("runs.get", json!({ "id": run })).await;
    let approval = &detail["approvals"][0];
    assert_eq!((&approval["state"], &approval["decidedFrom"]), (&json!("denied"), &json!("tray")));
    app.quit_from_tray(&tray, "Quit Rouse (jobs will not run)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approval_of_another_computer_is_decided_here() {
    let (server, job) = (model_writing_a_file(), file_job());
    let session = DesktopSession::start().await;
    session.configure("[computers.box]\naddress = \"anna@box\"\n");
    let other = OtherComputer::start(&model_settings(&server), &session.ssh()).await;
    let mut events = other.events().await;
    let (session, mut desktop, mut app, tray) = start_session_in_tray(session).await;
    with_timeout("the app to attach", wait_for_screens(&mut events, 1)).await;
    let id = other.call("cron.add", job).await["job"]["id"].clone();

    let run = other.call("cron.run", json!({ "id": id, "mode": "force" })).await["runId"].clone();
    let shown = loop {
        let shown = desktop.next_notification().await;
        // The example job of this computer may run meanwhile.
        if shown.summary == "box: Writer" {
            break shown;
        }
    };
    assert!(shown.urgent && shown.body.contains("write_file on note.md."), "{}", shown.body);
    with_timeout("the delivery", wait_for_delivery(&other.client, &run)).await;
    desktop.press(&shown, "Allow once").await;
    let result = desktop.next_notification().await;
    assert_eq!((result.summary.as_str(), result.body.as_str()), ("box: Writer", "All done."));
    let detail = other.call("runs.get", json!({ "id": run })).await;
    assert_eq!(detail["approvals"][0]["decidedFrom"], "notification", "{detail:#}");

    desktop.click(&result).await;
    session.screen.wait_for_title("Writer · Rouse").await;
    session.screen.save("another-computer");
    other.call("runs.seen", json!({ "id": run })).await;
    app.quit_from_tray(&tray, "Quit Rouse (jobs will not run)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_app_is_a_client_and_takes_over() {
    let first = DesktopSession::start().await;
    let mut first_desktop = FakeDesktop::start(&first).await;
    first_desktop.show_tray().await;
    let mut owner = first.start_app(&["--hidden"]);
    let owner_tray = first_desktop.next_tray_item().await;
    owner_tray.wait_for_menu(|menu| menu.has("Run now")).await;

    let second = DesktopSession::start_second(&first).await;
    let mut second_desktop = FakeDesktop::start(&second).await;
    second_desktop.show_tray().await;
    let mut client = second.start_app(&["--hidden"]);
    let client_tray = second_desktop.next_tray_item().await;
    client_tray.wait_for_menu(|menu| menu.has("Quit Rouse (jobs keep running)")).await;
    client_tray.choose("Pause all", "Until resumed").await;
    owner_tray.wait_for_menu(|menu| menu.has("Paused")).await;
    client_tray.wait_for_menu(|menu| menu.has("Paused")).await;

    owner.quit_from_tray(&owner_tray, "Quit Rouse (jobs will not run)").await;
    let menu = client_tray.wait_for_menu(|menu| menu.has("Quit Rouse (jobs will not run)")).await;
    assert!(menu.has("Paused"), "the pause persists: {menu}");
    client.quit_from_tray(&client_tray, "Quit Rouse (jobs will not run)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attached_app_shows_serve_notifications() {
    let session = DesktopSession::start().await;
    let mut desktop = FakeDesktop::start(&session).await;
    desktop.show_tray().await;
    let _server = session.serve().await;
    let mut events = session.events().await;
    let mut client = session.start_app(&["--hidden"]);
    let tray = desktop.next_tray_item().await;
    tray.wait_for_menu(|menu| menu.has("Quit Rouse (jobs keep running)")).await;
    with_timeout("the app to attach", wait_for_screens(&mut events, 1)).await;

    let job = json!({
        "name": "Told by serve",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "echo", "arguments": { "text": "hello" } },
    });
    let id = session.call("cron.add", job).await["job"]["id"].clone();
    let now = json!({ "id": id, "mode": "force" });
    let run = session.call("cron.run", now.clone()).await["runId"].clone();
    let shown = desktop.next_notification().await;
    assert_eq!((shown.app_name.as_str(), shown.summary.as_str()), ("Rouse", "Told by serve"));
    let delivery = with_timeout("the delivery", wait_for_delivery(&session.client(), &run)).await;
    assert_eq!(delivery["state"], "delivered", "{delivery}");
    desktop.click(&shown).await;
    session.screen.wait_for_title("Told by serve · Rouse").await;
    session.screen.save("attached");

    // A clicked notification disappears; an unclicked notification disappears after its run was seen.
    let run = session.call("cron.run", now.clone()).await["runId"].clone();
    let shown = desktop.next_notification().await;
    session.call("runs.seen", json!({ "id": run })).await;
    // The clicked notification may be withdrawn too, when its run is seen.
    while desktop.next_withdrawn_id().await != shown.id {}

    client.quit_from_tray(&tray, "Quit Rouse (jobs keep running)").await;
    with_timeout("the app to detach", wait_for_screens(&mut events, 0)).await;
    let run = session.call("cron.run", now).await["runId"].clone();
    let delivery = with_timeout("the delivery", wait_for_delivery(&session.client(), &run)).await;
    assert_eq!(delivery["state"], "suppressed", "no screen is attached: {delivery}");
}

async fn wait_for_screens(events: &mut EventStream, count: u32) {
    while events.next().await.expect("the engine is running").data["screens"] != count {}
}

/// Waits until the delivery of `run` is settled.
async fn wait_for_delivery(client: &Client, run: &Value) -> Value {
    let mut events = client.events(None).await.expect("a stream");
    loop {
        let detail = client.call("runs.get", json!({ "id": run })).await.expect("a run");
        let delivery = detail["deliveries"][0].clone();
        if !delivery.is_null() && delivery["state"] != "pending" {
            return delivery;
        }
        events.next().await.expect("the engine is running");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn early_and_unicast_clicks_are_handled() {
    let session = DesktopSession::start().await;
    let mut desktop = FakeDesktop::start(&session).await;
    let mut app = session.start_app(&["--hidden"]);

    let first = desktop.next_notification().await;
    desktop.click_by_unicast(&first).await;
    session.screen.wait_for_title("Hello from Rouse · Rouse").await;

    desktop.click_immediately();
    session.call("deliveries.test", json!({})).await;
    desktop.next_notification().await;
    session.screen.wait_for_title("Settings · Rouse").await;

    app.terminate();
    assert!(with_timeout("the app to exit", app.wait()).await.success());
}
