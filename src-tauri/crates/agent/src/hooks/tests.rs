//! Hooks in process and as real commands: who is asked, who is told, and what becomes of one that fails.

use std::path::Path;
use std::time::Duration;

use rouse_core::UnixMs;
use rouse_core::tool::{Annotations, ApprovalRule, Domain, RateLimit, ToolSpec};
use rouse_testkit::ManualClock;
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::mpsc;

use super::*;

const ENOUGH: Duration = Duration::from_secs(60);

fn context() -> HookContext {
    HookContext {
        agent_id: "job".to_owned(),
        session_key: "cron:job".to_owned(),
        session_id: "cron:job".to_owned(),
        run_id: "run".to_owned(),
        workspace_dir: "/w".to_owned(),
    }
}

fn call() -> CallSeen {
    CallSeen { tool: "http".to_owned(), arguments: json!({"url": "x"}), context: context() }
}

fn delivery() -> DeliverySeen {
    DeliverySeen {
        delivery_id: "d".to_owned(),
        channel: "notification".to_owned(),
        to: None,
        title: "Tea".to_owned(),
        body: "is ready".to_owned(),
        context: None,
    }
}

fn clock() -> Arc<dyn rouse_core::Clock> {
    Arc::new(ManualClock::new(UnixMs(1_000)))
}

/// Nothing leaves its group here.
fn place(folder: &Path) -> HookPlace {
    let instance = "these-tests".to_owned();
    HookPlace { folder: folder.to_owned(), mark: "ROUSE_RUN", instance, end_marked: |_| 0 }
}

/// A hook out of a shell script.
fn script(on: HookPoint, text: &str, timeout: Duration, folder: &Path) -> Arc<dyn Hook> {
    let command = ["/bin/sh", "-c", text].map(str::to_owned).to_vec();
    Arc::new(CommandHook::new(HookCommand { on, command, timeout }, place(folder), clock()))
}

/// What a script says to `call`.
async fn ruling(text: &str) -> CallRuling {
    let folder = tempfile::tempdir().expect("a folder");
    let hook = script(HookPoint::BeforeToolCall, text, ENOUGH, folder.path());
    Hooks::new(vec![hook]).before_tool_call(&call()).await
}

/// A hook in process that answers with what it was given.
struct Says(&'static str, CallAnswer);

impl Hook for Says {
    fn name(&self) -> &str {
        self.0
    }

    fn before_tool_call<'h>(
        &'h self,
        _: &'h CallSeen,
    ) -> BoxFuture<'h, Result<CallAnswer, HookError>> {
        Box::pin(std::future::ready(Ok(self.1.clone())))
    }
}

/// A hook in process that falls over.
struct Falls;

impl Hook for Falls {
    fn name(&self) -> &str {
        "falls"
    }

    fn after_tools_resolved<'h>(&'h self, _: &'h ToolsResolved) -> Told<'h> {
        panic!("before it answers with a future")
    }

    fn before_tool_call<'h>(
        &'h self,
        _: &'h CallSeen,
    ) -> BoxFuture<'h, Result<CallAnswer, HookError>> {
        Box::pin(async { panic!("it fell over") })
    }
}

/// A hook in process that hands on what it is told.
struct Hears(mpsc::UnboundedSender<ToolsResolved>);

impl Hook for Hears {
    fn name(&self) -> &str {
        "hears"
    }

    fn after_tools_resolved<'h>(&'h self, event: &'h ToolsResolved) -> Told<'h> {
        self.0.send(event.clone()).expect("somebody listens");
        nothing()
    }
}

#[tokio::test]
async fn the_strictest_word_counts_and_the_first_of_several() {
    let says = |name, answer| Arc::new(Says(name, answer)) as Arc<dyn Hook>;
    let allow = || says("a", CallAnswer::Allow);
    let ask = || says("b", CallAnswer::Ask("why not".to_owned()));
    let deny = || says("c", CallAnswer::Deny("no".to_owned()));
    let rewrite = |arguments| says("d", CallAnswer::Rewrite(arguments));
    let asked = CallRuling::Ask("The hook b wants it asked: why not".to_owned());
    let denied = CallRuling::Deny {
        words: "The hook c says no: no".to_owned(),
        by: "c".to_owned(),
        how: HookNo::SaidNo,
    };
    let other = json!({"url": "y"});
    for (hooks, expected) in [
        (vec![], CallRuling::Allow),
        (vec![allow(), allow()], CallRuling::Allow),
        (vec![allow(), ask(), allow()], asked),
        (vec![ask(), deny()], denied.clone()),
        (vec![deny(), rewrite(other.clone())], denied),
        (
            vec![ask(), rewrite(other.clone()), deny()],
            CallRuling::Rewritten { arguments: other, by: "d".to_owned() },
        ),
        (vec![rewrite(json!({"url": "x"}))], CallRuling::Allow),
    ] {
        assert_eq!(Hooks::new(hooks).before_tool_call(&call()).await, expected);
    }
}

#[tokio::test]
async fn a_hook_that_falls_over_is_a_no_and_takes_nobody_with_it() {
    let hooks = Hooks::new(vec![Arc::new(Falls)]);
    let ruling = hooks.before_tool_call(&call()).await;
    assert!(
        matches!(&ruling, CallRuling::Deny { words, .. } if words.contains("falls gave no usable answer")),
        "{ruling:?}"
    );
    let CallRuling::Deny { by, how, .. } = ruling else { panic!("{ruling:?}") };
    assert_eq!((by.as_str(), how), ("falls", HookNo::DidNotAnswer));
}

#[tokio::test]
async fn the_tools_of_an_attempt_are_told_as_copies_and_nobody_waits() {
    let (sender, mut heard) = mpsc::unbounded_channel();
    let hooks = Hooks::new(vec![Arc::new(Falls), Arc::new(Hears(sender))]);
    let spec = |name: &str, description: &str, parameters| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
        annotations: Annotations::READS,
        approval: ApprovalRule::Never,
        domain: Domain::InProcess,
        rate: RateLimit::USUAL,
        call_for: Duration::from_secs(1),
        untrusted_output: false,
        sensitive: Vec::new(),
        shell_text: Vec::new(),
        label: None,
        attended_only: false,
        listed_only: false,
    };
    let schema = json!({"type": "object", "properties": {"text": {}}});
    let mut specs = vec![
        spec("echo", "Says it.", schema.clone()),
        spec(" ", "", json!(null)),
        spec("bare", "", json!(null)),
    ];
    specs[0].label = Some("Say it".to_owned());
    specs[2].label = Some(" ".to_owned());
    let event = ToolsResolved {
        tools: ToolMetadata::of_all(&specs),
        provider: "anthropic".to_owned(),
        model: "m".to_owned(),
        context: context(),
    };
    hooks.after_tools_resolved(event);
    specs[0].label = Some("changed since".to_owned());
    specs[0].parameters["properties"] = json!("changed since");
    let told = heard.recv().await.expect("told");
    let json = serde_json::to_value(&told).expect("JSON");
    assert_eq!(
        json,
        json!({
            "tools": [{"name": "echo", "label": "Say it", "description": "Says it.", "parameters": schema}, {"name": "bare"}],
            "provider": "anthropic",
            "model": "m",
            "context": {"agentId": "job", "sessionKey": "cron:job", "sessionId": "cron:job", "runId": "run", "workspaceDir": "/w"},
        })
    );
}

#[tokio::test]
async fn a_command_answers_in_json_and_silence_is_a_yes() {
    let reads = |answer: &str| format!("cat >/dev/null; printf '%s' '{answer}'");
    assert_eq!(ruling("true").await, CallRuling::Allow);
    assert_eq!(ruling(&reads(r#"{"decision":"allow"}"#)).await, CallRuling::Allow);
    let rewrites = reads(r#"{"decision":"rewrite","arguments":{"url":"y"}}"#);
    let by = format!("/bin/sh -c {rewrites}");
    assert_eq!(
        ruling(&rewrites).await,
        CallRuling::Rewritten { arguments: json!({"url": "y"}), by }
    );
    let denied = ruling(&reads(r#"{"decision":"deny","reason":"not today"}"#)).await;
    assert!(
        matches!(&denied, CallRuling::Deny { words, .. } if words.ends_with("says no: not today"))
    );
    let asked = ruling(&reads(r#"{"decision":"ask","reason":"look first"}"#)).await;
    assert!(matches!(&asked, CallRuling::Ask(why) if why.ends_with("asked: look first")));
}

#[tokio::test]
async fn a_command_is_told_the_whole_event_and_no_key_of_rouse() {
    let text = r#"read line; case "$line" in
        '{"hook":"before_tool_call","tool":"http","arguments":{"url":"x"},"context":{"agentId":"job"'*) ;;
        *) exit 3 ;;
    esac
    test -z "$CARGO_MANIFEST_DIR" && test -n "$PATH""#;
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "a variable that is not on the list");
    assert_eq!(ruling(text).await, CallRuling::Allow);
}

#[tokio::test]
async fn a_command_that_fails_or_says_nonsense_is_a_no() {
    for (text, why) in [
        ("echo broken >&2; exit 4", "it ended with exit status: 4. It said: broken"),
        ("echo yes", "its answer cannot be read"),
        (r#"echo '{"decision":"perhaps"}'"#, "its answer cannot be read"),
        (r#"echo '{"decision":"allow","approved":true}'"#, "its answer cannot be read"),
        (r#"echo '{"decision":"rewrite"}'"#, "it rewrites without arguments"),
        (
            r#"printf '{"decision":"rewrite","arguments":'; printf '%41s' | tr ' ' '['; printf '%41s}' | tr ' ' ']'"#,
            "nested more than 40 levels deep",
        ),
    ] {
        let ruling = ruling(text).await;
        assert!(
            matches!(&ruling, CallRuling::Deny { words, .. } if words.contains(why)),
            "{text}: {ruling:?}"
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let command = HookCommand {
        on: HookPoint::BeforeToolCall,
        command: vec!["/nonexistent/program".to_owned()],
        timeout: ENOUGH,
    };
    let hooks =
        Hooks::new(vec![Arc::new(CommandHook::new(command, place(folder.path()), clock()))]);
    let ruling = hooks.before_tool_call(&call()).await;
    assert!(
        matches!(&ruling, CallRuling::Deny { words, .. } if words.contains("could not be run")),
        "{ruling:?}"
    );
}

/// A pipe with a name, that a script's processes hold open as long as they live.
struct Held {
    folder: TempDir,
}

impl Held {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status();
        assert!(made.expect("mkfifo").success());
        Self { folder }
    }

    /// What a script says to `call` at the pipe, which is open before it begins, and what it wrote there. Nobody holds
    /// the pipe any more when this is over.
    async fn ruling(&self, text: &str, timeout: Duration) -> (CallRuling, Vec<u8>) {
        use rustix::fs::{Mode, OFlags, fcntl_setfl, open};
        let path = self.folder.path().join("pipe");
        let pipe = open(&path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).expect("opened");
        let hook = script(HookPoint::BeforeToolCall, text, timeout, self.folder.path());
        let ruling = Hooks::new(vec![hook]).before_tool_call(&call()).await;
        let read = tokio::task::spawn_blocking(move || {
            fcntl_setfl(&pipe, OFlags::empty()).expect("it waits from now on");
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut std::fs::File::from(pipe), &mut bytes).expect("read");
            bytes
        });
        (ruling, read.await.expect("joins"))
    }
}

#[tokio::test]
async fn what_a_command_has_started_ends_with_its_time() {
    let text = "exec 3>pipe; sleep 1000 & wait";
    let (ruling, _) = Held::new().ruling(text, Duration::from_millis(300)).await;
    assert!(
        matches!(&ruling, CallRuling::Deny { words, .. } if words.contains("took longer than 300ms")),
        "{ruling:?}"
    );
}

#[tokio::test]
async fn what_a_command_leaves_behind_ends_with_it() {
    let text = "exec 3>pipe; echo began >&3; sleep 1000 & exec true";
    let (ruling, wrote) = Held::new().ruling(text, ENOUGH).await;
    assert_eq!((ruling, wrote), (CallRuling::Allow, b"began\n".to_vec()));
}

#[tokio::test]
async fn a_command_that_writes_without_end_and_reads_nothing_is_read_to_its_end() {
    let text = "head -c 3000000 /dev/zero | tr '\\0' ' '";
    assert_eq!(ruling(text).await, CallRuling::Allow, "blanks are silence");
}

#[tokio::test]
async fn a_command_runs_at_its_step_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let hook = script(HookPoint::RunStarted, "exit 1", ENOUGH, folder.path());
    let hooks = Hooks::new(vec![hook]);
    assert_eq!(hooks.before_tool_call(&call()).await, CallRuling::Allow);
    assert_eq!(hooks.before_delivery(delivery()).await, Ok(DeliveryAnswer::Allow));
}

#[tokio::test]
async fn a_delivery_is_rewritten_by_one_after_the_other_or_held_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |text: &str| script(HookPoint::BeforeDelivery, text, ENOUGH, folder.path());
    let first = at(r#"cat >/dev/null; echo '{"decision":"rewrite","body":"is cold"}'"#);
    let second = at(
        r#"read line; case "$line" in *'"body":"is cold"'*) echo '{"decision":"rewrite","title":"Coffee"}' ;; esac"#,
    );
    let deny = at(r#"cat >/dev/null; echo '{"decision":"deny","reason":"private"}'"#);
    let broken = at("exit 1");
    let rewritten =
        DeliveryAnswer::Rewrite { title: "Coffee".to_owned(), body: "is cold".to_owned() };
    let hooks = Hooks::new(vec![Arc::clone(&first), second]);
    assert_eq!(hooks.before_delivery(delivery()).await, Ok(rewritten));
    let held = Hooks::new(vec![first, deny]).before_delivery(delivery()).await;
    assert!(
        matches!(&held, Ok(DeliveryAnswer::Suppress(why)) if why.ends_with("held it back: private"))
    );
    assert!(Hooks::new(vec![broken]).before_delivery(delivery()).await.is_err());
}

#[tokio::test]
async fn a_run_is_told_when_it_begins_and_when_it_ends() {
    let held = Held::new();
    let text = "read line; printf '%s\\n' \"$line\" >pipe";
    let hooks = Hooks::new(vec![script(HookPoint::RunFinished, text, ENOUGH, held.folder.path())]);
    let run = RunSeen {
        run_id: "r".into(),
        job_id: None,
        job_name: "Tea".into(),
        trigger: "manual".into(),
        context: context(),
    };
    hooks.run_started(run.clone());
    hooks.run_finished(RunEnded {
        run,
        state: "succeeded".into(),
        attempts: 1,
        summary: Some("Done.".into()),
        error: None,
        reason: None,
    });
    // The hook waits at the pipe until somebody reads.
    let told = tokio::fs::read_to_string(held.folder.path().join("pipe")).await.expect("read");
    let expected = "{\"hook\":\"run_finished\",\"runId\":\"r\",\"jobId\":null,\"jobName\":\"Tea\",\"trigger\":\"manual\",\"context\":{\"agentId\":\"job\",\"sessionKey\":\"cron:job\",\"sessionId\":\"cron:job\",\"runId\":\"run\",\"workspaceDir\":\"/w\"},\"state\":\"succeeded\",\"attempts\":1,\"summary\":\"Done.\",\"error\":null,\"reason\":null}\n";
    assert_eq!(told, expected);
}

#[test]
fn points_have_the_names_of_the_settings() {
    for (name, point) in HookPoint::ALL {
        assert_eq!(point.name(), name);
    }
}

#[tokio::test]
async fn how_a_hook_did_is_kept_with_its_last_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    // It answers once, and with nonsense after that.
    let text = "cat > seen; if [ -e once ]; then echo what; else touch once; fi";
    let hook = script(HookPoint::BeforeToolCall, text, ENOUGH, folder.path());
    let quiet = script(HookPoint::RunStarted, "true", ENOUGH, folder.path());
    let hooks = Hooks::new(vec![hook, quiet, Arc::new(Says("in process", CallAnswer::Allow))]);
    assert_eq!(hooks.reports().len(), 2, "what no person has set up is not reported");
    assert_eq!(hooks.before_tool_call(&call()).await, CallRuling::Allow);
    let [asked, quiet] = <[HookReport; 2]>::try_from(hooks.reports()).expect("two");
    assert_eq!((asked.record.calls, asked.record.failures), (1, 0));
    assert_eq!(asked.record.last.map(|last| (last.at, last.problem)), Some((UnixMs(1_000), None)));
    assert_eq!(quiet.record, HookRecord::default());
    assert!(matches!(hooks.before_tool_call(&call()).await, CallRuling::Deny { .. }));
    let failed = hooks.reports().remove(0).record;
    assert_eq!((failed.calls, failed.failures), (2, 1));
    let problem = failed.last.and_then(|last| last.problem).expect("a problem");
    assert!(problem.contains("cannot be read"), "{problem}");
}
