//! The catalogue of the MCP tools, in a stable order.
//!
//! Owns names, descriptions, hints and schemas. The same for every caller: a tool that the caller may not use answers the reason.

use serde_json::{Value, json};

use super::draft::{job_fields_schema, schedule_schema};
use super::jobs::{DEFAULT_JOBS, MAX_JOBS};
use super::runs::{DEFAULT_RUNS, MAX_RUNS, MAX_WAIT_SECONDS};

/// A tool of the MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum McpTool {
    JobsList,
    JobGet,
    JobPreview,
    JobCreate,
    JobUpdate,
    JobDelete,
    JobRun,
    RunsList,
    RunGet,
    RunWait,
    ApprovalsList,
    Wake,
}

/// The side effects of a tool, in the words of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SideEffect {
    /// Changes nothing.
    None,
    /// Adds data.
    Adds,
    /// Changes or deletes data; a repeated call has no further effect.
    Overwrites,
    /// Starts work that may reach other machines.
    StartsWork,
}

/// The tools with their names.
const TOOLS: [(McpTool, &str); 12] = [
    (McpTool::JobsList, "jobs_list"),
    (McpTool::JobGet, "job_get"),
    (McpTool::JobPreview, "job_preview"),
    (McpTool::JobCreate, "job_create"),
    (McpTool::JobUpdate, "job_update"),
    (McpTool::JobDelete, "job_delete"),
    (McpTool::JobRun, "job_run"),
    (McpTool::RunsList, "runs_list"),
    (McpTool::RunGet, "run_get"),
    (McpTool::RunWait, "run_wait"),
    (McpTool::ApprovalsList, "approvals_list"),
    (McpTool::Wake, "wake"),
];

impl McpTool {
    /// The tool with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        TOOLS.iter().find(|(_, known)| *known == name).map(|(tool, _)| *tool)
    }

    /// Whether the tool changes nothing.
    pub(super) fn is_read_only(self) -> bool {
        self.side_effect() == SideEffect::None
    }

    const fn side_effect(self) -> SideEffect {
        match self {
            Self::JobsList
            | Self::JobGet
            | Self::JobPreview
            | Self::RunsList
            | Self::RunGet
            | Self::RunWait
            | Self::ApprovalsList => SideEffect::None,
            Self::JobCreate => SideEffect::Adds,
            Self::JobUpdate | Self::JobDelete => SideEffect::Overwrites,
            Self::JobRun | Self::Wake => SideEffect::StartsWork,
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::JobsList => "List jobs",
            Self::JobGet => "Show a job",
            Self::JobPreview => "Preview a schedule",
            Self::JobCreate => "Create a job",
            Self::JobUpdate => "Change a job",
            Self::JobDelete => "Delete a job",
            Self::JobRun => "Run a job now",
            Self::RunsList => "List runs",
            Self::RunGet => "Show a run",
            Self::RunWait => "Wait for a run",
            Self::ApprovalsList => "List pending approvals",
            Self::Wake => "Wake the main session",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::JobsList => {
                "Lists the person's jobs by next time, with ids, revisions, next times and last outcomes. Never describe a job from memory: look it up."
            }
            Self::JobGet => {
                "Shows one job with its whole task, its newest outcomes and its active runs."
            }
            Self::JobPreview => "Shows the next times of a schedule. Creates nothing.",
            Self::JobCreate => {
                "Creates a job: a task of an agent, or a reminder, at the person's times. Look for an existing one with jobs_list first. Answers the next times, the tools whose calls will ask the person, and what the person still has to do; pass that on."
            }
            Self::JobUpdate => {
                "Changes a job; omitted fields stay. Needs the revision from job_get, and fails if the job has changed since."
            }
            Self::JobDelete => {
                "Deletes a job and cancels its runs. Needs the exact name beside the id. To pause a job, use job_update with enabled: false."
            }
            Self::JobRun => {
                "Starts a run of a job now, beside its schedule. Answers the id of the run at once."
            }
            Self::RunsList => "Lists runs, newest first, with states and reports.",
            Self::RunGet => "Shows one run: report, error, steps and pending approvals.",
            Self::RunWait => {
                "Waits until a run ends or needs the person, at most 45 s, and answers its state. Call again while isUnderWay is true."
            }
            Self::ApprovalsList => {
                "Lists calls that wait for the person's approval. Only the person can decide, in Rouse."
            }
            Self::Wake => {
                "Gives a text to the main session of Rouse, which treats it as information from outside, and wakes it."
            }
        }
    }

    fn schema(self) -> Value {
        let limit = |default: u32, max: u32| json!({ "type": "integer", "minimum": 1, "maximum": max, "description": format!("Default: {default}.") });
        let cursor = json!({ "type": "string", "description": "nextCursor of the previous page.", "maxLength": 500 });
        let id = |of: &str| json!({ "type": "string", "description": format!("Id of the {of}."), "minLength": 1, "maxLength": 200 });
        match self {
            Self::JobsList => object(
                &[],
                json!({
                    "search": { "type": "string", "description": "Words in name, description or task.", "maxLength": 200 },
                    "limit": limit(DEFAULT_JOBS, MAX_JOBS), "cursor": cursor,
                }),
            ),
            Self::JobGet | Self::JobRun => object(&["id"], json!({ "id": id("job") })),
            Self::JobPreview => object(
                &["schedule"],
                json!({ "schedule": schedule_schema(), "count": limit(5, 20) }),
            ),
            Self::JobCreate => object(&["name", "schedule"], job_fields_schema()),
            Self::JobUpdate => {
                let mut fields = job_fields_schema();
                fields["id"] = id("job");
                fields["revision"] = json!({ "type": "integer", "minimum": 0, "description": "The revision from job_get." });
                object(&["id", "revision"], fields)
            }
            Self::JobDelete => object(
                &["id", "name"],
                json!({ "id": id("job"), "name": { "type": "string", "description": "The exact name of the job.", "maxLength": 200 } }),
            ),
            Self::RunsList => object(
                &[],
                json!({
                    "jobId": id("job"),
                    "states": { "type": "array", "items": { "type": "string" }, "description": "Only these states, such as failed.", "maxItems": 20 },
                    "limit": limit(DEFAULT_RUNS, MAX_RUNS), "cursor": cursor,
                }),
            ),
            Self::RunGet => object(&["id"], json!({ "id": id("run") })),
            Self::RunWait => object(
                &["id"],
                json!({ "id": id("run"), "seconds": { "type": "integer", "minimum": 0, "maximum": MAX_WAIT_SECONDS, "description": format!("Maximum wait. Default: {MAX_WAIT_SECONDS}.") } }),
            ),
            Self::ApprovalsList => object(&[], json!({})),
            Self::Wake => object(
                &["text"],
                json!({
                    "text": { "type": "string", "minLength": 1, "maxLength": 10_000 },
                    "mode": { "type": "string", "enum": ["now", "next-heartbeat"], "description": "Default: now." },
                }),
            ),
        }
    }
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The tools as `tools/list` answers them.
pub(in crate::mcp) fn catalogue() -> Vec<Value> {
    let entry = |(tool, name): &(McpTool, &str)| {
        let effect = tool.side_effect();
        json!({
            "name": name,
            "title": tool.title(),
            "description": tool.description(),
            "inputSchema": tool.schema(),
            "annotations": {
                "title": tool.title(),
                "readOnlyHint": effect == SideEffect::None,
                "destructiveHint": matches!(effect, SideEffect::Overwrites | SideEffect::StartsWork),
                "idempotentHint": matches!(effect, SideEffect::None | SideEffect::Overwrites),
                "openWorldHint": effect == SideEffect::StartsWork,
            },
        })
    };
    TOOLS.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalogue_has_twelve_tools_with_closed_schemas() {
        let tools = catalogue();
        assert_eq!(tools.len(), 12);
        for tool in &tools {
            let name = tool["name"].as_str().expect("a name");
            let known = McpTool::named(name).expect("callable");
            assert_eq!(tool["annotations"]["readOnlyHint"], known.is_read_only(), "{name}");
            let schema = &tool["inputSchema"];
            assert_eq!(schema["additionalProperties"], false, "{name}");
            for required in schema["required"].as_array().expect("a list") {
                let required = required.as_str().expect("a text");
                assert!(schema["properties"][required].is_object(), "{name}: {required}");
            }
        }
    }

    #[test]
    fn no_tool_decides_or_grants() {
        let text = Value::from(catalogue()).to_string();
        for field in ["\"approvals\":{", "\"hosts\"", "\"folders\"", "\"sandbox\"", "\"servers\""] {
            assert!(!text.contains(field), "{field}");
        }
    }
}
