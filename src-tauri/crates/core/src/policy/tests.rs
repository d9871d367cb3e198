//! Every way to a yes, every way to a no, and what a judged call may become.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::approval::{AnsweredFrom, Cover, NewGrant, Rule, Surroundings};
use crate::tool::{Annotations, Domain, RateLimit};
use crate::{ApprovalId, GrantId, JobId, RunId};

const NOW: UnixMs = UnixMs(1_000);

fn tool(approval: ApprovalRule) -> ToolSpec {
    ToolSpec {
        name: "send".to_owned(),
        description: String::new(),
        parameters: json!({}),
        annotations: Annotations::ANYTHING,
        approval,
        domain: Domain::InProcess,
        rate: RateLimit::USUAL,
        call_for: Duration::from_secs(1),
        untrusted_output: false,
        sensitive: Vec::new(),
        shell_text: Vec::new(),
        label: None,
        attended_only: false,
        listed_only: false,
    }
}

fn arguments() -> Value {
    json!({ "to": "anna" })
}

fn fingerprint() -> Fingerprint {
    Fingerprint::of("send", &arguments(), &Surroundings::default())
}

fn asked(state: ApprovalState) -> Approval {
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
        why: String::new(),
        is_highest: false,
        asked_at: UnixMs(0),
        expires_at: UnixMs(2_000),
        state,
        answered_from: Some(AnsweredFrom::Page),
        used_at: None,
    }
}

fn yes(scope: Scope) -> Approval {
    asked(ApprovalState::Approved { scope, at: UnixMs(10) })
}

fn grant() -> Grant {
    Grant {
        id: GrantId::new("g1"),
        job_id: JobId::new("j1"),
        tool: "send".to_owned(),
        covers: Cover::exactly(&yes(Scope::Once)),
        created_at: UnixMs(0),
        expires_at: None,
        uses_left: None,
        used: 0,
        revoked_at: None,
    }
}

fn needs(policy: &ToolPolicy, approval: ApprovalRule) -> NeedsYes {
    match policy.judge(&tool(approval), arguments()) {
        Verdict::NeedsYes(needs) => needs,
        other => panic!("{other:?}"),
    }
}

/// What becomes of the call in a run whose job asks, after these answers and grants.
fn ruled(answers: &[Approval], grants: &[Grant]) -> Ruling {
    let said = Said { answers, grants, now: NOW };
    needs(&ToolPolicy::default(), ApprovalRule::UnlessGranted)
        .in_the_light_of(said, &Surroundings::default())
}

fn permit(ruling: &Ruling) -> Option<&Permit> {
    match ruling {
        Ruling::Permitted(call, permit) => {
            assert_eq!(call.arguments(), &arguments());
            Some(permit)
        }
        Ruling::Ask | Ruling::Unasked(_) | Ruling::Denied(_) => None,
    }
}

#[test]
fn what_nobody_has_answered_is_asked() {
    assert_eq!(ruled(&[], &[]), Ruling::Ask);
    assert_eq!(ruled(&[asked(ApprovalState::Withdrawn { at: NOW })], &[]), Ruling::Ask);
}

#[test]
fn an_answer_of_this_run_permits() {
    let answer = Permit::Answer(ApprovalId::new("a1"));
    for scope in [Scope::Once, Scope::Run, Scope::Always] {
        assert_eq!(permit(&ruled(&[yes(scope)], &[])), Some(&answer), "{scope:?}");
    }
}

#[test]
fn a_yes_that_was_used_up_permits_no_more() {
    for (scope, is_good) in [(Scope::Once, false), (Scope::Run, true), (Scope::Always, false)] {
        let used = Approval { used_at: Some(NOW), ..yes(scope) };
        assert_eq!(permit(&ruled(&[used], &[])).is_some(), is_good, "{scope:?}");
    }
}

#[test]
fn a_yes_to_another_call_is_none_to_this_one() {
    let other = Fingerprint::of("send", &json!({ "to": "bob" }), &Surroundings::default());
    let answer = Approval { fingerprint: other, ..yes(Scope::Run) };
    assert_eq!(ruled(&[answer], &[]), Ruling::Ask);
}

#[test]
fn a_no_stands_against_an_older_grant_and_is_not_asked_again() {
    let no = asked(ApprovalState::Denied { reason: Some("Too late.".to_owned()), at: NOW });
    let Ruling::Denied(denial) = ruled(&[no], &[grant()]) else { panic!("a no is a no") };
    let told = &denial.words;
    assert!(told.contains("Too late.") && told.contains("Do not try it again"), "{told}");
    assert_eq!(denial.why, Refusal::Denied { reason: Some("Too late.".to_owned()) });
    let late = asked(ApprovalState::Expired { at: NOW });
    let Ruling::Denied(denial) = ruled(&[late], &[grant()]) else { panic!("it was let through") };
    assert_eq!(denial.why, Refusal::Expired);
}

#[test]
fn the_newest_answer_counts() {
    let no = asked(ApprovalState::Denied { reason: None, at: NOW });
    assert!(permit(&ruled(&[no.clone(), yes(Scope::Once)], &[])).is_some());
    assert!(matches!(ruled(&[yes(Scope::Run), no], &[]), Ruling::Denied(_)));
}

#[test]
fn a_grant_permits_while_it_is_good() {
    let by = Permit::Grant(GrantId::new("g1"));
    assert_eq!(permit(&ruled(&[], &[grant()])), Some(&by));
    for bad in [
        Grant { revoked_at: Some(UnixMs(1)), ..grant() },
        Grant { expires_at: Some(NOW), ..grant() },
        Grant { uses_left: Some(0), ..grant() },
        Grant { tool: "other".to_owned(), ..grant() },
    ] {
        assert_eq!(ruled(&[], std::slice::from_ref(&bad)), Ruling::Ask, "{bad:?}");
    }
}

#[test]
fn no_grant_covers_the_highest_class() {
    let needs = needs(&ToolPolicy::default(), ApprovalRule::Always);
    assert!(needs.is_highest());
    let said = Said { answers: &[], grants: &[grant()], now: NOW };
    assert_eq!(needs.in_the_light_of(said, &Surroundings::default()), Ruling::Ask);
}

#[test]
fn nor_does_a_yes_for_the_run_cover_more_of_it_than_one_call() {
    let used = Approval { used_at: Some(NOW), ..yes(Scope::Run) };
    let ruled = |answers: &[Approval]| {
        let said = Said { answers, grants: &[], now: NOW };
        needs(&ToolPolicy::default(), ApprovalRule::Always)
            .in_the_light_of(said, &Surroundings::default())
    };
    assert!(permit(&ruled(&[yes(Scope::Run)])).is_some());
    assert_eq!(ruled(&[used]), Ruling::Ask);
}

#[test]
fn who_does_not_ask_is_told_no_or_not_offered() {
    let spec = tool(ApprovalRule::UnlessGranted);
    let deny = ToolPolicy::default().asking(Approvals::Deny);
    assert!(deny.offers(&spec));
    let said = Said { answers: &[], grants: &[], now: NOW };
    let ruling =
        needs(&deny, ApprovalRule::UnlessGranted).in_the_light_of(said, &Surroundings::default());
    assert_eq!(ruling, Ruling::Unasked(Approvals::Deny));
    let skip = ToolPolicy::default().asking(Approvals::Skip);
    assert!(!skip.offers(&spec));
    let ruling =
        needs(&skip, ApprovalRule::UnlessGranted).in_the_light_of(said, &Surroundings::default());
    assert_eq!(ruling, Ruling::Unasked(Approvals::Skip));
    assert!(skip.offers(&tool(ApprovalRule::Never)), "what asks nobody is offered");
}

#[test]
fn who_offers_nothing_that_asks_offers_what_a_good_grant_covers_and_permits_just_that() {
    let skip = || ToolPolicy::default().asking(Approvals::Skip);
    let granted = skip().granted(&[grant()], NOW);
    assert!(granted.offers(&tool(ApprovalRule::UnlessGranted)));
    assert!(!granted.offers(&tool(ApprovalRule::Always)), "no grant covers that");
    let unlisted = ToolPolicy::of_tools(Some(Vec::new())).asking(Approvals::Skip);
    assert!(!unlisted.granted(&[grant()], NOW).offers(&tool(ApprovalRule::UnlessGranted)));
    for bad in [
        Grant { uses_left: Some(0), ..grant() },
        Grant { revoked_at: Some(UnixMs(1)), ..grant() },
        Grant { tool: "other".to_owned(), ..grant() },
    ] {
        let policy = skip().granted(std::slice::from_ref(&bad), NOW);
        assert!(!policy.offers(&tool(ApprovalRule::UnlessGranted)), "{bad:?}");
    }
    let ruled = |arguments: Value| {
        let spec = tool(ApprovalRule::UnlessGranted);
        let Verdict::NeedsYes(needs) = granted.judge(&spec, arguments) else {
            panic!("let through")
        };
        let said = Said { answers: &[], grants: &[grant()], now: NOW };
        needs.in_the_light_of(said, &Surroundings::default())
    };
    assert!(permit(&ruled(arguments())).is_some());
    assert_eq!(ruled(json!({ "to": "bob" })), Ruling::Unasked(Approvals::Skip));
}

#[test]
fn what_was_granted_and_is_refused_each_time_all_the_same_is_withheld_and_says_why() {
    let spec = tool(ApprovalRule::UnlessGranted);
    let (free, asks) = (tool(ApprovalRule::Never), ToolPolicy::default().granted(&[grant()], NOW));
    let skip = asks.clone().asking(Approvals::Skip);
    assert!(skip.offers_as_granted(&spec) && !skip.offers_as_granted(&free));
    assert!(!asks.offers_as_granted(&spec), "it is offered on its own ground");
    let withheld = Withheld { tool: "send".to_owned(), why: "No place.".to_owned() };
    let policy = skip.without(vec![withheld.clone()]);
    assert!(!policy.offers(&spec) && !policy.offers_as_granted(&spec));
    assert_eq!(policy.withheld(), [withheld]);
}

#[test]
fn a_list_of_tools_only_narrows() {
    let none = ToolPolicy::of_tools(Some(Vec::new()));
    for approval in [ApprovalRule::Never, ApprovalRule::UnlessGranted, ApprovalRule::Always] {
        assert!(!none.offers(&tool(approval)), "{approval:?}");
        let Verdict::Denied(denial) = none.judge(&tool(approval), arguments()) else {
            panic!("let through")
        };
        assert_eq!(denial.why, Refusal::NotListed);
    }
    let way_out = ToolSpec { name: "complete_run".to_owned(), ..tool(ApprovalRule::Never) };
    assert!(none.offers(&way_out), "a run can always end itself");
}

#[test]
fn what_is_for_attended_turns_is_neither_offered_nor_let_through_elsewhere() {
    let spec = ToolSpec { attended_only: true, ..tool(ApprovalRule::Never) };
    let alone = ToolPolicy::default();
    assert!(!alone.offers(&spec));
    let Verdict::Denied(denial) = alone.judge(&spec, arguments()) else { panic!("let through") };
    assert!(denial.words.contains("while a person is there"), "{}", denial.words);
    assert_eq!(denial.why, Refusal::Unattended);
    assert!(alone.attended().offers(&spec));
    // Nor may a job be made whose whole work it is.
    let asks = ToolSpec { approval: ApprovalRule::UnlessGranted, ..spec };
    let written = ToolPolicy::of_a_persons_call("send", &arguments());
    assert!(matches!(written.judge(&asks, arguments()), Verdict::Denied(_)));
}

#[test]
fn listed_only_tool_is_offered_to_a_job_that_lists_it() {
    let spec = ToolSpec { listed_only: true, ..tool(ApprovalRule::Never) };
    let all = ToolPolicy::default();
    assert!(!all.offers(&spec));
    assert!(matches!(all.judge(&spec, arguments()), Verdict::Allowed(_)), "it may be called");
    assert!(ToolPolicy::of_tools(Some(vec!["send".to_owned()])).offers(&spec));
}

#[test]
fn what_a_person_has_written_goes_word_for_word() {
    let spec = tool(ApprovalRule::UnlessGranted);
    let written = ToolPolicy::of_a_persons_call("send", &arguments());
    assert!(matches!(written.judge(&spec, arguments()), Verdict::Allowed(_)));
    let other = json!({ "to": "bob" });
    let Verdict::NeedsYes(needs) = written.judge(&spec, other) else { panic!("let through") };
    let said = Said { answers: &[], grants: &[], now: NOW };
    assert_eq!(needs.in_the_light_of(said, &Surroundings::default()), Ruling::Ask);
    let highest = written.judge(&tool(ApprovalRule::Always), arguments());
    assert!(matches!(highest, Verdict::NeedsYes(_)), "not even then out of the sandbox unasked");
}

#[test]
fn only_values_in_the_place_of_handles_make_another_call_of_one_that_was_judged() {
    let arguments = json!({"url": "https://a.example/{{secret:k}}", "n": [1, "x"]});
    let judged = || ApprovedCall::judged(arguments.clone());
    let filled = json!({"url": "https://a.example/v", "n": [1, "x"]});
    let call = judged().with_values(filled.clone()).expect("the same call");
    assert_eq!(call.arguments(), &filled);
    assert!(call.has_values() && !judged().has_values());
    assert!(!judged().with_values(arguments.clone()).expect("it is the same").has_values());
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
fn what_a_hook_wants_asked_is_asked_whatever_was_granted_or_written() {
    let spec = tool(ApprovalRule::UnlessGranted);
    for policy in [ToolPolicy::default(), ToolPolicy::of_a_persons_call("send", &arguments())] {
        let Verdict::NeedsYes(needs) = policy.judge_wished(&spec, arguments()) else {
            panic!("let through")
        };
        let granted = Said { answers: &[], grants: &[grant()], now: NOW };
        let ruled = needs.clone().in_the_light_of(granted, &Surroundings::default());
        assert_eq!(ruled, Ruling::Ask);
        let answers = [yes(Scope::Once)];
        let said = Said { answers: &answers, grants: &[grant()], now: NOW };
        let answered = needs.in_the_light_of(said, &Surroundings::default());
        assert!(permit(&answered).is_some(), "{answered:?}");
    }
}

#[test]
fn a_written_call_that_somebody_wants_asked_goes_by_the_setting_of_its_job() {
    let spec = tool(ApprovalRule::UnlessGranted);
    for asks in [Approvals::Deny, Approvals::Skip] {
        let written = ToolPolicy::of_a_persons_call("send", &arguments()).asking(asks);
        assert!(matches!(written.judge(&spec, arguments()), Verdict::Allowed(_)), "{asks:?}");
        for other in [arguments(), json!({ "to": "bob" })] {
            let Verdict::NeedsYes(needs) = written.judge_wished(&spec, other) else {
                panic!("let through")
            };
            let said = Said { answers: &[], grants: &[], now: NOW };
            assert_eq!(
                needs.in_the_light_of(said, &Surroundings::default()),
                Ruling::Unasked(asks)
            );
        }
    }
}

#[test]
fn another_command_than_the_written_one_is_asked_for_each_time() {
    let spec = ToolSpec { domain: Domain::Container, ..tool(ApprovalRule::UnlessGranted) };
    let written = ToolPolicy::of_a_persons_call("send", &arguments());
    for (arguments, is_highest) in [(arguments(), false), (json!({ "to": "bob" }), true)] {
        let Verdict::NeedsYes(needs) = written.judge_wished(&spec, arguments) else {
            panic!("let through")
        };
        assert_eq!(needs.is_highest(), is_highest);
    }
}

#[test]
fn no_pattern_covers_what_a_shell_reads() {
    let rules = std::collections::BTreeMap::from([("to".to_owned(), Rule::Any)]);
    let pattern = Grant { covers: Cover::like(&yes(Scope::Once), rules), ..grant() };
    let ruled = |shell_text: &[&str], grant: &Grant| {
        let shell_text = shell_text.iter().map(ToString::to_string).collect();
        let spec = ToolSpec { shell_text, ..tool(ApprovalRule::UnlessGranted) };
        let Verdict::NeedsYes(needs) = ToolPolicy::default().judge(&spec, arguments()) else {
            panic!("let through")
        };
        let grants = std::slice::from_ref(grant);
        needs.in_the_light_of(Said { answers: &[], grants, now: NOW }, &Surroundings::default())
    };
    assert!(permit(&ruled(&[], &pattern)).is_some());
    assert_eq!(ruled(&["to"], &pattern), Ruling::Ask);
    assert!(permit(&ruled(&["to"], &grant())).is_some(), "exactly this call");
}

#[test]
fn a_pattern_covers_calls_in_the_folder_that_the_person_has_seen() {
    let place = |directory: Option<&str>| Surroundings {
        directory: directory.map(str::to_owned),
        ..Surroundings::default()
    };
    let asked_in =
        |directory: Option<&str>| Approval { surroundings: place(directory), ..yes(Scope::Always) };
    let any = || std::collections::BTreeMap::from([("to".to_owned(), Rule::Any)]);
    let like = |directory: Option<&str>| Cover::like(&asked_in(directory), any());
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
fn a_pattern_from_before_folders_were_kept_does_not_count() {
    let stored = json!({ "kind": "pattern", "rules": { "to": { "rule": "any" } } });
    let covers: Cover = serde_json::from_value(stored).expect("an older row");
    let old = Grant { covers, ..grant() };
    assert!(!old.is_good(NOW) && old.why_void().is_some());
    assert!(!old.covers("send", &arguments(), &Surroundings::default()));
    let covers = Cover::like(&yes(Scope::Always), [("to".to_owned(), Rule::Any)].into());
    let kept = serde_json::to_value(&covers).expect("JSON");
    let new = Grant { covers: serde_json::from_value(kept).expect("read"), ..grant() };
    assert!(new.is_good(NOW) && new.why_void().is_none());
    assert!(new.covers("send", &arguments(), &Surroundings::default()));
    assert!(grant().why_void().is_none(), "one for exactly a call has its folder in its print");
}

#[test]
fn a_grant_covers_only_the_stored_values_that_the_person_was_told_of() {
    let kept = json!({ "to": "{{secret:mail}}" });
    let held = Surroundings { holds_values: true, ..Surroundings::default() };
    let about = |surroundings: &Surroundings| Approval {
        arguments: kept.clone(),
        surroundings: surroundings.clone(),
        ..yes(Scope::Always)
    };
    let (told, untold) = (about(&held), about(&Surroundings::default()));
    let any = || std::collections::BTreeMap::from([("to".to_owned(), Rule::Any)]);
    let ruled = |covers: Cover, arguments: &Value, surroundings: &Surroundings| {
        let Verdict::NeedsYes(needs) =
            ToolPolicy::default().judge(&tool(ApprovalRule::UnlessGranted), arguments.clone())
        else {
            panic!("let through")
        };
        let said = Said { answers: &[], grants: &[Grant { covers, ..grant() }], now: NOW };
        matches!(needs.in_the_light_of(said, surroundings), Ruling::Permitted(..))
    };
    let other = json!({ "to": "{{secret:pin}}" });
    for covers in [Cover::exactly(&told), Cover::like(&told, any())] {
        assert_eq!(covers.values(), ["mail"]);
        assert!(ruled(covers.clone(), &kept, &held), "{covers:?}");
        assert!(!ruled(covers.clone(), &other, &held), "{covers:?}");
        let [new, old] = [&told, &untold].map(|asked| {
            NewGrant { covers: covers.clone(), expires_at: None, uses: None }
                .check(asked, &tool(ApprovalRule::UnlessGranted))
        });
        assert!(new.is_ok() && old.is_err(), "{new:?} {old:?}");
    }
    assert!(ruled(Cover::like(&told, any()), &arguments(), &Surroundings::default()));
    // What was asked about with a handle that stays one is no yes to its value.
    for covers in [Cover::exactly(&untold), Cover::like(&untold, any())] {
        assert!(covers.values().is_empty());
        assert!(!ruled(covers.clone(), &kept, &held), "{covers:?}");
        assert!(ruled(covers.clone(), &kept, &Surroundings::default()), "{covers:?}");
    }
}

#[test]
fn a_no_needs_no_more_than_the_same_words_and_a_yes_all_that_the_call_works_with() {
    let ruled = |state: ApprovalState, holds_values: bool| {
        let files = [("a.sh".to_owned(), "01".to_owned())].into();
        let changed = Surroundings { files, holds_values, ..Surroundings::default() };
        let answers = [asked(state)];
        let said = Said { answers: &answers, grants: &[grant()], now: NOW };
        needs(&ToolPolicy::default(), ApprovalRule::UnlessGranted).in_the_light_of(said, &changed)
    };
    let no = || ApprovalState::Denied { reason: None, at: NOW };
    for state in [no(), ApprovalState::Expired { at: NOW }] {
        assert!(matches!(ruled(state, false), Ruling::Denied(_)));
    }
    assert_eq!(ruled(ApprovalState::Approved { scope: Scope::Run, at: NOW }, false), Ruling::Ask);
    // Words that look like a handle are another call than the value that it stands for.
    assert_eq!(ruled(no(), true), Ruling::Ask);
    let other = Approval { arguments: json!({ "to": "bob" }), ..asked(no()) };
    assert!(permit(&self::ruled(&[other], &[grant()])).is_some());
}

#[test]
fn a_run_goes_on_by_an_answer_that_is_left_and_by_a_grant_that_was_given_since() {
    let at = NOW;
    for (asked, goes_on) in [
        (asked(ApprovalState::Pending), false),
        (asked(ApprovalState::Withdrawn { at }), false),
        (asked(ApprovalState::Covered { at }), true),
        (asked(ApprovalState::Expired { at }), true),
        (yes(Scope::Once), true),
        (Approval { used_at: Some(at), ..yes(Scope::Once) }, false),
    ] {
        assert_eq!(asked.lets_its_run_go_on(), goes_on, "{:?}", asked.state);
    }
}
