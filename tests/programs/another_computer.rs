//! `rouse --on`: the engine of another computer. A script in the place of `ssh` runs the words for that computer here, with
//! another data directory, or fails in one of the ways of `ssh`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rouse_gateway::{Client, ClientError, RemoteComputer, RemoteError};
use serde_json::json;

use crate::engine::TestHome;
use crate::probes::echo;

/// Writes an executable shell script.
pub(crate) fn write_script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("set");
}

/// The script of a computer whose data directory is that of `home`. The words for its shell are the last argument.
pub(crate) fn ssh_to(home: &TestHome) -> PathBuf {
    let bin = home.sibling("bin");
    fs::create_dir_all(&bin).expect("a folder");
    let rouse = home.command(["status"]).get_program().to_owned();
    std::os::unix::fs::symlink(rouse, bin.join("rouse")).expect("a link");
    let script = home.sibling("ssh");
    let (bin, data) = (bin.display(), home.data().display().to_string());
    write_script(
        &script,
        &format!(
            "for words; do :; done\nunset ROUSE_ON\nexport PATH='{bin}':\"$PATH\" ROUSE_HOME='{data}'\n\
             echo 'Welcome to box!'\nexec sh -c \"$words\""
        ),
    );
    script
}

/// A computer without an engine, whose `ssh` is `script`.
pub(crate) fn laptop(script: &Path) -> TestHome {
    TestHome::new().env("ROUSE_SSH", script.to_str().expect("text"))
}

#[tokio::test]
async fn commands_use_the_engine_of_another_computer() {
    let other = TestHome::new();
    let script = ssh_to(&other);
    let engine = other.serve().await;
    let here = laptop(&script).env("ROUSE_ON", "anna@box");
    let tea = ["cron", "add", "--manual", "--tool", "echo", "--arguments", "{\"text\": \"Tea\"}"];
    let tea = [&tea[..], &["--name", "Tea"]].concat();
    here.rouse(&tea).ok();
    assert!(here.rouse(["cron", "list"]).ok().contains("Tea"));
    assert!(other.rouse(["cron", "list"]).ok().contains("Tea"));
    let run = here.rouse(["--on", "box", "cron", "run", "Tea", "--wait", "--json"]);
    assert_eq!(run.json()["run"]["state"], "succeeded", "{run:#?}");
    let status = here.rouse(["status", "--json"]).json();
    assert_eq!(status["pid"], engine.pid());
    here.rouse(["cron", "show", "Coffee"]).assert_error(4, "Coffee");
    let here = here.without_env("ROUSE_ON");
    here.rouse(["cron", "list"]).assert_error(3, "Rouse is not running");
    assert_eq!(engine.stop().code(), Some(0));
}

#[tokio::test]
async fn computer_of_the_settings_is_reached_by_name() {
    let other = TestHome::new();
    let script = ssh_to(&other);
    let engine = other.serve().await;
    engine.add_job(echo("Tea")).await;
    let program = other.sibling("bin").join("rouse");
    let table = format!(
        "[computers.box]\naddress = \"ssh://anna@box.example.org:2222\"\nprogram = \"{}\"\n",
        program.display()
    );
    let here = laptop(&script).config(&table);
    assert!(here.rouse(["--on", "box", "cron", "list"]).ok().contains("Tea"));
    here.write_config(&table.replace("bin/rouse", "bin/rousse"));
    here.rouse(["--on", "box", "cron", "list"]).assert_error(3, "is not found on anna@box");
    here.write_config("[computers.box]\naddress = \"-oProxyCommand=id\"\n");
    here.rouse(["--on", "box", "cron", "list"]).assert_error(1, "computers.box.address");
}

#[tokio::test]
async fn broken_layer_is_named_with_its_remedy() {
    let other = TestHome::new();
    let script = ssh_to(&other);
    let here = laptop(&script);
    let list = ["--on", "anna@box", "cron", "list"];
    here.rouse(list).assert_error(3, "Rouse is not running on anna@box. Start it there");
    let hello = r#"{"jsonrpc":"2.0","method":"hello","params":{"version":"9.9.9","protocol":1}}"#;
    let other_protocol = format!("echo '{}'", hello.replace(":1}", ":2}"));
    for (text, words) in [
        (
            "echo 'anna@box: Permission denied (publickey).' >&2; exit 255",
            "Run `ssh anna@box` once",
        ),
        ("echo 'Host key verification failed.' >&2; exit 255", "answer its prompts"),
        ("echo 'ssh: connect to host box port 22: Connection refused' >&2; exit 255", "refused."),
        ("echo 'sh: rouse: not found' >&2; exit 127", "`rouse` is not found on anna@box"),
        ("echo noise; exit 0", "ended at once: exit code 0, without a message."),
        (&other_protocol, "Rouse on anna@box (9.9.9) and Rouse"),
    ] {
        write_script(&script, text);
        here.rouse(list).assert_error(3, words);
    }
    let lost =
        format!("echo '{hello}'\nread request\necho 'Timeout, server box not responding.' >&2");
    write_script(&script, &format!("{lost}\nexit 255"));
    here.rouse(list)
        .assert_error(1, "so its outcome is unknown. Check there before you repeat it.");
    fs::remove_file(&script).expect("removed");
    here.rouse(list).assert_error(3, "Install OpenSSH");
    here.rouse(["--on", "-v", "cron", "list"]).assert_error(2, "--on: expected user@host");
}

#[tokio::test]
async fn command_with_local_files_is_refused_elsewhere() {
    let here = TestHome::new().env("ROUSE_SSH", "/nowhere/ssh").env("ROUSE_ON", "anna@box");
    for (line, words) in [
        (&["logs"][..], "`rouse logs` works only on the computer of the engine"),
        (&["doctor"], "ssh -t anna@box rouse doctor"),
        (&["open"], "`rouse open`"),
        (&["mcp", "serve"], "`rouse mcp serve`"),
        (&["mcp", "login", "docs"], "`rouse mcp login`"),
        (&["backup", "copy.tar.gz"], "A copy of the backup"),
        (&["skills", "add", "."], "PATH works only"),
    ] {
        here.rouse(line).assert_error(5, words);
    }
    here.rouse(["serve"]).assert_error(2, "starts an engine on this computer");
    here.rouse(["completions", "bash"]).ok();
    here.rouse(["cron", "list", "--on", "box"]).assert_error(2, "stands before the command");
}

#[tokio::test]
async fn dial_refuses_without_an_engine_and_ends_with_its_input() {
    let home = TestHome::new();
    let refused = home.rouse(["dial"]);
    assert_eq!((refused.code, refused.err.as_str()), (3, ""), "{refused:#?}");
    let line: serde_json::Value = serde_json::from_str(&refused.out).expect("one line of JSON");
    assert_eq!(
        (&line["method"], &line["params"]["reason"]),
        (&json!("refusal"), &json!("notRunning"))
    );
    let _engine = home.serve().await;
    let request =
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"cron.get\",\"params\":{\"id\":\"x\"}}\nnoise\n";
    let dialled = home.rouse_with_input(["dial"], request);
    let lines: Vec<serde_json::Value> =
        dialled.ok().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines[0]["params"]["protocol"], 1);
    assert!(lines.len() <= 2 && dialled.err.is_empty(), "{dialled:#?}");
}

#[tokio::test]
async fn client_reaches_a_restarted_engine_again() {
    let other = TestHome::new();
    let script = ssh_to(&other);
    let engine = other.serve().await;
    let address = rouse_core::settings::SshAddress::parse("anna@box").expect("an address");
    let client = Client::over_ssh(RemoteComputer::new(address, None, Some(script.into())));
    let status = client.call("system.status", json!({})).await.expect("a status");
    let mut events = client.events(status["seq"].as_i64()).await.expect("a stream");
    let added = client.call("cron.add", echo("Tea")).await.expect("a job");
    let id = added["job"]["id"].as_str().expect("an id");
    let added = events.next().await.expect("an event");
    assert_eq!(added.data["jobId"], *id);
    assert_eq!(engine.stop().code(), Some(0));
    assert!(events.next().await.is_none());
    let stopped = client.call("cron.list", json!({})).await;
    assert!(
        matches!(stopped, Err(ClientError::Remote(RemoteError::NotRunning { .. }))),
        "{stopped:?}"
    );
    let _engine = other.serve().await;
    client.call("cron.get", json!({ "id": id })).await.expect("the same job");
    let url = client.sign_in_url("/").await.expect_err("no page of another computer");
    assert!(url.to_string().contains("works only on the computer of the engine"), "{url}");
}
