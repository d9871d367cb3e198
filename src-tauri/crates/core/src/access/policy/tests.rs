//! All ways to allow or deny a call, and the effects of a judged call.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::approval::{ArgumentRule, DecisionSurface, GrantScope, NewGrant, Surroundings};
use crate::tool::{Annotations, RateLimit, ToolDomain};
use crate::{ApprovalId, GrantId, JobId, RunId};

const NOW: UnixMs = UnixMs(1_000);

fn tool(approval: ApprovalRule) -> ToolSpec {
    ToolSpec {
        name: "send".to_owned(),
        description: String::new(),
        parameters: json!({}),
        annotations: Annotations::ANYTHING,
        approval,
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
    }
}

fn arguments() -> Value {
    json!({ "to": "anna" })
}

fn fingerprint() -> Fingerprint {
    Fingerprint::of("send", &arguments(), &Surroundings::default())
}

fn approval_in(state: ApprovalState) -> Approval {
    Approval {
        id: ApprovalId::new("a1"),
        run_id: RunId::new("r1"),
        job_id: Some(JobId::new("j1")),
        job_name: "Job".to_owned(),
        call_id: "c1".to_owned(),
        tool: "send".to_owned(),
        arguments: arguments(),
        surroundings: Surroundings::default(),
        fingerprint: fingerprint(),
        preview: String::new(),
        reason: String::new(),
        is_highest: false,
        requested_at: UnixMs(0),
        expires_at: UnixMs(2_000),
        state,
        decided_from: Some(DecisionSurface::Page.into()),
        used_at: None,
        input: None,
    }
}

fn yes(scope: ApprovalScope) -> Approval {
    approval_in(ApprovalState::Approved { scope, at: UnixMs(10) })
}

fn grant() -> Grant {
    Grant {
        id: GrantId::new("g1"),
        job_id: JobId::new("j1"),
        tool: "send".to_owned(),
        covers: GrantScope::exact_call(&yes(ApprovalScope::Once)),
        created_at: UnixMs(0),
        expires_at: None,
        uses_left: None,
        used: 0,
        revoked_at: None,
    }
}

fn needs(policy: &ToolPolicy, approval: ApprovalRule) -> NeedsApproval {
    match policy.judge(&tool(approval), arguments()) {
        PolicyVerdict::NeedsApproval(needs) => needs,
        other => panic!("{other:?}"),
    }
}

/// The ruling about the call in a run whose job has the policy `ask`, after these approvals and grants.
fn ruled(answers: &[Approval], grants: &[Grant]) -> CallRuling {
    let decisions = PriorDecisions { approvals: answers, grants, now: NOW };
    needs(&ToolPolicy::default(), ApprovalRule::UnlessGranted)
        .evaluate(decisions, &Surroundings::default())
}

fn permit(ruling: &CallRuling) -> Option<&Authorization> {
    match ruling {
        CallRuling::Permitted(call, permit) => {
            assert_eq!(call.arguments(), &arguments());
            Some(permit)
        }
        CallRuling::Ask | CallRuling::NotAsked(_) | CallRuling::Denied(_) => None,
    }
}

#[test]
fn undecided_call_is_asked_for() {
    assert_eq!(ruled(&[], &[]), CallRuling::Ask);
    assert_eq!(ruled(&[approval_in(ApprovalState::Withdrawn { at: NOW })], &[]), CallRuling::Ask);
}

#[test]
fn approval_of_this_run_permits() {
    let answer = Authorization::Approval(ApprovalId::new("a1"));
    for scope in [ApprovalScope::Once, ApprovalScope::Run, ApprovalScope::Always] {
        assert_eq!(permit(&ruled(&[yes(scope)], &[])), Some(&answer), "{scope:?}");
    }
}

#[test]
fn used_approval_permits_only_run_scope() {
    for (scope, is_valid) in
        [(ApprovalScope::Once, false), (ApprovalScope::Run, true), (ApprovalScope::Always, false)]
    {
        let used = Approval { used_at: Some(NOW), ..yes(scope) };
        assert_eq!(permit(&ruled(&[used], &[])).is_some(), is_valid, "{scope:?}");
    }
}

#[test]
fn approval_of_another_call_does_not_permit() {
    let other = Fingerprint::of("send", &json!({ "to": "bob" }), &Surroundings::default());
    let answer = Approval { fingerprint: other, ..yes(ApprovalScope::Run) };
    assert_eq!(ruled(&[answer], &[]), CallRuling::Ask);
}

#[test]
fn denial_has_priority_over_an_older_grant() {
    let no = approval_in(ApprovalState::Denied { reason: Some("Too late.".to_owned()), at: NOW });
    let CallRuling::Denied(denial) = ruled(&[no], &[grant()]) else { panic!("a no is a no") };
    let words = &denial.text;
    assert!(words.contains("Too late.") && words.contains("Do not repeat the call"), "{words}");
    assert_eq!(denial.refusal, Refusal::Denied { reason: Some("Too late.".to_owned()) });
    let late = approval_in(ApprovalState::Expired { at: NOW });
    let CallRuling::Denied(denial) = ruled(&[late], &[grant()]) else {
        panic!("the call was allowed")
    };
    assert_eq!(denial.refusal, Refusal::Expired);
}

#[test]
fn newest_decision_counts() {
    let no = approval_in(ApprovalState::Denied { reason: None, at: NOW });
    assert!(permit(&ruled(&[no.clone(), yes(ApprovalScope::Once)], &[])).is_some());
    assert!(matches!(ruled(&[yes(ApprovalScope::Run), no], &[]), CallRuling::Denied(_)));
}

#[test]
fn valid_grant_permits() {
    let by = Authorization::Grant(GrantId::new("g1"));
    assert_eq!(permit(&ruled(&[], &[grant()])), Some(&by));
    for bad in [
        Grant { revoked_at: Some(UnixMs(1)), ..grant() },
        Grant { expires_at: Some(NOW), ..grant() },
        Grant { uses_left: Some(0), ..grant() },
        Grant { tool: "other".to_owned(), ..grant() },
    ] {
        assert_eq!(ruled(&[], std::slice::from_ref(&bad)), CallRuling::Ask, "{bad:?}");
    }
}

#[test]
fn always_rule_is_never_granted() {
    let needs = needs(&ToolPolicy::default(), ApprovalRule::Always);
    assert!(needs.is_highest());
    let decisions = PriorDecisions { approvals: &[], grants: &[grant()], now: NOW };
    assert_eq!(needs.evaluate(decisions, &Surroundings::default()), CallRuling::Ask);
}

#[test]
fn always_rule_is_approved_for_one_call_only() {
    let used = Approval { used_at: Some(NOW), ..yes(ApprovalScope::Run) };
    let ruled = |answers: &[Approval]| {
        let decisions = PriorDecisions { approvals: answers, grants: &[], now: NOW };
        needs(&ToolPolicy::default(), ApprovalRule::Always)
            .evaluate(decisions, &Surroundings::default())
    };
    assert!(permit(&ruled(&[yes(ApprovalScope::Run)])).is_some());
    assert_eq!(ruled(&[used]), CallRuling::Ask);
}

#[test]
fn policy_without_requests_denies_or_does_not_offer() {
    let spec = tool(ApprovalRule::UnlessGranted);
    let deny = ToolPolicy::default().with_approvals(Approvals::Deny);
    assert!(deny.offers(&spec));
    let decisions = PriorDecisions { approvals: &[], grants: &[], now: NOW };
    let ruling =
        needs(&deny, ApprovalRule::UnlessGranted).evaluate(decisions, &Surroundings::default());
    assert_eq!(ruling, CallRuling::NotAsked(Approvals::Deny));
    let skip = ToolPolicy::default().with_approvals(Approvals::Skip);
    assert!(!skip.offers(&spec));
    let ruling =
        needs(&skip, ApprovalRule::UnlessGranted).evaluate(decisions, &Surroundings::default());
    assert_eq!(ruling, CallRuling::NotAsked(Approvals::Skip));
    assert!(skip.offers(&tool(ApprovalRule::Never)), "a tool without approval is offered");
}

#[test]
fn skip_policy_offers_and_permits_granted_calls() {
    let skip = || ToolPolicy::default().with_approvals(Approvals::Skip);
    let granted = skip().with_grants(&[grant()], NOW);
    assert!(granted.offers(&tool(ApprovalRule::UnlessGranted)));
    assert!(!granted.offers(&tool(ApprovalRule::Always)), "no grant covers that");
    let unlisted = ToolPolicy::for_tools(Some(Vec::new())).with_approvals(Approvals::Skip);
    assert!(!unlisted.with_grants(&[grant()], NOW).offers(&tool(ApprovalRule::UnlessGranted)));
    for bad in [
        Grant { uses_left: Some(0), ..grant() },
        Grant { revoked_at: Some(UnixMs(1)), ..grant() },
        Grant { tool: "other".to_owned(), ..grant() },
    ] {
        let policy = skip().with_grants(std::slice::from_ref(&bad), NOW);
        assert!(!policy.offers(&tool(ApprovalRule::UnlessGranted)), "{bad:?}");
    }
    let ruled = |arguments: Value| {
        let spec = tool(ApprovalRule::UnlessGranted);
        let PolicyVerdict::NeedsApproval(needs) = granted.judge(&spec, arguments) else {
            panic!("let through")
        };
        let decisions = PriorDecisions { approvals: &[], grants: &[grant()], now: NOW };
        needs.evaluate(decisions, &Surroundings::default())
    };
    assert!(permit(&ruled(arguments())).is_some());
    assert_eq!(ruled(json!({ "to": "bob" })), CallRuling::NotAsked(Approvals::Skip));
}

#[test]
fn granted_tool_that_cannot_run_is_withheld() {
    let spec = tool(ApprovalRule::UnlessGranted);
    let (free, asks) =
        (tool(ApprovalRule::Never), ToolPolicy::default().with_grants(&[grant()], NOW));
    let skip = asks.clone().with_approvals(Approvals::Skip);
    assert!(skip.offers_by_grant(&spec) && !skip.offers_by_grant(&free));
    assert!(!asks.offers_by_grant(&spec), "offered without a grant");
    let withheld = WithheldGrant { tool: "send".to_owned(), reason: "No place.".to_owned() };
    let policy = skip.without(vec![withheld.clone()]);
    assert!(!policy.offers(&spec) && !policy.offers_by_grant(&spec));
    assert_eq!(policy.withheld(), [withheld]);
}

#[test]
fn tool_list_only_narrows() {
    let none = ToolPolicy::for_tools(Some(Vec::new()));
    for approval in [ApprovalRule::Never, ApprovalRule::UnlessGranted, ApprovalRule::Always] {
        assert!(!none.offers(&tool(approval)), "{approval:?}");
        let PolicyVerdict::Denied(denial) = none.judge(&tool(approval), arguments()) else {
            panic!("let through")
        };
        assert_eq!(denial.refusal, Refusal::NotListed);
    }
    let way_out = ToolSpec { name: "complete_run".to_owned(), ..tool(ApprovalRule::Never) };
    assert!(none.offers(&way_out), "a run can always end itself");
}

#[test]
fn attended_only_tool_needs_an_attended_turn() {
    let spec = ToolSpec { attended_only: true, ..tool(ApprovalRule::Never) };
    let alone = ToolPolicy::default();
    assert!(!alone.offers(&spec));
    let PolicyVerdict::Denied(denial) = alone.judge(&spec, arguments()) else {
        panic!("let through")
    };
    assert!(denial.text.contains("in an attended turn"), "{}", denial.text);
    assert_eq!(denial.refusal, Refusal::Unattended);
    assert!(alone.for_attended_turn().offers(&spec));
    // A job whose whole work is the call is refused as well.
    let asks = ToolSpec { approval: ApprovalRule::UnlessGranted, ..spec };
    let written = ToolPolicy::for_written_call("send", &arguments());
    assert!(matches!(written.judge(&asks, arguments()), PolicyVerdict::Denied(_)));
}

#[test]
fn listed_only_tool_is_offered_to_jobs_with_the_tool() {
    let spec = ToolSpec { listed_only: true, ..tool(ApprovalRule::Never) };
    let all = ToolPolicy::default();
    assert!(!all.offers(&spec));
    assert!(
        matches!(all.judge(&spec, arguments()), PolicyVerdict::Allowed(_)),
        "the call is allowed"
    );
    assert!(ToolPolicy::for_tools(Some(vec!["send".to_owned()])).offers(&spec));
}

#[test]
fn written_call_is_allowed_verbatim() {
    let spec = tool(ApprovalRule::UnlessGranted);
    let written = ToolPolicy::for_written_call("send", &arguments());
    assert!(matches!(written.judge(&spec, arguments()), PolicyVerdict::Allowed(_)));
    let other = json!({ "to": "bob" });
    let PolicyVerdict::NeedsApproval(needs) = written.judge(&spec, other) else {
        panic!("let through")
    };
    let decisions = PriorDecisions { approvals: &[], grants: &[], now: NOW };
    assert_eq!(needs.evaluate(decisions, &Surroundings::default()), CallRuling::Ask);
    let highest = written.judge(&tool(ApprovalRule::Always), arguments());
    assert!(
        matches!(highest, PolicyVerdict::NeedsApproval(_)),
        "not even then out of the sandbox unasked"
    );
}

#[test]
fn judged_call_changes_only_at_its_handles() {
    let arguments = json!({"url": "https://a.example/{{secret:k}}", "n": [1, "x"]});
    let judged = || ApprovedCall::new(arguments.clone());
    let filled = json!({"url": "https://a.example/v", "n": [1, "x"]});
    let call = judged().with_values(filled.clone()).expect("the same call");
    assert_eq!(call.arguments(), &filled);
    assert!(call.has_values() && !judged().has_values());
    assert!(!judged().with_values(arguments.clone()).expect("equal arguments").has_values());
    for other in [
        json!({"url": "https://a.example/v", "n": [1, "y"]}),
        json!({"url": "https://a.example/v", "n": [2, "x"]}),
        json!({"url": "https://a.example/v", "n": [1, "x", 3]}),
        json!({"url": "https://a.example/v"}),
        json!({"url": "https://a.example/v", "n": [1, "x"], "more": 1}),
        json!({"address": "https://a.example/v", "n": [1, "x"]}),
        json!({"url": ["v"], "n": [1, "x"]}),
    ] {
        assert_eq!(judged().with_values(other.clone()), None, "{other}");
    }
}

#[test]
fn forced_approval_ignores_grants_and_written_calls() {
    let spec = tool(ApprovalRule::UnlessGranted);
    for policy in [ToolPolicy::default(), ToolPolicy::for_written_call("send", &arguments())] {
        let PolicyVerdict::NeedsApproval(needs) = policy.judge_for_hook(&spec, arguments()) else {
            panic!("let through")
        };
        let granted = PriorDecisions { approvals: &[], grants: &[grant()], now: NOW };
        let ruled = needs.clone().evaluate(granted, &Surroundings::default());
        assert_eq!(ruled, CallRuling::Ask);
        let answers = [yes(ApprovalScope::Once)];
        let decisions = PriorDecisions { approvals: &answers, grants: &[grant()], now: NOW };
        let answered = needs.evaluate(decisions, &Surroundings::default());
        assert!(permit(&answered).is_some(), "{answered:?}");
    }
}

#[test]
fn forced_written_call_follows_the_jobs_policy() {
    let spec = tool(ApprovalRule::UnlessGranted);
    for asks in [Approvals::Deny, Approvals::Skip] {
        let written = ToolPolicy::for_written_call("send", &arguments()).with_approvals(asks);
        assert!(matches!(written.judge(&spec, arguments()), PolicyVerdict::Allowed(_)), "{asks:?}");
        for other in [arguments(), json!({ "to": "bob" })] {
            let PolicyVerdict::NeedsApproval(needs) = written.judge_for_hook(&spec, other) else {
                panic!("let through")
            };
            let decisions = PriorDecisions { approvals: &[], grants: &[], now: NOW };
            assert_eq!(
                needs.evaluate(decisions, &Surroundings::default()),
                CallRuling::NotAsked(asks)
            );
        }
    }
}

#[test]
fn rewritten_command_needs_approval_every_time() {
    let spec = ToolSpec { domain: ToolDomain::Container, ..tool(ApprovalRule::UnlessGranted) };
    let written = ToolPolicy::for_written_call("send", &arguments());
    for (arguments, is_highest) in [(arguments(), false), (json!({ "to": "bob" }), true)] {
        let PolicyVerdict::NeedsApproval(needs) = written.judge_for_hook(&spec, arguments) else {
            panic!("let through")
        };
        assert_eq!(needs.is_highest(), is_highest);
    }
}

#[test]
fn pattern_never_covers_shell_text() {
    let rules = std::collections::BTreeMap::from([("to".to_owned(), ArgumentRule::Any)]);
    let pattern =
        Grant { covers: GrantScope::matching(&yes(ApprovalScope::Once), rules), ..grant() };
    let ruled = |shell_text: &[&str], grant: &Grant| {
        let shell_text = shell_text.iter().map(ToString::to_string).collect();
        let spec = ToolSpec { shell_text, ..tool(ApprovalRule::UnlessGranted) };
        let PolicyVerdict::NeedsApproval(needs) = ToolPolicy::default().judge(&spec, arguments())
        else {
            panic!("let through")
        };
        let grants = std::slice::from_ref(grant);
        needs
            .evaluate(PriorDecisions { approvals: &[], grants, now: NOW }, &Surroundings::default())
    };
    assert!(permit(&ruled(&[], &pattern)).is_some());
    assert_eq!(ruled(&["to"], &pattern), CallRuling::Ask);
    assert!(permit(&ruled(&["to"], &grant())).is_some(), "exactly this call");
}

#[test]
fn pattern_covers_only_its_folder() {
    let place = |directory: Option<&str>| Surroundings {
        directory: directory.map(str::to_owned),
        ..Surroundings::default()
    };
    let asked_in = |directory: Option<&str>| Approval {
        surroundings: place(directory),
        ..yes(ApprovalScope::Always)
    };
    let any = || std::collections::BTreeMap::from([("to".to_owned(), ArgumentRule::Any)]);
    let like = |directory: Option<&str>| GrantScope::matching(&asked_in(directory), any());
    let (home, wide, none) = (Some("/home/a/work"), Some("/home/a"), None);
    for (granted, called, expected) in [
        (home, home, true),
        (home, wide, false),
        (home, Some("/home/a/work/below"), false),
        (home, none, false),
        (none, none, true),
        (none, home, false),
    ] {
        let grant = Grant { covers: like(granted), ..grant() };
        let covers = grant.covers("send", &arguments(), &place(called));
        assert_eq!(covers, expected, "{granted:?} {called:?}");
        let new = NewGrant { covers: like(granted), expires_at: None, uses: None };
        let check = new.check(&asked_in(called), &tool(ApprovalRule::UnlessGranted));
        assert_eq!(check.is_ok(), expected, "{check:?}");
    }
}

#[test]
fn pattern_without_a_folder_is_void() {
    let stored = json!({ "kind": "pattern", "rules": { "to": { "rule": "any" } } });
    let covers: GrantScope = serde_json::from_value(stored).expect("an older row");
    let old = Grant { covers, ..grant() };
    assert!(!old.is_valid(NOW) && old.void_reason().is_some());
    assert!(!old.covers("send", &arguments(), &Surroundings::default()));
    let covers = GrantScope::matching(
        &yes(ApprovalScope::Always),
        [("to".to_owned(), ArgumentRule::Any)].into(),
    );
    let kept = serde_json::to_value(&covers).expect("JSON");
    let new = Grant { covers: serde_json::from_value(kept).expect("read"), ..grant() };
    assert!(new.is_valid(NOW) && new.void_reason().is_none());
    assert!(new.covers("send", &arguments(), &Surroundings::default()));
    assert!(grant().void_reason().is_none(), "the fingerprint of an exact grant has the folder");
}

#[test]
fn denial_holds_for_the_same_arguments_in_other_surroundings() {
    let ruled = |state: ApprovalState| {
        let files = [("a.sh".to_owned(), "01".to_owned())].into();
        let changed = Surroundings { files, ..Surroundings::default() };
        let answers = [approval_in(state)];
        let decisions = PriorDecisions { approvals: &answers, grants: &[grant()], now: NOW };
        needs(&ToolPolicy::default(), ApprovalRule::UnlessGranted).evaluate(decisions, &changed)
    };
    let no = || ApprovalState::Denied { reason: None, at: NOW };
    for state in [no(), ApprovalState::Expired { at: NOW }] {
        assert!(matches!(ruled(state), CallRuling::Denied(_)));
    }
    assert_eq!(
        ruled(ApprovalState::Approved { scope: ApprovalScope::Run, at: NOW }),
        CallRuling::Ask
    );
    let other = Approval { arguments: json!({ "to": "bob" }), ..approval_in(no()) };
    assert!(permit(&self::ruled(&[other], &[grant()])).is_some());
}

#[test]
fn run_resumes_by_unused_decision_or_new_grant() {
    let at = NOW;
    for (approval, is_resumed) in [
        (approval_in(ApprovalState::Pending), false),
        (approval_in(ApprovalState::Withdrawn { at }), false),
        (approval_in(ApprovalState::Covered { at }), true),
        (approval_in(ApprovalState::Expired { at }), true),
        (yes(ApprovalScope::Once), true),
        (Approval { used_at: Some(at), ..yes(ApprovalScope::Once) }, false),
    ] {
        assert_eq!(approval.resumes_run(), is_resumed, "{:?}", approval.state);
    }
}
