//! The effect of a skill's text in the context on the allowed calls of a run.

use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::skills::SkillTrust;
use crate::tool::{Annotations, RateLimit};

fn skill(name: &str, trust: SkillTrust, tools: Option<&[&str]>) -> Skill {
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

fn tool(name: &str, annotations: Annotations, domain: ToolDomain) -> ToolSpec {
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
        origin: None,
    }
}

fn tools() -> Vec<ToolSpec> {
    let inside = ToolDomain::InProcess;
    vec![
        tool("look", Annotations::READS, inside),
        tool("ask", Annotations { open_world: true, ..Annotations::READS }, inside),
        tool("look_aside", Annotations::READS, ToolDomain::Container),
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
fn untrusted_skill_makes_the_run_read_only() {
    for trust in [SkillTrust::Untrusted, SkillTrust::Changed] {
        for allow in [None, Some(tools().into_iter().map(|tool| tool.name).collect())] {
            for policy in [
                ToolPolicy::for_tools(allow.clone()),
                ToolPolicy::for_tools(allow).for_attended_turn(),
            ] {
                let skills = [skill("mine", SkillTrust::Own, None), skill("theirs", trust, None)];
                let policy = policy.with_skills(&skills);
                let mut names = offered(&policy);
                names.retain(|name| name != SKILL_READ);
                assert_eq!(names, ["look", "complete_run"], "{trust:?}");
                for tool in
                    tools().iter().filter(|tool| !policy.offers(tool) && tool.name != SKILL_READ)
                {
                    let PolicyVerdict::Denied(denial) = policy.judge(tool, json!({})) else {
                        panic!("{} was let through", tool.name)
                    };
                    let words = &denial.text;
                    assert!(words.contains("the skill theirs, which is not trusted"), "{words}");
                    assert_eq!(
                        denial.refusal,
                        Refusal::Ceiling { skills: vec!["theirs".to_owned()] }
                    );
                }
            }
        }
    }
}

#[test]
fn trusted_skills_change_nothing() {
    let skills = [skill("mine", SkillTrust::Own, None), skill("theirs", SkillTrust::Trusted, None)];
    let policy = ToolPolicy::for_tools(None).with_skills(&skills);
    assert_eq!(policy.read_only_reason(), None);
    assert_eq!(offered(&policy), offered(&ToolPolicy::for_tools(None)));
}

#[test]
fn untrusted_skill_read_before_a_restart_counts() {
    let policy = ToolPolicy::for_tools(None).with_skills(&[]).after_reading(["gone".to_owned()]);
    assert_eq!(offered(&policy), ["look", "complete_run"]);
    assert!(policy.read_only_reason().is_some_and(|why| why.contains("the skill gone")));
}

#[test]
fn tool_lists_of_skills_only_narrow() {
    let looks = skill("looks", SkillTrust::Own, Some(&["look", "write"]));
    let adds = skill("adds", SkillTrust::Own, Some(&["add"]));
    let any = skill("any", SkillTrust::Own, None);
    let of = |allow: Option<&[&str]>, skills: &[Skill]| {
        let allow = allow.map(|names| names.iter().map(|&name| name.to_owned()).collect());
        offered(&ToolPolicy::for_tools(allow).with_skills(skills))
    };
    assert_eq!(of(None, std::slice::from_ref(&looks)), ["look", "write", "complete_run"]);
    assert_eq!(
        of(Some(&["write", "add"]), std::slice::from_ref(&looks)),
        ["write", "complete_run"]
    );
    assert_eq!(of(None, &[looks.clone(), adds]), ["look", "write", "add", "complete_run"]);
    assert_eq!(of(Some(&["add"]), &[looks.clone(), any.clone()]), ["complete_run"]);
    assert_eq!(
        of(None, &[any, looks]),
        ["look", "write", "complete_run"],
        "a skill without a tool list"
    );
}

#[test]
fn skill_files_tool_needs_skill_files() {
    let mut with_files = skill("mine", SkillTrust::Own, Some(&["look"]));
    with_files.files = vec!["a.txt".to_owned()];
    let policy = ToolPolicy::for_tools(Some(vec!["write".to_owned()]));
    assert!(
        !offered(&policy.clone().with_skills(&[skill("mine", SkillTrust::Own, None)]))
            .contains(&SKILL_READ.to_owned())
    );
    assert!(offered(&policy.with_skills(&[with_files])).contains(&SKILL_READ.to_owned()));
}
