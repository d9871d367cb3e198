//! Hooks in process and as real commands: order, notifications, decisions and failures.

use std::path::Path;
use std::time::Duration;

use rouse_core::UnixMs;
use rouse_core::tool::{Annotations, ApprovalRule, RateLimit, ToolDomain, ToolSpec};
use rouse_testkit::ManualClock;
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::mpsc;

use super::hook::ignored;
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

fn call() -> ToolCallEvent {
    ToolCallEvent { tool: "http".to_owned(), arguments: json!({"url": "x"}), context: context() }
}

fn delivery() -> DeliveryEvent {
    DeliveryEvent {
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

/// For processes that stay in their group.
fn config(folder: &Path) -> HookProcessConfig {
    HookProcessConfig {
        folder: folder.to_owned(),
        marker_variable: "ROUSE_RUN",
        instance: "these-tests".to_owned(),
        kill_marked: |_| 0,
    }
}

/// A hook that runs a shell script.
fn script(on: HookPoint, text: &str, timeout: Duration, folder: &Path) -> Arc<dyn Hook> {
    let command = ["/bin/sh", "-c", text].map(str::to_owned).to_vec();
    Arc::new(CommandHook::new(HookCommand { on, command, timeout }, config(folder), clock()))
}

/// The verdict of a script about `call`.
async fn verdict(text: &str) -> HookVerdict {
    let folder = tempfile::tempdir().expect("a folder");
    let hook = script(HookPoint::BeforeToolCall, text, ENOUGH, folder.path());
    Hooks::new(vec![hook]).before_tool_call(&call()).await
}

/// A hook in process with a fixed decision.
struct FixedHook(&'static str, HookDecision);

impl Hook for FixedHook {
    fn name(&self) -> &str {
        self.0
    }

    fn before_tool_call<'h>(
        &'h self,
        _: &'h ToolCallEvent,
    ) -> BoxFuture<'h, Result<HookDecision, HookError>> {
        Box::pin(std::future::ready(Ok(self.1.clone())))
    }
}

/// A hook in process that panics.
struct PanickingHook;

impl Hook for PanickingHook {
    fn name(&self) -> &str {
        "panics"
    }

    fn after_tools_resolved<'h>(&'h self, _: &'h ToolsResolved) -> HookNotification<'h> {
        panic!("before it returns a future")
    }

    fn before_tool_call<'h>(
        &'h self,
        _: &'h ToolCallEvent,
    ) -> BoxFuture<'h, Result<HookDecision, HookError>> {
        Box::pin(async { panic!("it panicked") })
    }
}

/// A hook in process that forwards the notifications.
struct RecordingHook(mpsc::UnboundedSender<ToolsResolved>);

impl Hook for RecordingHook {
    fn name(&self) -> &str {
        "records"
    }

    fn after_tools_resolved<'h>(&'h self, event: &'h ToolsResolved) -> HookNotification<'h> {
        self.0.send(event.clone()).expect("the receiver is open");
        ignored()
    }
}

#[tokio::test]
async fn strictest_decision_counts_then_the_first() {
    let hook = |name, decision| Arc::new(FixedHook(name, decision)) as Arc<dyn Hook>;
    let allow = || hook("a", HookDecision::Allow);
    let ask = || hook("b", HookDecision::RequireApproval("why not".to_owned()));
    let deny = || hook("c", HookDecision::Deny("no".to_owned()));
    let rewrite = |arguments| hook("d", HookDecision::Rewrite(arguments));
    let asked = HookVerdict::RequireApproval("The hook b requires an approval: why not".to_owned());
    let denied = HookVerdict::Deny {
        text: "The hook c denied the call: no".to_owned(),
        hook: "c".to_owned(),
        kind: HookDenial::Denied,
    };
    let other = json!({"url": "y"});
    for (hooks, expected) in [
        (vec![], HookVerdict::Allow),
        (vec![allow(), allow()], HookVerdict::Allow),
        (vec![allow(), ask(), allow()], asked),
        (vec![ask(), deny()], denied.clone()),
        (vec![deny(), rewrite(other.clone())], denied),
        (
            vec![ask(), rewrite(other.clone()), deny()],
            HookVerdict::Rewritten { arguments: other, hook: "d".to_owned() },
        ),
        (vec![rewrite(json!({"url": "x"}))], HookVerdict::Allow),
    ] {
        assert_eq!(Hooks::new(hooks).before_tool_call(&call()).await, expected);
    }
}

#[tokio::test]
async fn panicking_hook_counts_as_deny() {
    let hooks = Hooks::new(vec![Arc::new(PanickingHook)]);
    let verdict = hooks.before_tool_call(&call()).await;
    assert!(
        matches!(&verdict, HookVerdict::Deny { text, .. } if text.contains("panics failed")),
        "{verdict:?}"
    );
    let HookVerdict::Deny { hook, kind, .. } = verdict else { panic!("{verdict:?}") };
    assert_eq!((hook.as_str(), kind), ("panics", HookDenial::Failed));
}

#[tokio::test]
async fn notified_tools_are_a_copy() {
    let (sender, mut received) = mpsc::unbounded_channel();
    let hooks = Hooks::new(vec![Arc::new(PanickingHook), Arc::new(RecordingHook(sender))]);
    let spec = |name: &str, description: &str, parameters| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
        annotations: Annotations::READS,
        approval: ApprovalRule::Never,
        domain: ToolDomain::InProcess,
        rate: RateLimit::USUAL,
        call_for: Duration::from_secs(1),
        untrusted_output: false,
        sensitive: Vec::new(),
        shell_text: Vec::new(),
        label: None,
        attended_only: false,
        listed_only: false,
        origin: None,
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
    let event = received.recv().await.expect("a notification");
    let json = serde_json::to_value(&event).expect("JSON");
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
async fn command_decides_in_json_and_no_output_means_allow() {
    let prints = |answer: &str| format!("cat >/dev/null; printf '%s' '{answer}'");
    assert_eq!(verdict("true").await, HookVerdict::Allow);
    assert_eq!(verdict(&prints(r#"{"decision":"allow"}"#)).await, HookVerdict::Allow);
    let rewrites = prints(r#"{"decision":"rewrite","arguments":{"url":"y"}}"#);
    let hook = format!("/bin/sh -c {rewrites}");
    assert_eq!(
        verdict(&rewrites).await,
        HookVerdict::Rewritten { arguments: json!({"url": "y"}), hook }
    );
    let denied = verdict(&prints(r#"{"decision":"deny","reason":"not today"}"#)).await;
    assert!(
        matches!(&denied, HookVerdict::Deny { text, .. } if text.ends_with("denied the call: not today"))
    );
    let asked = verdict(&prints(r#"{"decision":"ask","reason":"look first"}"#)).await;
    assert!(
        matches!(&asked, HookVerdict::RequireApproval(why) if why.ends_with("requires an approval: look first"))
    );
}

#[tokio::test]
async fn command_gets_the_event_without_rouses_environment() {
    let text = r#"read line; case "$line" in
        '{"hook":"before_tool_call","tool":"http","arguments":{"url":"x"},"context":{"agentId":"job"'*) ;;
        *) exit 3 ;;
    esac
    test -z "$CARGO_MANIFEST_DIR" && test -n "$PATH""#;
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "a variable that is not on the list");
    assert_eq!(verdict(text).await, HookVerdict::Allow);
}

#[tokio::test]
async fn failed_command_or_invalid_output_counts_as_deny() {
    for (text, why) in [
        ("echo broken >&2; exit 4", "ended with exit status: 4. Message: broken"),
        ("echo yes", "the answer cannot be read"),
        (r#"echo '{"decision":"perhaps"}'"#, "the answer cannot be read"),
        (r#"echo '{"decision":"allow","approved":true}'"#, "the answer cannot be read"),
        (r#"echo '{"decision":"rewrite"}'"#, "a rewrite without arguments"),
        (
            r#"printf '{"decision":"rewrite","arguments":'; printf '%41s' | tr ' ' '['; printf '%41s}' | tr ' ' ']'"#,
            "nested more than 40 levels deep",
        ),
    ] {
        let verdict = verdict(text).await;
        assert!(
            matches!(&verdict, HookVerdict::Deny { text, .. } if text.contains(why)),
            "{text}: {verdict:?}"
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let command = HookCommand {
        on: HookPoint::BeforeToolCall,
        command: vec!["/nonexistent/program".to_owned()],
        timeout: ENOUGH,
    };
    let hooks =
        Hooks::new(vec![Arc::new(CommandHook::new(command, config(folder.path()), clock()))]);
    let verdict = hooks.before_tool_call(&call()).await;
    assert!(
        matches!(&verdict, HookVerdict::Deny { text, .. } if text.contains("could not be run")),
        "{verdict:?}"
    );
}

/// A named pipe that the live processes of a script keep open.
struct NamedPipe {
    folder: TempDir,
}

impl NamedPipe {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status();
        assert!(made.expect("mkfifo").success());
        Self { folder }
    }

    /// The verdict of a script about `call`, and the output into the pipe. Returns after all processes have ended.
    async fn verdict(&self, text: &str, timeout: Duration) -> (HookVerdict, Vec<u8>) {
        use rustix::fs::{Mode, OFlags, fcntl_setfl, open};
        let path = self.folder.path().join("pipe");
        let pipe = open(&path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).expect("opened");
        let hook = script(HookPoint::BeforeToolCall, text, timeout, self.folder.path());
        let verdict = Hooks::new(vec![hook]).before_tool_call(&call()).await;
        let read = tokio::task::spawn_blocking(move || {
            fcntl_setfl(&pipe, OFlags::empty()).expect("blocking from now on");
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut std::fs::File::from(pipe), &mut bytes).expect("read");
            bytes
        });
        (verdict, read.await.expect("joins"))
    }
}

#[tokio::test]
async fn child_process_ends_with_the_timeout() {
    let text = "exec 3>pipe; sleep 1000 & wait";
    let (verdict, _) = NamedPipe::new().verdict(text, Duration::from_millis(300)).await;
    assert!(
        matches!(&verdict, HookVerdict::Deny { text, .. } if text.contains("timed out after 300ms")),
        "{verdict:?}"
    );
}

#[tokio::test]
async fn orphan_process_ends_with_the_command() {
    let text = "exec 3>pipe; echo began >&3; sleep 1000 & exec true";
    let (verdict, wrote) = NamedPipe::new().verdict(text, ENOUGH).await;
    assert_eq!((verdict, wrote), (HookVerdict::Allow, b"began\n".to_vec()));
}

#[tokio::test]
async fn long_output_is_read_to_the_end() {
    let text = "head -c 3000000 /dev/zero | tr '\\0' ' '";
    assert_eq!(verdict(text).await, HookVerdict::Allow, "white space is no output");
}

#[tokio::test]
async fn command_runs_at_its_point_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let hook = script(HookPoint::RunStarted, "exit 1", ENOUGH, folder.path());
    let hooks = Hooks::new(vec![hook]);
    assert_eq!(hooks.before_tool_call(&call()).await, HookVerdict::Allow);
    assert_eq!(hooks.before_delivery(delivery()).await, Ok(DeliveryDecision::Allow));
}

#[tokio::test]
async fn delivery_is_rewritten_in_order_or_suppressed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |text: &str| script(HookPoint::BeforeDelivery, text, ENOUGH, folder.path());
    let first = at(r#"cat >/dev/null; echo '{"decision":"rewrite","body":"is cold"}'"#);
    let second = at(
        r#"read line; case "$line" in *'"body":"is cold"'*) echo '{"decision":"rewrite","title":"Coffee"}' ;; esac"#,
    );
    let deny = at(r#"cat >/dev/null; echo '{"decision":"deny","reason":"private"}'"#);
    let broken = at("exit 1");
    let rewritten =
        DeliveryDecision::Rewrite { title: "Coffee".to_owned(), body: "is cold".to_owned() };
    let hooks = Hooks::new(vec![Arc::clone(&first), second]);
    assert_eq!(hooks.before_delivery(delivery()).await, Ok(rewritten));
    let suppressed = Hooks::new(vec![first, deny]).before_delivery(delivery()).await;
    assert!(
        matches!(&suppressed, Ok(DeliveryDecision::Suppress(why)) if why.ends_with("suppressed the delivery: private"))
    );
    assert!(Hooks::new(vec![broken]).before_delivery(delivery()).await.is_err());
}

#[tokio::test]
async fn run_hooks_get_their_events() {
    let pipe = NamedPipe::new();
    let text = "read line; printf '%s\\n' \"$line\" >pipe";
    let hooks = Hooks::new(vec![script(HookPoint::RunFinished, text, ENOUGH, pipe.folder.path())]);
    let run = RunStartedEvent {
        run_id: "r".into(),
        job_id: None,
        job_name: "Tea".into(),
        trigger: "manual".into(),
        context: context(),
    };
    hooks.run_started(run.clone());
    hooks.run_finished(RunFinishedEvent {
        run,
        state: "succeeded".into(),
        attempts: 1,
        summary: Some("Done.".into()),
        error: None,
        reason: None,
    });
    // The hook blocks at the pipe until the test reads.
    let line = tokio::fs::read_to_string(pipe.folder.path().join("pipe")).await.expect("read");
    let expected = "{\"hook\":\"run_finished\",\"runId\":\"r\",\"jobId\":null,\"jobName\":\"Tea\",\"trigger\":\"manual\",\"context\":{\"agentId\":\"job\",\"sessionKey\":\"cron:job\",\"sessionId\":\"cron:job\",\"runId\":\"run\",\"workspaceDir\":\"/w\"},\"state\":\"succeeded\",\"attempts\":1,\"summary\":\"Done.\",\"error\":null,\"reason\":null}\n";
    assert_eq!(line, expected);
}

#[tokio::test]
async fn statistics_keep_the_last_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    // Allows the first call; the second output is invalid.
    let text = "cat > seen; if [ -e once ]; then echo what; else touch once; fi";
    let hook = script(HookPoint::BeforeToolCall, text, ENOUGH, folder.path());
    let quiet = script(HookPoint::RunStarted, "true", ENOUGH, folder.path());
    let hooks =
        Hooks::new(vec![hook, quiet, Arc::new(FixedHook("in process", HookDecision::Allow))]);
    assert_eq!(hooks.reports().len(), 2, "a hook outside the settings has no report");
    assert_eq!(hooks.before_tool_call(&call()).await, HookVerdict::Allow);
    let [called, quiet] = <[HookReport; 2]>::try_from(hooks.reports()).expect("two");
    assert_eq!((called.statistics.calls, called.statistics.failures), (1, 0));
    assert_eq!(
        called.statistics.last.map(|last| (last.at, last.problem)),
        Some((UnixMs(1_000), None))
    );
    assert_eq!(quiet.statistics, HookStatistics::default());
    assert!(matches!(hooks.before_tool_call(&call()).await, HookVerdict::Deny { .. }));
    let failed = hooks.reports().remove(0).statistics;
    assert_eq!((failed.calls, failed.failures), (2, 1));
    let problem = failed.last.and_then(|last| last.problem).expect("a problem");
    assert!(problem.contains("cannot be read"), "{problem}");
}
