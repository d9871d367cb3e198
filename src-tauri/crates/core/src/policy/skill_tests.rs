//! What the text of a skill in a run's context does to what it may call.

use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::skills::Trust;
use crate::tool::{Annotations, RateLimit};

fn skill(name: &str, trust: Trust, tools: Option<&[&str]>) -> Skill {
    Skill {
        name: name.to_owned(),
        description: "x".to_owned(),
        tools: tools.map(|tools| tools.iter().map(|&tool| tool.to_owned()).collect()),
        body: "x".to_owned(),
        files: Vec::new(),
        digest: "0".to_owned(),
        trust,
        folder: PathBuf::new(),
    }
}

fn tool(name: &str, annotations: Annotations, domain: Domain) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: "x".to_owned(),
        parameters: json!({}),
        annotations,
        approval: ApprovalRule::Never,
        domain,
        rate: RateLimit::USUAL,
        call_for: std::time::Duration::from_secs(1),
        untrusted_output: false,
        sensitive: Vec::new(),
        shell_text: Vec::new(),
        label: None,
        attended_only: false,
        listed_only: false,
    }
}

fn tools() -> Vec<ToolSpec> {
    let inside = Domain::InProcess;
    vec![
        tool("look", Annotations::READS, inside),
        tool("ask", Annotations { open_world: true, ..Annotations::READS }, inside),
        tool("look_aside", Annotations::READS, Domain::Container),
        tool("write", Annotations::OVERWRITES, inside),
        tool("add", Annotations::ADDS, inside),
        tool("anything", Annotations::ANYTHING, inside),
        tool("complete_run", Annotations::ADDS, inside),
        tool(SKILL_READ, Annotations::READS, inside),
    ]
}

fn offered(policy: &ToolPolicy) -> Vec<String> {
    tools().into_iter().filter(|tool| policy.offers(tool)).map(|tool| tool.name).collect()
}

#[test]
fn an_untrusted_skill_leaves_only_what_looks_whatever_the_job_says() {
    for trust in [Trust::Untrusted, Trust::Changed] {
        for allow in [None, Some(tools().into_iter().map(|tool| tool.name).collect())] {
            for policy in
                [ToolPolicy::of_tools(allow.clone()), ToolPolicy::of_tools(allow).attended()]
            {
                let skills = [skill("mine", Trust::Own, None), skill("theirs", trust, None)];
                let policy = policy.told_of(&skills);
                let mut names = offered(&policy);
                names.retain(|name| name != SKILL_READ);
                assert_eq!(names, ["look", "complete_run"], "{trust:?}");
                for tool in
                    tools().iter().filter(|tool| !policy.offers(tool) && tool.name != SKILL_READ)
                {
                    let Verdict::Denied(denial) = policy.judge(tool, json!({})) else {
                        panic!("{} was let through", tool.name)
                    };
                    let words = &denial.words;
                    assert!(
                        words.contains("the skill theirs, which nobody has trusted"),
                        "{words}"
                    );
                    assert_eq!(denial.why, Refusal::Ceiling { skills: vec!["theirs".to_owned()] });
                }
            }
        }
    }
}

#[test]
fn trusted_skills_leave_everything_and_say_nothing() {
    let skills = [skill("mine", Trust::Own, None), skill("theirs", Trust::Trusted, None)];
    let policy = ToolPolicy::of_tools(None).told_of(&skills);
    assert_eq!(policy.ceiling(), None);
    assert_eq!(offered(&policy), offered(&ToolPolicy::of_tools(None)));
}

#[test]
fn what_was_read_before_a_break_still_counts() {
    let policy = ToolPolicy::of_tools(None).told_of(&[]).having_read(["gone".to_owned()]);
    assert_eq!(offered(&policy), ["look", "complete_run"]);
    assert!(policy.ceiling().is_some_and(|why| why.contains("the skill gone")));
}

#[test]
fn skills_that_name_their_tools_narrow_and_never_widen() {
    let looks = skill("looks", Trust::Own, Some(&["look", "write"]));
    let adds = skill("adds", Trust::Own, Some(&["add"]));
    let any = skill("any", Trust::Own, None);
    let of = |allow: Option<&[&str]>, skills: &[Skill]| {
        let allow = allow.map(|names| names.iter().map(|&name| name.to_owned()).collect());
        offered(&ToolPolicy::of_tools(allow).told_of(skills))
    };
    assert_eq!(of(None, std::slice::from_ref(&looks)), ["look", "write", "complete_run"]);
    assert_eq!(
        of(Some(&["write", "add"]), std::slice::from_ref(&looks)),
        ["write", "complete_run"]
    );
    assert_eq!(of(None, &[looks.clone(), adds]), ["look", "write", "add", "complete_run"]);
    assert_eq!(of(Some(&["add"]), &[looks.clone(), any.clone()]), ["complete_run"]);
    assert_eq!(of(None, &[any, looks]), ["look", "write", "complete_run"], "one names none");
}

#[test]
fn files_of_skills_are_read_only_where_there_are_some() {
    let mut with_files = skill("mine", Trust::Own, Some(&["look"]));
    with_files.files = vec!["a.txt".to_owned()];
    let policy = ToolPolicy::of_tools(Some(vec!["write".to_owned()]));
    assert!(
        !offered(&policy.clone().told_of(&[skill("mine", Trust::Own, None)]))
            .contains(&SKILL_READ.to_owned())
    );
    assert!(offered(&policy.told_of(&[with_files])).contains(&SKILL_READ.to_owned()));
}
