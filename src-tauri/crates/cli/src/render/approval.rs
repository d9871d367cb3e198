//! Approvals: request, state and preview. An input request has the message and the fields of its form.

use rouse_core::Clock as _;
use rouse_core::naming::TELLING;
use rouse_core::schedule::format_duration;
use rouse_core::text::escape_invisible;
use rouse_gateway::wire::{
    ApprovalScope, ApprovalStateKind, ApprovalView, ApprovalsDecideResult, DecisionSurface,
    InputAnswer, InputBody, InputField, InputOption, InputPrompt, InputTextFormat, InputValueKind,
};
use serde_json::Value;

use super::table::{fit_id, new_table, print_rows};
use super::text::{escape, shorten};
use super::time::local_time;
use crate::resolve::engine::EngineConnection;

pub(crate) fn print_approval_table(engine: &EngineConnection, approvals: &[ApprovalView]) {
    let now = engine.clock.now().0;
    let mut table = new_table(&["REQUESTED", "JOB", "CALL", "STATE", "BLOCKED WORK", "APPROVAL"]);
    for approval in approvals {
        let id = fit_id(&table, &approval.id);
        table.add_row([
            local_time(engine, approval.requested_at_ms),
            shorten(&approval.job_name, 28),
            call_text(approval),
            state_text(approval, now),
            blocked_text(approval),
            id,
        ]);
    }
    print_rows(&table);
}

/// Prints the whole approval, with the decision commands of a pending approval.
pub(crate) fn print_approval(engine: &EngineConnection, approval: &ApprovalView) {
    let now = engine.clock.now().0;
    anstream::println!("{}  {}", escape(&approval.job_name), approval.tool);
    anstream::println!("{}", escape(&approval.request_reason));
    anstream::println!("State: {}", state_text(approval, now));
    if let Some(blocked) = &approval.blocked_work {
        anstream::println!("Blocked work: {}", escape(&blocked.text));
    }
    if let Some(directory) = &approval.directory {
        anstream::println!("Folder: {}", escape(directory));
    }
    for file in approval.files.iter().chain(&approval.replaced_files) {
        anstream::println!("Valid for this file version: {}", escape(file));
    }
    if let Some(reason) = &approval.no_grant_reason {
        anstream::println!("Grant: not possible. {}", escape(reason));
    }
    if let Some(reason) = &approval.reason {
        anstream::println!("Reason: {}", escape(reason));
    }
    anstream::println!("Run: {}\n", approval.run_id);
    for line in approval.input.iter().flat_map(input_lines) {
        anstream::println!("  {line}");
    }
    for line in preview_lines(&approval.preview, &approval.arguments) {
        anstream::println!("  {line}");
    }
    if approval.state == ApprovalStateKind::Pending {
        anstream::println!("\n{}", decision_commands(approval));
    }
}

/// Prints request and preview on standard error, because a program may read standard output.
pub(crate) fn print_request(approval: &ApprovalView) {
    anstream::eprintln!("\n{}", request_line(approval));
    for line in approval.input.iter().flat_map(input_lines) {
        anstream::eprintln!("  {line}");
    }
    for line in preview_lines(&approval.preview, &approval.arguments) {
        anstream::eprintln!("  {line}");
    }
    if let Some(reason) = &approval.no_grant_reason {
        anstream::eprintln!("{}", escape(reason));
    }
}

/// The request with the commands that show and decide the approval.
pub(crate) fn request_text(approval: &ApprovalView) -> String {
    let request = request_line(approval);
    format!(
        "{request}\n  Show:   rouse approvals show {}\n{}",
        approval.id,
        decision_commands(approval)
    )
}

/// The tool and the reason of the request.
fn request_line(approval: &ApprovalView) -> String {
    if approval.input.is_some() {
        return format!("{}: {}", approval.tool, escape(&approval.request_reason));
    }
    format!("Allow {}? {}", approval.tool, escape(&approval.request_reason))
}

pub(crate) fn decision_commands(approval: &ApprovalView) -> String {
    let first = match approval.input {
        Some(_) => "Answer: rouse approvals answer",
        None => "Allow:  rouse approvals allow",
    };
    format!("  {first} {0}\n  Deny:   rouse approvals deny {0}", approval.id)
}

/// The message and the fields of an input request, behind a mark as in a preview.
pub(crate) fn input_lines(prompt: &InputPrompt) -> Vec<String> {
    let message = prompt.message.split('\n').map(|line| format!("│ {}", escape(line)));
    let body: Vec<String> = match &prompt.body {
        InputBody::Form { fields } => fields.iter().map(field_line).collect(),
        InputBody::Url { url, host } => {
            vec![format!("Page on {}: {}", escape(host), escape(url))]
        }
    };
    message.chain(body).collect()
}

/// Name, label, possible values and description of a field.
pub(crate) fn field_line(field: &InputField) -> String {
    let label = field.label.as_ref().map(|label| format!(" “{}”", escape(label)));
    let required = if field.is_required { "" } else { ", optional" };
    let values = escape(&values_text(&field.value));
    let about = field.description.as_ref().map(|about| format!(" – {}", escape(about)));
    let (label, about) = (label.unwrap_or_default(), about.unwrap_or_default());
    format!("{}{label} ({values}{required}){about}", escape(&field.name))
}

fn values_text(value: &InputValueKind) -> String {
    let options = |options: &[InputOption]| {
        let values: Vec<&str> = options.iter().map(|option| option.value.as_str()).collect();
        values.join(" | ")
    };
    match value {
        InputValueKind::Text { format: None, .. } => "text".to_owned(),
        InputValueKind::Text { format: Some(format), .. } => match format {
            InputTextFormat::Email => "e-mail address".to_owned(),
            InputTextFormat::Uri => "address".to_owned(),
            InputTextFormat::Date => "day, as 2026-11-28".to_owned(),
            InputTextFormat::DateTime => "instant, as 2026-11-28T09:00:00Z".to_owned(),
        },
        InputValueKind::Number { is_whole: true, .. } => "whole number".to_owned(),
        InputValueKind::Number { is_whole: false, .. } => "number".to_owned(),
        InputValueKind::Boolean { .. } => "yes | no".to_owned(),
        InputValueKind::Choice { options: all, .. } => options(all),
        InputValueKind::Choices { options: all, .. } => {
            format!("any of {}, separated by commas", options(all))
        }
    }
}

/// The tool and the most telling argument, or the coding agent and its action.
pub(crate) fn call_text(approval: &ApprovalView) -> String {
    if let Some(agent) = &approval.agent {
        let action = approval.preview.lines().next().unwrap_or_default();
        return shorten(&format!("{agent}: {action}"), 48);
    }
    let argument = TELLING.iter().find_map(|key| approval.arguments[key].as_str());
    let argument = argument.map_or_else(|| approval.arguments.to_string(), str::to_owned);
    shorten(&format!("{} {argument}", approval.tool), 48)
}

/// The refusal of a decision that came too late; none if the decision counts.
pub(crate) fn late_decision(decided: &ApprovalsDecideResult) -> Option<String> {
    let outcome = outcome_text(&decided.approval);
    (!decided.applied).then(|| format!("The decision came too late: the approval {outcome}."))
}

/// The state of an approval as the predicate of a sentence.
pub(crate) fn outcome_text(approval: &ApprovalView) -> String {
    let by = approval.decided_by.as_deref().map(|by| format!(" from {}", escape(by)));
    let from = by.as_deref().unwrap_or(match approval.decided_from {
        Some(DecisionSurface::Page) => " in a window",
        Some(DecisionSurface::Cli) => " on the command line",
        Some(DecisionSurface::Notification) => " in a notification",
        Some(DecisionSurface::Tray) => " in the tray",
        Some(DecisionSurface::Channel) => " on a channel",
        None => "",
    });
    if let Some(answer) = &approval.input_answer {
        return format!("was {}{from}", answer_verb(answer));
    }
    match (approval.state, approval.scope) {
        (ApprovalStateKind::Pending, _) => "is pending".to_owned(),
        (ApprovalStateKind::Approved, Some(ApprovalScope::Run)) => {
            format!("was allowed for the run{from}")
        }
        (ApprovalStateKind::Approved, Some(ApprovalScope::Always)) => {
            format!("was allowed for always{from}")
        }
        (ApprovalStateKind::Approved, _) => format!("was allowed once{from}"),
        (ApprovalStateKind::Denied, _) => format!("was denied{from}"),
        (ApprovalStateKind::Expired, _) => "has expired".to_owned(),
        (ApprovalStateKind::Withdrawn, _) => "ended with its run".to_owned(),
        (ApprovalStateKind::Covered, _) => "is covered by a later grant".to_owned(),
    }
}

const fn answer_verb(answer: &InputAnswer) -> &'static str {
    match answer {
        InputAnswer::Accept { .. } => "answered",
        InputAnswer::Decline => "declined",
        InputAnswer::Cancel => "cancelled",
    }
}

fn state_text(approval: &ApprovalView, now: i64) -> String {
    match approval.state {
        ApprovalStateKind::Pending => {
            let left = (approval.expires_at_ms - now).max(0) / 1_000;
            let left = format_duration(left * 1_000);
            format!("pending for {}, expires in {left}", waiting_time(approval, now))
        }
        _ => outcome_text(approval),
    }
}

/// Seconds in the first minute, then minutes.
fn waiting_time(approval: &ApprovalView, now: i64) -> String {
    match (now - approval.requested_at_ms).max(0) / 1_000 {
        seconds @ 0..60 => format_duration(seconds * 1_000),
        seconds => format_duration(seconds / 60 * 60_000),
    }
}

/// The run and the jobs that a pending approval blocks.
fn blocked_text(approval: &ApprovalView) -> String {
    match approval.blocked_work.as_ref().map(|blocked| blocked.followers.as_slice()) {
        None => String::new(),
        Some([]) => "its run".to_owned(),
        Some([job]) => format!("its run, {}", shorten(&job.name, 24)),
        Some(jobs) => format!("its run, {} jobs", jobs.len()),
    }
}

/// The lines of a preview behind a mark, so that none can imitate the text around the preview. Lines of a command have
/// a second mark, so that none can imitate the working directory.
///
/// The preview escapes invisible characters, so line breaks are the only control characters. Without the command at the
/// start, the end of the command is unknown: every line gets the second mark.
fn preview_lines(preview: &str, arguments: &Value) -> Vec<String> {
    let command = arguments["command"].as_str().map(escape_invisible);
    let command_lines = command.map_or(0, |command| match preview.strip_prefix(&command) {
        Some(rest) if rest.starts_with('\n') => command.split('\n').count(),
        _ => usize::MAX,
    });
    let line = |(number, line): (usize, &str)| {
        if number < command_lines {
            format!("│ │ {}", escape(line))
        } else {
            format!("│ {}", escape(line))
        }
    };
    preview.split('\n').enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn preview_line_cannot_imitate_the_frame() {
        let body = "POST https://a.example/\n\n  Allow:  rouse approvals allow x\nallow once [y] / allow for run [r] / deny [n]: \n";
        let lines = preview_lines(body, &json!({ "url": "https://a.example/" }));
        assert_eq!(
            lines,
            [
                "│ POST https://a.example/",
                "│ ",
                "│   Allow:  rouse approvals allow x",
                "│ allow once [y] / allow for run [r] / deny [n]: ",
                "│ ",
            ]
        );
    }

    #[test]
    fn command_line_cannot_imitate_the_location() {
        let command = "date\n\nin /home/ada\nin the sandbox\n  Allow:  rouse approvals allow x\n";
        let shown = format!("{command}\n\nin /work\nin the sandbox, without a network");
        let lines = preview_lines(&shown, &json!({ "command": command }));
        assert_eq!(
            lines,
            [
                "│ │ date",
                "│ │ ",
                "│ │ in /home/ada",
                "│ │ in the sandbox",
                "│ │   Allow:  rouse approvals allow x",
                "│ │ ",
                "│ ",
                "│ in /work",
                "│ in the sandbox, without a network",
            ]
        );
        let escaped = json!({ "command": "a\u{1b}[2K" });
        assert_eq!(preview_lines("a⟨U+001B⟩[2K\n\nin /work", &escaped)[0], "│ │ a⟨U+001B⟩[2K");
        let unknown_end = preview_lines("It runs:\ndate\nin /work", &json!({ "command": "date" }));
        assert!(unknown_end.iter().all(|line| line.starts_with("│ │ ")), "{unknown_end:?}");
    }
}
