//! What a person has said yes to is what runs, and nothing else: the real tools behind the real gate.
//!
//! Between the yes and the call any byte of it may be another: of the line, the folder, the environment, the script that
//! it runs, the file that it replaces, the hosts that it reaches and the sandbox around it; or the run that makes it. Each
//! such call is another one, which nobody has allowed, by an answer of the run or by a grant of its job. The short form
//! tries some hundred of them, `cargo xtask torture calls` a hundred thousand. That the proof sees a call which is made is
//! a test as well: with a gate that forgets what a yes is bound to.

mod other;
mod scene;
mod forgetful;

use std::fs;
use std::path::{Path, PathBuf};

use rouse_agent::Passage;
use rouse_testkit::Dice;
use rouse_testkit::dice::{count_or, first_seed};
use rouse_testkit::fake_model::{FakeModel, Reply};
use serde_json::json;

use self::forgetful::Forget;
use self::scene::{Another, Approved, HOST, Plan, Yes};

/// The bytes of a script; the last line of it is no text.
const SCRIPT: &[u8] = b"#!/bin/sh\necho ran >> ../ran # gr\xc3\xbc\xc3\x9fe\n# \xff\xfe\n";

/// Two folders with the same script, whose names differ in one byte that is no text where the system takes such names.
fn folders(workspace: &Path) -> [PathBuf; 2] {
    let names: [&[u8]; 2] = match cfg!(target_os = "linux") {
        true => [b"s\xfcb", b"s\xfdb"],
        false => [b"sub", b"sud"],
    };
    names.map(|name| workspace.join(other::raw(name)))
}

/// The workspace as it was when the person said yes: the command works in `here`, which is the first of the folders.
fn with_script(workspace: &Path) {
    for folder in folders(workspace) {
        fs::create_dir_all(&folder).expect("made");
        fs::write(folder.join("go.sh"), SCRIPT).expect("written");
        fs::remove_file(folder.join("größe")).ok();
    }
    leads_to(workspace, &folders(workspace)[0]);
}

/// `here` is another name of this folder.
fn leads_to(workspace: &Path, folder: &Path) {
    let here = workspace.join("here");
    if fs::read_link(&here).is_ok_and(|now| now == folder) {
        return;
    }
    fs::remove_file(&here).ok();
    std::os::unix::fs::symlink(folder, here).expect("a link");
}

/// A way in which a call of a command can be another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Arguments,
    Folder,
    Link,
    Script,
    NewFile,
    JobName,
    Room,
    Environment,
    Run,
    /// In none: only for the test of the proof.
    None,
}

const WAYS: [Way; 9] = [
    Way::Arguments,
    Way::Folder,
    Way::Link,
    Way::Script,
    Way::NewFile,
    Way::JobName,
    Way::Room,
    Way::Environment,
    Way::Run,
];

/// Makes it another call in this way.
fn change(approved: &Approved, yes: Yes, way: Way, dice: &mut Dice) -> Another {
    let mut another = approved.same();
    let [folder, beside] = folders(&approved.workspace);
    match way {
        Way::Arguments => another.arguments = other::arguments(dice, &approved.arguments),
        Way::Folder => {
            let others = [".", "here/", "./here", "../workspace/here", "here/../here", "Here"];
            another.arguments["cwd"] = (*dice.pick(&others)).into();
        }
        Way::Link => leads_to(&approved.workspace, &beside),
        Way::Script => {
            fs::write(folder.join("go.sh"), other::bytes(dice, SCRIPT)).expect("written");
        }
        Way::NewFile => fs::write(folder.join("größe"), other::bytes(dice, b"x")).expect("written"),
        Way::JobName => another.context.job_name = other::text(dice, &approved.context.job_name),
        Way::Room => another.context.sandbox = other::room(dice, HOST),
        Way::Environment => {
            another.variables = Some(other::environment(dice, &approved.variables));
        }
        Way::Run => another.context = approved.elsewhere(yes == Yes::Run && dice.once_in(2)),
        Way::None => {}
    }
    another
}

/// Tries calls that differ in these ways from the approved one; which of them were made. The approved one itself is made
/// at the end.
async fn commands_made(yes: Yes, ways: &[Way], forgets: Option<Forget>) -> Vec<String> {
    let arguments = json!({ "command": "sh go.sh größe", "cwd": "here", "timeoutSeconds": 60 });
    let neighbour = json!({ "command": "sh go.sh grösse", "cwd": "here" });
    let (arguments, neighbour) = (&arguments, &neighbour);
    let neighbour = Some(neighbour);
    let plan = Plan { neighbour, forgets, ..Plan::of("run_command", arguments, yes) };
    let approved = Approved::to(plan, with_script).await;
    let ran = approved.workspace.join("ran");
    let (seed, mut made) = (first_seed(), Vec::new());
    let mut dice = Dice::new(seed);
    for number in 0..count_or(400) {
        let way = *dice.pick(ways);
        let another = change(&approved, yes, way, &mut dice);
        let tried = approved.tries(&another).await;
        let has_run = fs::remove_file(&ran).is_ok().then(|| "it ran".to_owned());
        let place = format!("seed {seed}, number {number}, {way:?}");
        made.extend(tried.into_iter().chain(has_run).map(|what| format!("{place}: {what}")));
        with_script(&approved.workspace);
        if forgets.is_some() && !made.is_empty() {
            break;
        }
    }
    if forgets.is_none() && made.is_empty() {
        let called = approved.is_made().await;
        if cfg!(target_os = "linux") {
            assert!(!called.output.is_error(), "{called:?}");
            assert_eq!(fs::read_to_string(&ran).expect("it ran"), "ran\n");
        }
        if yes == Yes::Job {
            approved.revoke().await;
            let passage = approved.asks_or_makes().await;
            assert!(matches!(passage, Passage::Asks(_)), "taken back: {passage:?}");
        }
    }
    made
}

#[tokio::test]
async fn no_other_command_than_the_approved_one_runs() {
    let made = commands_made(Yes::Run, &WAYS, None).await;
    assert!(made.is_empty(), "{made:#?}");
}

#[tokio::test]
async fn no_other_command_than_the_granted_one_runs() {
    let made = commands_made(Yes::Job, &WAYS, None).await;
    assert!(made.is_empty(), "{made:#?}");
}

/// A gate that binds a yes to less lets calls through, and each of them is seen; so is one that runs.
#[tokio::test]
async fn the_proof_sees_what_a_forgetful_gate_lets_through() {
    let forgotten: [(Way, Forget); 7] = [
        // The names of the files begin with the folder's.
        (Way::Link, |all| (all.directory, all.files) = Default::default()),
        (Way::Script, |all| all.files.clear()),
        (Way::NewFile, |all| all.files.clear()),
        (Way::JobName, |all| drop(all.environment.remove("ROUSE_JOB_NAME"))),
        (Way::Room, |all| all.confinement = None),
        (Way::Environment, |all| all.environment.clear()),
        (Way::None, |_| ()),
    ];
    for (way, forgets) in forgotten {
        let made = commands_made(Yes::Job, &[way], Some(forgets)).await;
        assert!(!made.is_empty(), "{way:?}: nothing was seen");
        let has_run = made.iter().any(|what| what.ends_with("it ran"));
        assert!(has_run || way != Way::None || !cfg!(target_os = "linux"), "{made:#?}");
    }
}

#[tokio::test]
async fn nothing_else_is_written_than_what_was_approved() {
    only_this_is_written(Yes::Run).await;
}

#[tokio::test]
async fn nothing_else_is_written_than_what_was_granted() {
    only_this_is_written(Yes::Job).await;
}

#[tokio::test]
async fn nothing_is_written_beside_the_folder_that_was_granted() {
    only_this_is_written(Yes::Folder).await;
}

/// The folder `notes` is a link to another one, perhaps to itself by another name.
fn lead_away(workspace: &Path, dice: &mut Dice) {
    fs::rename(workspace.join("notes"), workspace.join("kept")).expect("renamed");
    let to = dice.pick(&["other", "kept", "."]);
    std::os::unix::fs::symlink(to, workspace.join("notes")).expect("a link");
}

/// The folder `notes` is itself again.
fn lead_back(workspace: &Path) {
    if fs::remove_file(workspace.join("notes")).is_ok() {
        fs::rename(workspace.join("kept"), workspace.join("notes")).expect("renamed");
    }
}

async fn only_this_is_written(yes: Yes) {
    let (content, old): (_, &[u8]) = ("Käse kaufen.\n", b"Buy bread. \xe9\n");
    let arguments = &json!({ "path": "notes/größe.md", "content": content });
    let neighbour = &json!({ "path": "notes/grösse.md", "content": content });
    let lay_out = |workspace: &Path| {
        for folder in ["notes", "other"] {
            fs::create_dir(workspace.join(folder)).expect("made");
            fs::write(workspace.join(folder).join("größe.md"), old).expect("written");
        }
    };
    let plan = Plan { neighbour: Some(neighbour), ..Plan::of("write_file", arguments, yes) };
    let approved = Approved::to(plan, lay_out).await;
    let file = approved.workspace.join("notes/größe.md");
    let seed = first_seed();
    let mut dice = Dice::new(seed);
    for number in 0..count_or(400) {
        let mut another = approved.same();
        // A standing yes is not held to what is replaced: the call itself changes that. One for a folder is meant for
        // other arguments.
        let way = match yes {
            Yes::Run => dice.below(6),
            Yes::Job => dice.below(4),
            Yes::Folder => 2 + dice.below(2),
        };
        match way {
            0 | 1 => another.arguments = other::arguments(&mut dice, arguments),
            2 => another.context = approved.elsewhere(yes == Yes::Run),
            3 => lead_away(&approved.workspace, &mut dice),
            4 => fs::write(&file, other::bytes(&mut dice, old)).expect("written"),
            _ => fs::remove_file(&file).expect("removed"),
        }
        let there = fs::read(&file).ok();
        let made = approved.tries(&another).await;
        assert_eq!(made, None, "seed {seed}, number {number}");
        assert_eq!(fs::read(&file).ok(), there, "seed {seed}, number {number}");
        lead_back(&approved.workspace);
        fs::write(&file, old).expect("written");
    }
    assert!(!approved.is_made().await.output.is_error());
    assert_eq!(fs::read_to_string(&file).expect("there"), content);
}

#[tokio::test]
async fn nothing_else_is_sent_than_what_was_approved() {
    only_this_is_sent(Yes::Run).await;
}

#[tokio::test]
async fn nothing_else_is_sent_than_what_was_granted() {
    only_this_is_sent(Yes::Job).await;
}

async fn only_this_is_sent(yes: Yes) {
    let server = FakeModel::start(|_| Reply::json(200, "{}"));
    let post = |body: &str| {
        let url = format!("{}/größe?q=1", server.url());
        json!({ "url": url, "method": "POST", "headers": { "X-Note": "a=1" }, "body": body })
    };
    // More than one letter away, or it would be met.
    let (arguments, neighbour) = (&post("Käse"), &post("Kaese!"));
    let host = server.url().replace("http://", "");
    let plan = Plan { neighbour: Some(neighbour), host: &host, ..Plan::of("http", arguments, yes) };
    let approved = Approved::to(plan, |_| {}).await;
    let seed = first_seed();
    let mut dice = Dice::new(seed);
    for number in 0..count_or(400) {
        let mut another = approved.same();
        match dice.below(8) {
            0 => another.context = approved.elsewhere(yes == Yes::Run),
            _ => another.arguments = other::arguments(&mut dice, arguments),
        }
        let made = approved.tries(&another).await;
        assert_eq!(made, None, "seed {seed}, number {number}");
    }
    assert_eq!(server.requests().len(), 0, "something was sent");
    assert!(!approved.is_made().await.output.is_error());
    let sent = server.requests();
    assert_eq!((sent.len(), sent[0].body.as_str()), (1, "Käse"));
}

#[tokio::test]
async fn a_standing_yes_outlives_what_the_call_itself_changes() {
    for yes in [Yes::Run, Yes::Job] {
        let line = json!({ "command": "date >> log.txt" });
        let appends = Approved::to(Plan::of("run_command", &line, yes), |_| {}).await;
        for lines in 1..=3 {
            let called = appends.is_made().await;
            if cfg!(target_os = "linux") {
                assert!(!called.output.is_error(), "{called:?}");
                let log = fs::read_to_string(appends.workspace.join("log.txt")).expect("written");
                assert_eq!(log.lines().count(), lines);
            }
        }
        let file = json!({ "path": "new/list.md", "content": "Buy milk.\n" });
        let writes = Approved::to(Plan::of("write_file", &file, yes), |_| {}).await;
        for _ in 0..2 {
            assert!(!writes.is_made().await.output.is_error());
        }
        fs::write(writes.workspace.join("new/list.md"), "Buy bread.\n").expect("written");
        assert!(!writes.is_made().await.output.is_error());
    }
}

#[tokio::test]
async fn a_script_in_a_folder_that_the_line_goes_to_is_held_by_a_yes() {
    // What a pattern fits is held by a yes for the run.
    let lines = [
        ("cd here && sh go.sh", Yes::Job),
        ("cd here && sh g*.sh", Yes::Run),
        ("sh h*/?o.sh", Yes::Run),
    ];
    for (command, yes) in lines {
        let line = json!({ "command": command });
        let plan = Plan::of("run_command", &line, yes);
        let approved = Approved::to(plan, with_script).await;
        assert!(!approved.is_made().await.output.is_error() || !cfg!(target_os = "linux"));
        let script = approved.workspace.join("here/go.sh");
        fs::write(script, "echo evil >> ../ran\n").expect("written");
        let passage = approved.asks_or_makes().await;
        assert!(matches!(passage, Passage::Asks(_)), "{command}: {passage:?}");
    }
}

#[tokio::test]
async fn no_standing_yes_covers_a_line_that_runs_more_than_is_bound() {
    let line = json!({ "command": "make" });
    let lay_out = |workspace: &Path| {
        fs::write(workspace.join("Makefile"), "all:\n\t@echo made\n").expect("written");
    };
    let approved = Approved::to(Plan::of("run_command", &line, Yes::Job), lay_out).await;
    let passage = approved.asks_or_makes().await;
    assert!(matches!(passage, Passage::Asks(_)), "{passage:?}");
}
