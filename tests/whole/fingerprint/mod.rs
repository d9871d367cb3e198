//! Only the approved or granted call runs: the real tools behind the real gate.
//!
//! The proof mutates a call between approval and execution: any byte of the arguments, folder, environment,
//! script, replaced file, hosts or sandbox, or the run. No mutation may run under an approval or a grant. The short
//! form tries some hundred mutations, `cargo xtask torture calls` a hundred thousand. A gate with an incomplete
//! fingerprint proves that the test detects executed mutations.

mod mutations;
mod approved_run;
mod weak_tool;

use std::fs;
use std::path::{Path, PathBuf};

use rouse_agent::GateOutcome;
use rouse_testkit::Dice;
use rouse_testkit::dice::{count_or, first_seed};
use rouse_testkit::fake_model::{FakeModel, Reply};
use serde_json::json;

use self::approved_run::{Allowance, ApprovedRun, CallPlan, HOST, MutatedCall};
use self::weak_tool::Weaken;

/// The bytes of a script. Its last line is not UTF-8.
const SCRIPT: &[u8] = b"#!/bin/sh\necho ran >> ../ran # gr\xc3\xbc\xc3\x9fe\n# \xff\xfe\n";

/// Two folders with the same script. Their names differ in one byte, which is not UTF-8 on Linux.
fn folders(workspace: &Path) -> [PathBuf; 2] {
    let names: [&[u8]; 2] =
        if cfg!(target_os = "linux") { [b"s\xfcb", b"s\xfdb"] } else { [b"sub", b"sud"] };
    names.map(|name| workspace.join(mutations::os_string(name)))
}

/// Restores the workspace of the approval: `here` links to the first folder.
fn restore_script(workspace: &Path) {
    for folder in folders(workspace) {
        fs::create_dir_all(&folder).expect("made");
        fs::write(folder.join("go.sh"), SCRIPT).expect("written");
        fs::remove_file(folder.join("größe")).ok();
    }
    link_here(workspace, &folders(workspace)[0]);
}

/// Points the link `here` to `folder`.
fn link_here(workspace: &Path, folder: &Path) {
    let here = workspace.join("here");
    if fs::read_link(&here).is_ok_and(|now| now == folder) {
        return;
    }
    fs::remove_file(&here).ok();
    std::os::unix::fs::symlink(folder, here).expect("a link");
}

/// The part of a command call that a mutation changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MutatedPart {
    Arguments,
    Folder,
    Link,
    Script,
    NewFile,
    JobName,
    Sandbox,
    Environment,
    Run,
    /// No part: only for the test of the proof.
    None,
}

const MUTATED_PARTS: [MutatedPart; 9] = [
    MutatedPart::Arguments,
    MutatedPart::Folder,
    MutatedPart::Link,
    MutatedPart::Script,
    MutatedPart::NewFile,
    MutatedPart::JobName,
    MutatedPart::Sandbox,
    MutatedPart::Environment,
    MutatedPart::Run,
];

/// Applies a mutation of this kind.
fn mutate_call(
    approved: &ApprovedRun,
    allowance: Allowance,
    part: MutatedPart,
    dice: &mut Dice,
) -> MutatedCall {
    let mut mutation = approved.unchanged_call();
    let [folder, second_folder] = folders(&approved.workspace);
    match part {
        MutatedPart::Arguments => {
            mutation.arguments = mutations::arguments(dice, &approved.arguments)
        }
        MutatedPart::Folder => {
            let others = [".", "here/", "./here", "../workspace/here", "here/../here", "Here"];
            mutation.arguments["cwd"] = (*dice.pick(&others)).into();
        }
        MutatedPart::Link => link_here(&approved.workspace, &second_folder),
        MutatedPart::Script => {
            fs::write(folder.join("go.sh"), mutations::bytes(dice, SCRIPT)).expect("written");
        }
        MutatedPart::NewFile => {
            fs::write(folder.join("größe"), mutations::bytes(dice, b"x")).expect("written")
        }
        MutatedPart::JobName => {
            mutation.context.job_name = mutations::text(dice, &approved.context.job_name)
        }
        MutatedPart::Sandbox => mutation.context.sandbox = mutations::sandbox(dice, HOST),
        MutatedPart::Environment => {
            mutation.variables = Some(mutations::environment(dice, &approved.variables));
        }
        MutatedPart::Run => {
            mutation.context =
                approved.other_context(allowance == Allowance::Run && dice.once_in(2))
        }
        MutatedPart::None => {}
    }
    mutation
}

/// Returns the mutations of these kinds that ran. Then asserts that the approved call itself runs.
async fn executed_mutations(
    allowance: Allowance,
    parts: &[MutatedPart],
    weaken: Option<Weaken>,
) -> Vec<String> {
    let arguments = json!({ "command": "sh go.sh größe", "cwd": "here", "timeoutSeconds": 60 });
    let neighbour = json!({ "command": "sh go.sh grösse", "cwd": "here" });
    let (arguments, neighbour) = (&arguments, &neighbour);
    let neighbour = Some(neighbour);
    let plan = CallPlan { neighbour, weaken, ..CallPlan::new("run_command", arguments, allowance) };
    let approved = ApprovedRun::approve(plan, restore_script).await;
    let ran = approved.workspace.join("ran");
    let (seed, mut executed) = (first_seed(), Vec::new());
    let mut dice = Dice::new(seed);
    for number in 0..count_or(400) {
        let part = *dice.pick(parts);
        let mutation = mutate_call(&approved, allowance, part, &mut dice);
        let tried = approved.try_mutation(&mutation).await;
        let has_run = fs::remove_file(&ran).is_ok().then(|| "it ran".to_owned());
        let context = format!("seed {seed}, number {number}, {part:?}");
        executed
            .extend(tried.into_iter().chain(has_run).map(|report| format!("{context}: {report}")));
        restore_script(&approved.workspace);
        if weaken.is_some() && !executed.is_empty() {
            break;
        }
    }
    if weaken.is_none() && executed.is_empty() {
        let called = approved.call_approved().await;
        if cfg!(target_os = "linux") {
            assert!(!called.output.is_error(), "{called:?}");
            assert_eq!(fs::read_to_string(&ran).expect("it ran"), "ran\n");
        }
        if allowance == Allowance::Job {
            approved.revoke().await;
            let outcome = approved.outcome().await;
            assert!(matches!(outcome, GateOutcome::NeedsApproval(_)), "taken back: {outcome:?}");
        }
    }
    executed
}

#[tokio::test]
async fn only_the_approved_command_runs() {
    let executed = executed_mutations(Allowance::Run, &MUTATED_PARTS, None).await;
    assert!(executed.is_empty(), "{executed:#?}");
}

#[tokio::test]
async fn only_the_granted_command_runs() {
    let executed = executed_mutations(Allowance::Job, &MUTATED_PARTS, None).await;
    assert!(executed.is_empty(), "{executed:#?}");
}

/// A gate that leaves parts out of the fingerprint runs mutations, and the proof reports each.
#[tokio::test]
async fn proof_detects_gate_with_incomplete_fingerprint() {
    let forgotten: [(MutatedPart, Weaken); 7] = [
        // The file names start with the folder name.
        (MutatedPart::Link, |all| (all.directory, all.files) = Default::default()),
        (MutatedPart::Script, |all| all.files.clear()),
        (MutatedPart::NewFile, |all| all.files.clear()),
        (MutatedPart::JobName, |all| drop(all.environment.remove("ROUSE_JOB_NAME"))),
        (MutatedPart::Sandbox, |all| all.confinement = None),
        (MutatedPart::Environment, |all| all.environment.clear()),
        (MutatedPart::None, |_| ()),
    ];
    for (part, weaken) in forgotten {
        let executed = executed_mutations(Allowance::Job, &[part], Some(weaken)).await;
        assert!(!executed.is_empty(), "{part:?}: nothing was seen");
        let has_run = executed.iter().any(|report| report.ends_with("it ran"));
        assert!(
            has_run || part != MutatedPart::None || !cfg!(target_os = "linux"),
            "{executed:#?}"
        );
    }
}

#[tokio::test]
async fn only_the_approved_file_is_written() {
    assert_only_approved_write(Allowance::Run).await;
}

#[tokio::test]
async fn only_the_granted_file_is_written() {
    assert_only_approved_write(Allowance::Job).await;
}

#[tokio::test]
async fn only_the_granted_folder_is_written() {
    assert_only_approved_write(Allowance::Folder).await;
}

/// Replaces the folder `notes` by a link, also to the same folder under another name.
fn replace_notes_by_link(workspace: &Path, dice: &mut Dice) {
    fs::rename(workspace.join("notes"), workspace.join("kept")).expect("renamed");
    let to = dice.pick(&["other", "kept", "."]);
    std::os::unix::fs::symlink(to, workspace.join("notes")).expect("a link");
}

/// Restores the folder `notes`.
fn restore_notes(workspace: &Path) {
    if fs::remove_file(workspace.join("notes")).is_ok() {
        fs::rename(workspace.join("kept"), workspace.join("notes")).expect("renamed");
    }
}

async fn assert_only_approved_write(allowance: Allowance) {
    let (content, old): (_, &[u8]) = ("Käse kaufen.\n", b"Buy bread. \xe9\n");
    let arguments = &json!({ "path": "notes/größe.md", "content": content });
    let neighbour = &json!({ "path": "notes/grösse.md", "content": content });
    let prepare = |workspace: &Path| {
        for folder in ["notes", "other"] {
            fs::create_dir(workspace.join(folder)).expect("made");
            fs::write(workspace.join(folder).join("größe.md"), old).expect("written");
        }
    };
    let plan = CallPlan {
        neighbour: Some(neighbour),
        ..CallPlan::new("write_file", arguments, allowance)
    };
    let approved = ApprovedRun::approve(plan, prepare).await;
    let file = approved.workspace.join("notes/größe.md");
    let seed = first_seed();
    let mut dice = Dice::new(seed);
    for number in 0..count_or(400) {
        let mut mutation = approved.unchanged_call();
        // A grant does not bind the content that the call replaces. A folder grant covers other
        // arguments.
        let part = match allowance {
            Allowance::Run => dice.below(6),
            Allowance::Job => dice.below(4),
            Allowance::Folder => 2 + dice.below(2),
        };
        match part {
            0 | 1 => mutation.arguments = mutations::arguments(&mut dice, arguments),
            2 => mutation.context = approved.other_context(allowance == Allowance::Run),
            3 => replace_notes_by_link(&approved.workspace, &mut dice),
            4 => fs::write(&file, mutations::bytes(&mut dice, old)).expect("written"),
            _ => fs::remove_file(&file).expect("removed"),
        }
        let there = fs::read(&file).ok();
        let executed = approved.try_mutation(&mutation).await;
        assert_eq!(executed, None, "seed {seed}, number {number}");
        assert_eq!(fs::read(&file).ok(), there, "seed {seed}, number {number}");
        restore_notes(&approved.workspace);
        fs::write(&file, old).expect("written");
    }
    assert!(!approved.call_approved().await.output.is_error());
    assert_eq!(fs::read_to_string(&file).expect("there"), content);
}

#[tokio::test]
async fn only_the_approved_request_is_sent() {
    assert_only_approved_request(Allowance::Run).await;
}

#[tokio::test]
async fn only_the_granted_request_is_sent() {
    assert_only_approved_request(Allowance::Job).await;
}

async fn assert_only_approved_request(allowance: Allowance) {
    let server = FakeModel::start(|_| Reply::json(200, "{}"));
    let post = |body: &str| {
        let url = format!("{}/größe?q=1", server.url());
        json!({ "url": url, "method": "POST", "headers": { "X-Note": "a=1" }, "body": body })
    };
    // Two mutations apart, so that no single mutation equals the neighbour.
    let (arguments, neighbour) = (&post("Käse"), &post("Kaese!"));
    let host = server.url().replace("http://", "");
    let plan = CallPlan {
        neighbour: Some(neighbour),
        host: &host,
        ..CallPlan::new("http", arguments, allowance)
    };
    let approved = ApprovedRun::approve(plan, |_| {}).await;
    let seed = first_seed();
    let mut dice = Dice::new(seed);
    for number in 0..count_or(400) {
        let mut mutation = approved.unchanged_call();
        match dice.below(8) {
            0 => mutation.context = approved.other_context(allowance == Allowance::Run),
            _ => mutation.arguments = mutations::arguments(&mut dice, arguments),
        }
        let executed = approved.try_mutation(&mutation).await;
        assert_eq!(executed, None, "seed {seed}, number {number}");
    }
    assert_eq!(server.requests().len(), 0, "something was sent");
    assert!(!approved.call_approved().await.output.is_error());
    let sent = server.requests();
    assert_eq!((sent.len(), sent[0].body.as_str()), (1, "Käse"));
}

#[tokio::test]
async fn grant_survives_effects_of_its_own_call() {
    for allowance in [Allowance::Run, Allowance::Job] {
        let line = json!({ "command": "date >> log.txt" });
        let appends =
            ApprovedRun::approve(CallPlan::new("run_command", &line, allowance), |_| {}).await;
        for lines in 1..=3 {
            let called = appends.call_approved().await;
            if cfg!(target_os = "linux") {
                assert!(!called.output.is_error(), "{called:?}");
                let log = fs::read_to_string(appends.workspace.join("log.txt")).expect("written");
                assert_eq!(log.lines().count(), lines);
            }
        }
        let file = json!({ "path": "new/list.md", "content": "Buy milk.\n" });
        let writes =
            ApprovedRun::approve(CallPlan::new("write_file", &file, allowance), |_| {}).await;
        for _ in 0..2 {
            assert!(!writes.call_approved().await.output.is_error());
        }
        fs::write(writes.workspace.join("new/list.md"), "Buy bread.\n").expect("written");
        assert!(!writes.call_approved().await.output.is_error());
    }
}

#[tokio::test]
async fn script_reached_by_cd_is_part_of_fingerprint() {
    // Files that match a pattern are bound by an approval for the run.
    let lines = [
        ("cd here && sh go.sh", Allowance::Job),
        ("cd here && sh g*.sh", Allowance::Run),
        ("sh h*/?o.sh", Allowance::Run),
    ];
    for (command, allowance) in lines {
        let line = json!({ "command": command });
        let plan = CallPlan::new("run_command", &line, allowance);
        let approved = ApprovedRun::approve(plan, restore_script).await;
        assert!(!approved.call_approved().await.output.is_error() || !cfg!(target_os = "linux"));
        let script = approved.workspace.join("here/go.sh");
        fs::write(script, "echo evil >> ../ran\n").expect("written");
        let outcome = approved.outcome().await;
        assert!(matches!(outcome, GateOutcome::NeedsApproval(_)), "{command}: {outcome:?}");
    }
}

#[tokio::test]
async fn grant_does_not_cover_command_with_unbound_files() {
    let line = json!({ "command": "make" });
    let prepare = |workspace: &Path| {
        fs::write(workspace.join("Makefile"), "all:\n\t@echo made\n").expect("written");
    };
    let approved =
        ApprovedRun::approve(CallPlan::new("run_command", &line, Allowance::Job), prepare).await;
    let outcome = approved.outcome().await;
    assert!(matches!(outcome, GateOutcome::NeedsApproval(_)), "{outcome:?}");
}
