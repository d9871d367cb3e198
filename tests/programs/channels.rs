//! `rouse channels` with the real program: pairing at a terminal over `ssh`, and a test message that does not leave.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;

use rouse_testkit::fake_telegram::FakeTelegram;
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::json;

use crate::another_computer::{laptop, ssh_to, write_script};
use crate::engine::{EngineProcess, TestHome};
use crate::terminal::TerminalCommand;

/// The token of the bot.
const TOKEN: &str = "42:sunflower-42-Tango-1234567890";

/// The id of Anna, and of her private chat.
const ANNA: i64 = 7;

/// Adds the channel `phone` of a bot at `url`.
async fn add_phone(engine: &EngineProcess<'_>, url: &str) {
    engine.call("secrets.set", json!({ "name": "bot", "value": TOKEN, "hosts": [url] })).await;
    let phone = json!({ "kind": "telegram", "url": url, "tokenSecret": "bot" });
    engine.call("config.patch", json!({ "patch": { "channels": { "phone": phone } } })).await;
}

/// An `ssh` that ends the first wait for a change of a pairing without a change. It writes a line to `waits` at each
/// later wait.
fn ssh_with_ended_wait(ssh: &Path, waits: &Path, script: &Path) {
    let unchanged = json!({ "pairing": {
        "channel": "phone", "state": "waiting", "link": "", "qrSvg": "", "qrText": "",
        "expiresAtMs": 0, "person": null,
    } });
    let (ssh, waits) = (ssh.display(), waits.display());
    write_script(
        script,
        &format!(
            r#"exec 3>&1
is_first=yes
while IFS= read -r line; do
  case "$line" in *'"method":"channels.pairing"'*)
    if [ $is_first ]; then
      is_first=
      id=${{line#*'"id":'}}
      printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "${{id%%,*}}" '{unchanged}' >&3
      continue
    fi
    echo waits > '{waits}' ;;
  esac
  printf '%s\n' "$line"
done | '{ssh}' "$@""#
        ),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pairing_goes_on_after_a_wait_without_a_change() {
    let (other, bot) = (TestHome::new(), FakeTelegram::start(TOKEN));
    let (ssh, waits, script) = (ssh_to(&other), other.sibling("waits"), other.sibling("ssh-wait"));
    mkfifoat(CWD, &waits, Mode::RWXU).expect("a pipe");
    ssh_with_ended_wait(&ssh, &waits, &script);
    let engine = other.serve().await;
    add_phone(&engine, &bot.url()).await;
    let here = laptop(&script).env("ROUSE_ON", "anna@box");

    let mut terminal = TerminalCommand::start(&here, &["channels", "pair", "phone"]);
    let mut line = String::new();
    BufReader::new(File::open(&waits).expect("a pipe")).read_line(&mut line).expect("a wait");
    let pairing = engine.call("channels.pairing", json!({ "name": "phone" })).await;
    let link = pairing["pairing"]["link"].as_str().expect("a link");
    let (_, code) = link.split_once("?start=").expect("a code");
    bot.open_chat(ANNA);
    bot.queue_text(ANNA, "Anna", &format!("/start {code}"));
    terminal.wait_until("Anna opened the link. Is this you? [y/N] ").await;
    terminal.type_line("y");
    assert_eq!(terminal.exit_code(), 0);
    let listed = engine.call("channels.list", json!({})).await;
    assert_eq!(listed["channels"][0]["recipients"][0]["label"], "Anna");
}

#[tokio::test]
async fn test_message_without_a_connection_ends_at_once() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let home_server = json!({ "kind": "apprise", "url": format!("{url}/notify/home") });
    let patch = json!({ "channels": { "home": home_server } });
    engine.call("config.patch", json!({ "patch": patch })).await;
    home.rouse(["channels", "test", "home"]).assert_error(1, "Not delivered yet: ");
}

#[tokio::test]
async fn notification_of_an_engine_without_a_desktop_is_marked() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    let list = home.rouse(["channels"]);
    assert!(list.ok().contains("Reports to    notification (not shown: no desktop)"), "{list:#?}");
}
