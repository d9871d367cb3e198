// Written by `cargo xtask types` from the gateway's method table. Do not edit.

/**
 * A known coding agent, for clients.
 */
export type AgentPresetView = { 
/**
 * The name of the extension.
 */
name: string, 
/**
 * The name for people.
 */
label: string, 
/**
 * The whole proposal: with the settings folders and the hosts.
 */
server: ServerDefinition, 
/**
 * The package; none for a program that the person installs.
 */
source?: ExtensionSource, 
/**
 * How a person signs in, as a sentence.
 */
signIn: string, 
/**
 * What the agent does without asking, as a sentence.
 */
unasked: string, };

/**
 * `agents.presets`.
 */
export type AgentPresetsResult = { 
/**
 * The known coding agents.
 */
presets: Array<AgentPresetView>, };

/**
 * A task for a model.
 */
export type AgentTurn = { 
/**
 * The task.
 */
message: string, 
/**
 * Whether the report goes to a channel; `policies.notify` decides when absent.
 */
deliver?: boolean, 
/**
 * The channel; the notification when absent or `last`.
 */
channel?: string, 
/**
 * The recipient on that channel.
 */
to?: string, 
/**
 * Time limit of the run in seconds; `policies.timeoutSeconds` has priority.
 */
timeoutSeconds?: number, 
/**
 * The model; that of the settings when absent.
 */
model?: string, 
/**
 * Models to try in this order when the model is unavailable.
 */
fallbacks?: Array<string>, 
/**
 * Coding agent that works on the task in the place of a model.
 */
agent?: ExtensionName, 
/**
 * Folder in which the coding agent works; the workspace when absent.
 */
cwd?: string, 
/**
 * Whether tools are offered [default: true].
 */
useTools?: boolean, 
/**
 * The offered tools; all when absent.
 */
tools?: Array<string>, 
/**
 * Maximum model calls with tools per run. One more call without tools may follow for the report.
 */
maxSteps?: number, 
/**
 * Maximum tokens of one answer.
 */
maxTokens?: number, 
/**
 * Reasoning effort; the provider's default when absent.
 */
effort?: Effort, 
/**
 * Workspace files for the context.
 */
contextPaths?: Array<string>, 
/**
 * Skills by name.
 */
skills?: Array<string>, 
/**
 * MCP servers whose accepted tools are offered; `NAME:optional` for a server that the run can do without.
 */
servers?: Array<JobServer>, };

/**
 * An approval by id.
 */
export type ApprovalRef = { 
/**
 * Id of the approval.
 */
id: string, };

/**
 * The approval rule of a tool or a call, strictest last.
 */
export type ApprovalRule = "never" | "unlessGranted" | "always";

/**
 * How far an approval reaches.
 */
export type ApprovalScope = "once" | "run" | "always";

/**
 * The state of an approval, without its data.
 */
export type ApprovalStateKind = "pending" | "approved" | "denied" | "expired" | "withdrawn" | "covered";

/**
 * An approval.
 */
export type ApprovalView = { 
/**
 * Id of the approval.
 */
id: string, 
/**
 * The waiting run.
 */
runId: string, 
/**
 * Job of the run; none for the main session.
 */
jobId: string | null, 
/**
 * Name of the job at the time of the request.
 */
jobName: string, 
/**
 * The tool.
 */
tool: string, 
/**
 * Label of the tool; none for a removed tool or a tool without a label.
 */
toolLabel: string | null, 
/**
 * The exact arguments, without redaction: the decision is bound to them.
 */
arguments: Record<string, unknown>, 
/**
 * Working directory of the call.
 */
directory: string | null, 
/**
 * Files that the call executes or reads. Every decision is bound to their content.
 */
files: Array<string>, 
/**
 * Files that the call overwrites or appends to. Only "allow once" is bound to their content.
 */
replacedFiles: Array<string>, 
/**
 * Instant at which the proposed job fires once. The decision is bound to this instant.
 */
firesOnceAtMs: number | null, 
/**
 * Effect of the call for the person, never shortened, with visible escapes for invisible characters.
 */
preview: string, 
/**
 * Reason for the request, as a sentence.
 */
requestReason: string, 
/**
 * Whether each call needs approval, so that no grant is possible.
 */
isHighest: boolean, 
/**
 * Arguments that a shell interprets; grants match them exactly only.
 */
shellText: Array<string>, 
/**
 * Why no grant can cover the call, as a sentence; none if a grant can, or if `isHighest`.
 */
noGrantReason: string | null, 
/**
 * Time of the request.
 */
requestedAtMs: number, 
/**
 * Expiry of the request.
 */
expiresAtMs: number, 
/**
 * State of the approval.
 */
state: ApprovalStateKind, 
/**
 * Scope of an approved call.
 */
scope: ApprovalScope | null, 
/**
 * The person's reason for a denial, passed to the model.
 */
reason: string | null, 
/**
 * Time of the decision, expiry or withdrawal.
 */
decidedAtMs: number | null, 
/**
 * Surface of the decision.
 */
decidedFrom: DecisionSurface | null, 
/**
 * Channel and recipient of the decision, or the device; none on this computer.
 */
decidedBy: string | null, 
/**
 * Work that waits for the decision; none once decided.
 */
blockedWork: BlockedWork | null, 
/**
 * What the server of the call asks the person; none for an approval of the call itself.
 */
input: InputPrompt | null, 
/**
 * Coding agent that asks for permission for the action in `preview`; none for an approval of the call itself.
 */
agent: string | null, 
/**
 * Answer to `input`; none while pending, and after the expiry.
 */
inputAnswer: InputAnswer | null, };

/**
 * Calls that need an approval and have neither approval nor grant.
 */
export type Approvals = "ask" | "deny" | "skip";

/**
 * `approvals.decide`.
 */
export type ApprovalsDecideParams = { 
/**
 * Id of the approval.
 */
id: string, 
/**
 * The decision.
 */
decision: DecisionDraft, 
/**
 * Surface of the decision.
 */
from: DecisionSurface, };

/**
 * `approvals.decide`.
 */
export type ApprovalsDecideResult = { 
/**
 * Whether this decision was applied. False after an earlier decision, the expiry or the end of the run.
 */
applied: boolean, 
/**
 * The approval after the decision.
 */
approval: ApprovalView, };

/**
 * `approvals.list`.
 */
export type ApprovalsListParams = { 
/**
 * Also decided approvals, newest first. Default: only pending ones, by expiry.
 */
all?: boolean, 
/**
 * Page size with `all`: 1 to 500, default 50.
 */
limit?: number, };

/**
 * `approvals.list`.
 */
export type ApprovalsListResult = { 
/**
 * The approvals.
 */
approvals: Array<ApprovalView>, };

/**
 * The allowed values of an argument.
 */
export type ArgumentRule = { "rule": "any" } | { "rule": "equals", "value": unknown } | { "rule": "oneOf", "value": unknown[] } | { "rule": "below", "value": string };

/**
 * A backup.
 */
export type BackupView = { 
/**
 * Path of the file.
 */
path: string, 
/**
 * Creation time.
 */
madeAtMs: number, 
/**
 * Size in bytes.
 */
bytes: number, 
/**
 * Files of skills and workspace omitted by the size limits.
 */
omittedFiles: number, };

/**
 * `backup.list`.
 */
export type BackupsView = { 
/**
 * The folder of the backups.
 */
folder: string, 
/**
 * The backups, newest first.
 */
backups: Array<BackupView>, };

/**
 * Work that waits for a decision. Later slots of the job are not blocked: a parked run holds no permit.
 */
export type BlockedWork = { 
/**
 * Summary as a sentence.
 */
text: string, 
/**
 * Other pending approvals of the run. The run resumes after the last decision.
 */
otherApprovals: number, 
/**
 * Enabled jobs that start after a run of this job.
 */
followers: Array<Follower>, 
/**
 * Runs of the job since the request.
 */
laterRuns: number, };

/**
 * An unreadable job.
 */
export type BrokenJob = { 
/**
 * Id of the job, for `cron.remove`.
 */
id: string, 
/**
 * Name of the job.
 */
name: string, 
/**
 * The parse error.
 */
reason: string, };

/**
 * Spending limits of one job. A day is a day in the job's zone.
 */
export type Budget = { 
/**
 * Tokens per run.
 */
tokensPerRun?: number, 
/**
 * Tokens per day.
 */
tokensPerDay?: number, 
/**
 * Dollars per run.
 */
usdPerRun?: MicroUsd, 
/**
 * Dollars per day.
 */
usdPerDay?: MicroUsd, };

/**
 * The daily budget of all runs: jobs, heartbeat and chat. A day is one of the local zone.
 */
export type BudgetSection = { 
/**
 * Maximum tokens [default: unlimited].
 */
tokensPerDay: number | null, 
/**
 * Maximum dollars [default: unlimited].
 */
usdPerDay: MicroUsd | null, };

/**
 * A built tool.
 */
export type BuiltToolRef = { 
/**
 * Name of the tool.
 */
name: string, };

/**
 * Newest progress message of a running call. Live only.
 */
export type CallProgressView = { 
/**
 * Number of the call's step in the run.
 */
step: number, 
/**
 * The tool.
 */
tool: string, 
/**
 * The message, such as `3 of 10`. Untrusted.
 */
text: string, };

/**
 * An event that triggered a run. All fields are untrusted.
 */
export type CauseView = { 
/**
 * Source of the event: `job`, `cron`, `wake` or `webhook`.
 */
source: string, 
/**
 * Text of the event.
 */
text: string, 
/**
 * Fields for filters.
 */
fields: Record<string, unknown>, 
/**
 * Time of the event.
 */
atMs: number, };

/**
 * Result of a change.
 */
export type ChangeResult = { 
/**
 * Whether anything changed.
 */
changed: boolean, };

/**
 * How much of a message a channel gets.
 */
export type ChannelDetails = "full" | "headline";

/**
 * A failed delivery of a channel.
 */
export type ChannelFailure = { 
/**
 * Time of the failure.
 */
atMs: number, 
/**
 * Cause, as sentences.
 */
reason: string, };

/**
 * The kind of a channel: the service and its protocol.
 */
export type ChannelKind = "telegram" | "email" | "ntfy" | "slack" | "discord" | "webhook" | "apprise" | "whatsapp";

/**
 * `channels.pairing`.
 */
export type ChannelPairingParams = { 
/**
 * Channel.
 */
name: string, 
/**
 * The known state: the answer comes with another state, or after 25 seconds. Default: the answer comes at once.
 */
known?: PairingState, };

/**
 * `channels.pairing`.
 */
export type ChannelPairingResult = { 
/**
 * Newest pairing of the channel since the start of the engine; none without one.
 */
pairing: PairingView | null, };

/**
 * A channel by name.
 */
export type ChannelRef = { 
/**
 * Channel.
 */
name: string, };

/**
 * `channels.unpair`.
 */
export type ChannelUnpairParams = { 
/**
 * Channel.
 */
name: string, 
/**
 * Address of the recipient. Default: the only paired one.
 */
address?: string, };

/**
 * A channel of the settings.
 */
export type ChannelView = { 
/**
 * Name.
 */
name: string, 
/**
 * Kind.
 */
kind: ChannelKind, 
/**
 * Name of the kind for people, such as `Telegram`.
 */
label: string, 
/**
 * How much of a message the channel gets; none if unknown.
 */
details: ChannelDetails, 
/**
 * Recipients that the person has paired or written down.
 */
recipients: Array<RecipientView>, 
/**
 * Why the channel cannot send: cause and remedy as sentences.
 */
problem: string | null, 
/**
 * How messages from the channel arrive; none for a channel that only sends.
 */
receiving: ReceivingView | null, 
/**
 * Newest failed delivery.
 */
newestFailure: ChannelFailure | null, 
/**
 * Time of the newest confirmed delivery.
 */
lastDeliveredAtMs: number | null, };

/**
 * `channels.list` and `channels.check`.
 */
export type ChannelsListResult = { 
/**
 * The channels, by name.
 */
channels: Array<ChannelView>, 
/**
 * The default channels and recipients, as labels.
 */
deliverTo: MessageRoutes, 
/**
 * The default channels as written in the settings.
 */
written: WrittenDefaults, 
/**
 * The present channel and recipient of `last`, as a label.
 */
last: string, 
/**
 * Whether this engine has no desktop, so that its own notifications are not shown.
 */
isHeadless: boolean, };

/**
 * `channels.test`.
 */
export type ChannelsTestParams = { 
/**
 * Channel.
 */
name: string, 
/**
 * Address of the recipient. Default: the only recipient.
 */
to?: string, };

/**
 * `chat.abort`.
 */
export type ChatAbortParams = { 
/**
 * Run of the message. Default: all unanswered messages.
 */
runId?: string, };

/**
 * `chat.send`.
 */
export type ChatSendParams = { 
/**
 * Text of the message.
 */
text: string, 
/**
 * Idempotency key: a repeated key is the same message. 8 to 64 letters, digits, `_` and `-`.
 */
key?: string, };

/**
 * `chat.send`: the saved message.
 */
export type ChatSendResult = { 
/**
 * Run of the answer. `runText` events carry the live text.
 */
runId: string, };

/**
 * Another computer that is reached over SSH.
 */
export type ComputerSection = { 
/**
 * The address: `user@host`, a host of the ssh configuration, or `ssh://user@host:port`.
 */
address: string, 
/**
 * The path of `rouse` on that computer [default: `rouse` in the PATH].
 */
program?: string, };

/**
 * A result for a condition.
 */
export type ConditionSample = { 
/**
 * Run of the result.
 */
runId: string, 
/**
 * Creation time of the run.
 */
atMs: number, 
/**
 * The result.
 */
result: JsonValue, 
/**
 * The previous result; `null` for the first.
 */
previous: JsonValue, };

/**
 * `config.patch`.
 */
export type ConfigPatchParams = { 
/**
 * Merge patch of the file, such as `{cron: {enabled: false}}`; `null` removes a key. Keys: those with `editable` in
 * the schema of the settings, and `heartbeat.everyMs`.
 */
patch: Record<string, unknown>, 
/**
 * Revision that the patch is based on; a stale one is refused.
 */
expectedRevision?: string, };

/**
 * `config.get`: the settings in effect.
 */
export type ConfigView = { 
/**
 * Path of the settings file.
 */
path: string, 
/**
 * Whether the file was edited since Rouse read it. The edit applies at the next start or the next change by Rouse.
 */
changedByHand: boolean, 
/**
 * Error in the file; the settings stay as they were.
 */
problem: string | null, 
/**
 * Unknown keys of the file. They are preserved and have no effect.
 */
unknownKeys: Array<UnknownKey>, 
/**
 * Settings that refer to something missing on this computer.
 */
unmetSettings: Array<UnmetSetting>, 
/**
 * Changed keys (dotted) that apply after a restart.
 */
pendingRestart: Array<string>, 
/**
 * Revision of the file, for `expectedRevision`.
 */
revision: string, 
/**
 * Scheduling.
 */
cron: CronSection, 
/**
 * The heartbeat.
 */
heartbeat: HeartbeatConfigView, 
/**
 * Hours in which notifications are held; none without quiet hours.
 */
quietHours: QuietHours | null, 
/**
 * The model.
 */
model: ModelConfigView, 
/**
 * The computer.
 */
system: SystemSection, 
/**
 * Folder of the file tools.
 */
workspace: string, 
/**
 * Wider folder of the file tools, with its root if enabled.
 */
riskyWorkspace: RiskyWorkspaceSection, 
/**
 * Limits of tools and runs, which only the file can change.
 */
tools: ToolsSection, 
/**
 * The search provider of `web_search`.
 */
search: SearchSection, 
/**
 * Registries of servers and skills.
 */
registries: RegistriesSection, 
/**
 * Channels of reports [default: the notification].
 */
deliverTo: Array<string> | null, 
/**
 * Channels of failures [default: those of reports].
 */
deliverFailuresTo: Array<string> | null, 
/**
 * Channels of requests for an approval or input [default: those of reports].
 */
deliverApprovalsTo: Array<string> | null, 
/**
 * Other computers by name.
 */
computers: { [key in string]: ComputerSection }, 
/**
 * Address of the gateway.
 */
gateway: GatewaySection, 
/**
 * Retention limits.
 */
retention: RetentionSection, 
/**
 * Daily budget of all runs.
 */
budget: BudgetSection, 
/**
 * Model prices.
 */
prices: PricesView, 
/**
 * Keys that an environment variable overrides.
 */
overridden: Array<OverriddenKey>, };

/**
 * `channels.confirmPairing`.
 */
export type ConfirmPairingParams = { 
/**
 * Channel.
 */
name: string, 
/**
 * True pairs the person of the pairing; false refuses the pairing.
 */
accept: boolean, };

/**
 * A page to read before a consent.
 */
export type ConsentPage = { 
/**
 * The extension.
 */
extension: ExtensionName, 
/**
 * The definition.
 */
server: ServerDefinition, 
/**
 * The accepted definition that the page replaces; none for an installation.
 */
replaces?: ServerDefinition, 
/**
 * The installation of the package; none for a command or an address of the person.
 */
package?: PackagePlan, 
/**
 * What the person should know before a consent, as sentences.
 */
notes?: Array<string>, 
/**
 * The tools that wait for a person; empty before the first start.
 */
tools: Array<HeldTool>, 
/**
 * The SHA-256 of the canonical page, in hexadecimal digits.
 */
hash: string, };

/**
 * `cron.add`: the new job.
 */
export type CronAddParams = JobDraft;

/**
 * `cron.check`.
 */
export type CronCheckParams = { 
/**
 * The unsaved job.
 */
job: JobDraft, };

/**
 * `cron.check`: the warnings of a job without saving.
 */
export type CronCheckResult = { 
/**
 * The warnings.
 */
warnings: Array<JobWarning>, 
/**
 * Grants suggested by the message; none without a suggestion.
 */
offers?: GrantOffers, };

/**
 * `cron.estimate`.
 */
export type CronEstimateParams = { 
/**
 * Job with the runs to estimate from; none for a new job.
 */
id?: string, 
/**
 * The unsaved schedule.
 */
schedule: WrittenSchedule, };

/**
 * `cron.estimate`: the monthly cost of a job, estimated from past runs.
 */
export type CronEstimateResult = { 
/**
 * The estimate as a sentence.
 */
text: string, 
/**
 * Number of runs behind the estimate: the newest with a model call or a paid tool.
 */
basedOnRuns: number, 
/**
 * Runs in the next 30 days; none for a trigger without a schedule.
 */
runsPerMonth: number | null, 
/**
 * Median tokens per run.
 */
tokensPerRun: number | null, 
/**
 * Median cost per run; none if the price of a run is unknown.
 */
costPerRunMicroUsd: number | null, 
/**
 * Tokens per run times runs per month.
 */
tokensPerMonth: number | null, 
/**
 * Cost per run times runs per month.
 */
costPerMonthMicroUsd: number | null, };

/**
 * `cron.export`.
 */
export type CronExportParams = { 
/**
 * Only this job.
 */
id?: string, };

/**
 * `cron.export`, also an input of `cron.import`.
 */
export type CronExportResult = { 
/**
 * Format name: `rouse`.
 */
format: string, 
/**
 * Format version.
 */
version: number, 
/**
 * The jobs, including unknown keys.
 */
jobs: Array<Job>, };

/**
 * `cron.import`.
 */
export type CronImportParams = { 
/**
 * Text of the file.
 */
text: string, 
/**
 * Format. Default: detected.
 */
format?: ImportFormat, 
/**
 * Report without saving.
 */
dryRun?: boolean, 
/**
 * Enable jobs that are enabled in the file. Default: import all disabled.
 */
enable?: boolean, 
/**
 * Replace existing jobs with the same id. Default: skip them.
 */
update?: boolean, };

/**
 * `cron.import`: one line per job.
 */
export type CronImportResult = { 
/**
 * Format of the file.
 */
format: ImportFormat, 
/**
 * The lines, in the order of the file.
 */
lines: Array<ImportLine>, };

/**
 * `cron.ledger`.
 */
export type CronLedgerParams = { 
/**
 * The job.
 */
id: string, 
/**
 * `next` of the previous page.
 */
before?: string, };

/**
 * `cron.ledger`: a page of a job's finished runs, in the run log format.
 */
export type CronLedgerResult = { 
/**
 * The entries, newest first; a log file has the reverse order.
 */
entries: Array<LedgerEntry>, 
/**
 * Cursor of the next page; none on the last page.
 */
next: string | null, };

/**
 * `cron.list`.
 */
export type CronListParams = { 
/**
 * Also disabled jobs. Default: false.
 */
includeDisabled?: boolean, 
/**
 * Words in name, description or payload, or an id prefix.
 */
search?: string, 
/**
 * Only jobs with an open incident. A page may hold fewer than `limit` jobs before the last page.
 */
hasIncident?: boolean, 
/**
 * Page size: 1 to 500, default 100.
 */
limit?: number, 
/**
 * `nextCursor` of the previous page. A job whose next slot moves meanwhile may appear twice or not at all; a `cron`
 * event reports the move.
 */
cursor?: string, };

/**
 * `cron.list`.
 */
export type CronListResult = { 
/**
 * The jobs, by next slot.
 */
jobs: Array<JobView>, 
/**
 * Unreadable jobs, which never fire and can only be removed. The first page lists all that were found, also disabled
 * ones; later pages list their own.
 */
broken: Array<BrokenJob>, 
/**
 * Cursor of the next page; none on the last page.
 */
nextCursor: string | null, };

/**
 * `cron.pause`.
 */
export type CronPauseParams = { 
/**
 * Automatic end. Default: until resumed.
 */
untilMs?: number, };

/**
 * `cron.preview`.
 */
export type CronPreviewParams = { 
/**
 * The unsaved schedule.
 */
schedule: WrittenSchedule, 
/**
 * Job of the schedule, which determines the jitter; none for a new job.
 */
id?: string, 
/**
 * Unsaved delivery settings. Default: those of the job, or of the settings for a new job.
 */
delivery?: DeliveryDraft, 
/**
 * Number of slots: 1 to 50, default 5.
 */
count?: number, };

/**
 * `cron.preview`: the next slots.
 */
export type CronPreviewResult = { 
/**
 * Description of the schedule.
 */
text: string, 
/**
 * Time zone of the schedule.
 */
zone: string, 
/**
 * System time zone.
 */
localZone: string, 
/**
 * The next slots.
 */
next: Array<PreviewSlot>, 
/**
 * Notes on clock changes among the slots, and on the jitter of a new job.
 */
notes: Array<string>, 
/**
 * Channels and recipients of the next messages.
 */
routes: MessageRoutes, 
/**
 * Why a channel or recipient of the job cannot get messages, as a sentence.
 */
routeProblem: string | null, };

/**
 * `cron.remove`.
 */
export type CronRemoveParams = { 
/**
 * The job.
 */
id: string, 
/**
 * The calling run. If the job owns it, the run continues.
 */
runId?: string, };

/**
 * `cron.remove`.
 */
export type CronRemoveResult = { 
/**
 * The removed job, for undo: only the id of an unreadable job; none if no job had the id.
 */
job: Job | null, 
/**
 * Enabled jobs that followed the removed job and no longer fire.
 */
followers: Array<Follower>, 
/**
 * Active runs of the job that were cancelled.
 */
cancelledRuns: number, 
/**
 * Pending approvals of the job that were withdrawn. Their runs are cancelled.
 */
withdrawnApprovals: number, 
/**
 * Whether the calling run continues.
 */
callerContinues: boolean, };

/**
 * `cron.run`.
 */
export type CronRunParams = { 
/**
 * The job.
 */
id: string, 
/**
 * Default: `due`.
 */
mode?: ManualRunMode, 
/**
 * The active run that waits for the new run. Refused if the new run could never start.
 */
awaitedBy?: string, };

/**
 * `cron.runs`.
 */
export type CronRunsParams = { 
/**
 * The job.
 */
id: string, 
/**
 * Maximum number of runs. Default: 20.
 */
limit?: number, };

/**
 * `cron.runs`.
 */
export type CronRunsResult = { 
/**
 * The runs, newest first.
 */
entries: Array<RunView>, };

/**
 * Scheduling.
 */
export type CronSection = { 
/**
 * Whether jobs fire.
 */
enabled: boolean, 
/**
 * Maximum active runs.
 */
maxConcurrentRuns: number, };

/**
 * `cron.status`.
 */
export type CronStatus = { 
/**
 * Whether jobs fire.
 */
enabled: boolean, 
/**
 * Why jobs do not fire.
 */
offReason: string | null, 
/**
 * Error that prevents all firing, such as a full disk.
 */
problem: string | null, 
/**
 * The global pause, if any.
 */
pause: PauseView | null, 
/**
 * The next slot of all jobs; none if the pause skips it.
 */
next: NextSlotView | null, 
/**
 * Active runs.
 */
running: number, 
/**
 * Runs that wait for a retry, without a permit.
 */
betweenAttempts: number, 
/**
 * Queued runs.
 */
queued: number, 
/**
 * Maximum concurrent runs.
 */
maxConcurrentRuns: number, 
/**
 * All jobs.
 */
jobs: number, 
/**
 * Enabled jobs.
 */
enabledJobs: number, 
/**
 * Enabled jobs with a failed newest run.
 */
failingJobs: number, };

/**
 * `cron.tryCondition`.
 */
export type CronTryConditionParams = { 
/**
 * Job with the result to test; none for an unsaved job, where only the syntax is checked.
 */
id: string | null, 
/**
 * The CEL expression.
 */
cel: string, };

/**
 * `cron.tryCondition`: the verdict on the last result.
 */
export type CronTryConditionResult = { 
/**
 * Syntax or evaluation error.
 */
problem: string | null, 
/**
 * Value of the expression; none with an error or without a result.
 */
holds: boolean | null, 
/**
 * The last result; none before the first.
 */
on: ConditionSample | null, };

/**
 * `cron.update`.
 */
export type CronUpdateParams = { 
/**
 * The job.
 */
id: string, 
/**
 * Merge patch of the job (RFC 7396: `null` removes a key).
 */
patch: Record<string, unknown>, 
/**
 * Revision that the patch is based on; a stale one is refused.
 */
expectedRevision?: number, };

/**
 * Hours of each day.
 */
export type DayHours = { 
/**
 * The start, such as `08:00`.
 */
from: string, 
/**
 * The end, exclusive; on the next day if earlier than the start.
 */
to: string, 
/**
 * The IANA zone [default: the local zone].
 */
tz: string | null, };

/**
 * A day of the week.
 */
export type DayOfWeek = "mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun";

/**
 * A decision as a client sends it.
 */
export type DecisionDraft = { "kind": "once" } | { "kind": "run" } | { "kind": "always", 
/**
 * Rules by argument name. Default: exactly this call.
 */
rules?: { [key in string]: ArgumentRule }, 
/**
 * Expiry of the grant. Default: never.
 */
expiresAtMs?: number, 
/**
 * Number of calls. Default: unlimited.
 */
uses?: number, } | { "kind": "deny", 
/**
 * Reason, passed to the model.
 */
reason?: string, } | { "kind": "submit", 
/**
 * Values by field name. Default: none, as for a page.
 */
answers: Record<string, unknown>, } | { "kind": "cancel" };

/**
 * The surface on which a person decided.
 */
export type DecisionSurface = "page" | "cli" | "notification" | "tray" | "channel";

/**
 * The delivery settings of an unsaved job.
 */
export type DeliveryDraft = { 
/**
 * `policies.deliverTo`.
 */
deliverTo?: Array<string>, 
/**
 * `payload.channel` of an agent job.
 */
channel?: string, 
/**
 * `payload.to` of an agent job.
 */
to?: string, 
/**
 * `payload.deliver` of an agent job.
 */
deliver?: boolean, };

/**
 * A delivery by id.
 */
export type DeliveryRef = { 
/**
 * Id of the delivery, which is also the key of the notification.
 */
id: string, };

/**
 * The state of a delivery.
 */
export type DeliveryState = "pending" | "held" | "sending" | "unknown" | "delivered" | "failed" | "suppressed";

/**
 * A delivery.
 */
export type DeliveryView = { id: string, runId: string | null, channel: string, 
/**
 * Kind of the channel; none for the notification and for a removed channel.
 */
channelKind: ChannelKind | null, 
/**
 * Address of the recipient; none for a channel with a single place.
 */
to: string | null, title: string, body: string, state: DeliveryState, attempts: number, reason: string | null, createdAtMs: number, nextAttemptAtMs: number | null, settledAtMs: number | null, heldUntilMs: number | null, digestId: string | null, };

/**
 * `devices.pair`: a pairing code, valid for one device. A new code replaces the code before.
 */
export type DevicePairing = { 
/**
 * Links with the code: one for each name, then one for a browser on this computer.
 */
links: Array<PairingLink>, 
/**
 * Expiry of the code.
 */
expiresAtMs: number, };

/**
 * A device by id.
 */
export type DeviceRef = { 
/**
 * Id of the device.
 */
id: string, };

/**
 * The methods that a device may call. Each scope includes the ones before.
 */
export type DeviceScope = "read" | "approve" | "write";

/**
 * A paired device.
 */
export type DeviceView = { 
/**
 * Id of the device.
 */
id: string, 
/**
 * Name, chosen at the pairing.
 */
name: string, 
/**
 * The methods that the device may call.
 */
scope: DeviceScope, 
/**
 * Time of the pairing.
 */
createdAtMs: number, 
/**
 * Last request, exact to an hour; none before the first.
 */
lastSeenAtMs: number | null, };

/**
 * `devices.list`.
 */
export type DevicesListResult = { 
/**
 * The devices, by name.
 */
devices: Array<DeviceView>, 
/**
 * Host names of the settings (`gateway.names`) that are in effect.
 */
names: Array<string>, };

/**
 * `devices.pair`.
 */
export type DevicesPairParams = { 
/**
 * Suggested name: 1 to 60 visible characters. Default: the device suggests one.
 */
name?: string, 
/**
 * The methods that the device may call.
 */
scope: DeviceScope, };

/**
 * How much a model reasons before it answers. Each model family has its own words for the levels.
 */
export type Effort = "low" | "medium" | "high" | "max";

/**
 * No parameters, or no result.
 */
export type EmptyObject = Record<symbol, never>;

/**
 * Host of the engine.
 */
export type EngineMode = "app" | "serve";

/**
 * Subject of an event: the stored kinds of `rouse_core::event::EventKind`, and the live kinds of the stream.
 */
export type EventKindView = "cron" | "run" | "approval" | "delivery" | "session" | "heartbeat" | "config" | "runText" | "runProgress" | "seen" | "reset";

/**
 * Which events fire a job.
 */
export type EventTrigger = { 
/**
 * The source: `job`, `cron`, `wake`, `webhook`.
 */
source: string, 
/**
 * A regular expression on the event's text.
 */
pattern?: string, 
/**
 * Required fields of the event with their values.
 */
filters?: { [key in string]: JsonValue }, };

/**
 * An event. `seq` grows by one; after a gap a client requests the events again with `after`.
 */
export type EventView = { 
/**
 * Number of the event; 0 for a live event.
 */
seq: number, 
/**
 * Commit time.
 */
atMs: number, 
/**
 * Subject of the event.
 */
kind: EventKindView, 
/**
 * The change.
 */
data: Record<string, unknown>, };

/**
 * An installed extension: an MCP server. Files of an older Rouse have no `package`.
 */
export type Extension = { 
/**
 * How the server is started or reached.
 */
server: ServerDefinition, 
/**
 * The package that Rouse installed; none for a command or an address of the person.
 */
package?: InstalledPackage, 
/**
 * Whether runs may use the server.
 */
isEnabled: boolean, 
/**
 * When the definition was accepted.
 */
acceptedAtMs: UnixMs, 
/**
 * The name and version that the server reported last.
 */
reportedVersion?: string, 
/**
 * The accepted tools.
 */
tools: Array<PinnedTool>, 
/**
 * New and changed tools of the last listing, which wait for a person.
 */
held: Array<HeldTool>, 
/**
 * Raw names of accepted tools that the server no longer lists.
 */
gone: Array<string>, };

/**
 * `extensions.accept`.
 */
export type ExtensionAcceptParams = { 
/**
 * Name of the extension.
 */
name: ExtensionName, 
/**
 * Hash of the accepted page of tools; at least the first 12 digits.
 */
accept: string, 
/**
 * The chosen access by raw name. Default: the proposal.
 */
access?: { [key in string]: ToolAccess }, };

/**
 * `extensions.setAccess`.
 */
export type ExtensionAccessParams = { 
/**
 * Name of the extension.
 */
name: ExtensionName, 
/**
 * Raw name of the accepted tool.
 */
tool: string, 
/**
 * How calls of the tool are judged.
 */
access: ToolAccess, };

/**
 * `extensions.get`.
 */
export type ExtensionDetail = { 
/**
 * Name.
 */
name: ExtensionName, 
/**
 * The document.
 */
extension: Extension, 
/**
 * State of the server, with the end of its error output.
 */
status: ServerStatus, 
/**
 * State of the sign-in at a server over HTTP.
 */
signIn?: SignInStatus, 
/**
 * The accepted and the held tools.
 */
tools: Array<ExtensionToolView>, };

/**
 * `extensions.preview`: the page of an installation or an update.
 */
export type ExtensionDraft = { 
/**
 * Name of the extension.
 */
name: ExtensionName, 
/**
 * The definition. A bare program name is looked up in `PATH`. With a package, the arguments follow those of the
 * package, and the command may be empty.
 */
server: ServerDefinition, 
/**
 * The package to install.
 */
source?: ExtensionSource, };

/**
 * `extensions.setEnabled`.
 */
export type ExtensionEnabledParams = { 
/**
 * Name of the extension.
 */
name: ExtensionName, 
/**
 * Whether runs may use the server.
 */
enabled: boolean, };

/**
 * `extensions.install`.
 */
export type ExtensionInstallParams = { 
/**
 * Name of the extension.
 */
name: ExtensionName, 
/**
 * The definition.
 */
server: ServerDefinition, 
/**
 * The package to install.
 */
source?: ExtensionSource, 
/**
 * Hash of the accepted page of `extensions.preview`; at least the first 12 digits.
 */
accept: string, };

/**
 * The name of an extension: 1 to 20 lowercase letters, digits and `-`, beginning with a letter. Never changes.
 */
export type ExtensionName = string;

/**
 * `extensions.get`, `review`, `remove`, `restart`, `installStatus`, `cancelInstall`, and the verbs of a sign-in.
 */
export type ExtensionRef = { 
/**
 * Name of the extension.
 */
name: ExtensionName, };

/**
 * `extensions.remove`.
 */
export type ExtensionRemoved = { 
/**
 * Number of revoked grants for tools of the extension.
 */
revokedGrants: number, 
/**
 * What the person must delete, as a sentence.
 */
manualCleanup: string | null, };

/**
 * Where the files of a server come from.
 */
export type ExtensionSource = { "kind": "npm", 
/**
 * The name of the package.
 */
package: string, 
/**
 * The exact version.
 */
version: string, 
/**
 * The program of the package; needed when the package has several.
 */
program?: string, 
/**
 * The hash of the archive, as npm writes it (`sha512-…`).
 */
integrity?: string, } | { "kind": "pypi", 
/**
 * The name of the package.
 */
package: string, 
/**
 * The exact version.
 */
version: string, 
/**
 * The program of the package; needed when the package has several.
 */
program?: string, 
/**
 * The SHA-256 of the requirements file, which has the version and the SHA-256 of every package inside.
 */
requirements?: string, } | { "kind": "mcpb", 
/**
 * The absolute path of the file.
 */
file: string, 
/**
 * The SHA-256 of the file.
 */
sha256?: string, 
/**
 * The values of the settings that the bundle asks for. A secret is a handle (`{{secret:NAME}}`).
 */
config?: { [key in string]: Array<string> }, } | { "kind": "folder", 
/**
 * The absolute path.
 */
path: string, 
/**
 * The SHA-256 of the list of files.
 */
sha256?: string, } | { "kind": "tool", 
/**
 * The absolute path.
 */
path: string, 
/**
 * The SHA-256 of the list of files.
 */
sha256?: string, };

/**
 * A tool of an extension.
 */
export type ExtensionToolView = { 
/**
 * Raw name at the server.
 */
rawName: string, 
/**
 * Name in jobs, runs and grants.
 */
toolName: string, };

/**
 * An extension in a list.
 */
export type ExtensionView = { 
/**
 * Name.
 */
name: ExtensionName, 
/**
 * The command line or the URL.
 */
transport: string, 
/**
 * Whether runs may use the server.
 */
isEnabled: boolean, 
/**
 * State of the server.
 */
state: ServerState, 
/**
 * Label of the state.
 */
label: string, 
/**
 * Reason of the state, and what to do.
 */
reason: string | null, 
/**
 * Whether this is a coding agent, which has no tools.
 */
isCodingAgent: boolean, 
/**
 * Number of accepted tools that runs may call.
 */
accepted: number, 
/**
 * Number of tools that wait for a person.
 */
held: number, 
/**
 * Number of accepted tools that are off.
 */
off: number, 
/**
 * Name and version that the server reported last.
 */
reportedVersion: string | null, };

/**
 * `extensions.list`.
 */
export type ExtensionsListResult = { 
/**
 * The extensions, by name.
 */
extensions: Array<ExtensionView>, };

/**
 * `extensions.verify`.
 */
export type ExtensionsVerifyParams = { 
/**
 * Name of the extension. Default: all extensions.
 */
name?: ExtensionName, };

/**
 * `extensions.verify`: the extensions with a package.
 */
export type ExtensionsVerifyResult = { 
/**
 * The extensions, by name.
 */
extensions: Array<VerifiedFiles>, };

/**
 * A model with a failed last request.
 */
export type FailingModel = { 
/**
 * Name of the provider.
 */
provider: string, 
/**
 * Name of the model.
 */
model: string, 
/**
 * First failure since the last answer.
 */
sinceMs: number, 
/**
 * Newest error.
 */
message: string, 
/**
 * Fix, as a sentence.
 */
fix: string, 
/**
 * Environment variable with the key, if configured.
 */
keyEnv: string | null, };

/**
 * A file that is not as a person accepted it.
 */
export type FileChange = { 
/**
 * The path in the folder of the package.
 */
path: string, 
/**
 * The kind of the change.
 */
change: FileChangeKind, };

/**
 * How a file differs.
 */
export type FileChangeKind = "changed" | "missing" | "extra";

/**
 * The accepted files of a package, in `extensions.lock`.
 */
export type FileManifest = { 
/**
 * The SHA-256 of the list of files.
 */
sha256: string, 
/**
 * The number of files.
 */
files: number, 
/**
 * The bytes of all files.
 */
bytes: number, };

/**
 * State of the first-start card.
 */
export type FirstStart = { 
/**
 * Whether the card was dismissed.
 */
dismissed: boolean, 
/**
 * Id of the example job, if it exists.
 */
exampleJobId: string | null, 
/**
 * First run of the example job.
 */
exampleRunId: string | null, };

/**
 * One folder that a person has granted to a job.
 */
export type FolderGrant = string;

/**
 * A job that starts after another.
 */
export type Follower = { 
/**
 * Id of the job.
 */
id: string, 
/**
 * Name of the job.
 */
name: string, };

/**
 * The gate's decision about a call.
 */
export type GateView = { "decision": "written" } | { "decision": "approved", 
/**
 * The approval.
 */
approvalId: string, 
/**
 * Hook that rewrote the call before.
 */
rewrittenBy: string | null, } | { "decision": "granted", 
/**
 * The grant.
 */
grantId: string, 
/**
 * Hook that rewrote the call before.
 */
rewrittenBy: string | null, } | { "decision": "rewritten", 
/**
 * The hook.
 */
rewrittenBy: string, } | { "decision": "refused", 
/**
 * Kind of the refusal; none if unknown, as in runs of earlier versions.
 */
refusal: Refusal | null, 
/**
 * Hook that rewrote the call before.
 */
rewrittenBy: string | null, };

/**
 * The loopback server.
 */
export type GatewaySection = { 
/**
 * The preferred port; the next free port if another program has it.
 */
port: number, 
/**
 * Host names under which a reverse proxy on this computer forwards https requests to Rouse [default: none].
 */
names: Array<string>, };

/**
 * Grants for hosts and folders that the job's message names.
 */
export type GrantOffers = { 
/**
 * Hosts for commands and requests.
 */
hosts: Array<string>, 
/**
 * Folders to read.
 */
folders: Array<string>, };

/**
 * A grant by id.
 */
export type GrantRef = { 
/**
 * Id of the grant.
 */
id: string, };

/**
 * Calls that a grant covers.
 */
export type GrantScopeView = { "kind": "exact", 
/**
 * Arguments of the call.
 */
arguments: Record<string, unknown>, } | { "kind": "pattern", 
/**
 * Rules by argument name.
 */
rules: { [key in string]: ArgumentRule }, 
/**
 * Working directory of the calls; none without one, or if unknown (`voidReason`).
 */
folder: string | null, };

/**
 * A grant of one job.
 */
export type GrantView = { 
/**
 * Id of the grant.
 */
id: string, 
/**
 * The job.
 */
jobId: string, 
/**
 * Name of the job; none for a removed job.
 */
jobName: string | null, 
/**
 * The tool.
 */
tool: string, 
/**
 * Covered calls.
 */
covers: GrantScopeView, 
/**
 * Creation time.
 */
createdAtMs: number, 
/**
 * Expiry.
 */
expiresAtMs: number | null, 
/**
 * Remaining calls; unlimited when none.
 */
usesLeft: number | null, 
/**
 * Calls made with the grant.
 */
used: number, 
/**
 * Revocation time.
 */
revokedAtMs: number | null, 
/**
 * Whether the grant covers calls now.
 */
isValid: boolean, 
/**
 * Why the grant covers no call, as a sentence; none if it does.
 */
voidReason: string | null, };

/**
 * `grants.list`.
 */
export type GrantsListParams = { 
/**
 * Only grants of this job.
 */
jobId?: string, };

/**
 * `grants.list`.
 */
export type GrantsListResult = { 
/**
 * Valid and invalid grants, newest first.
 */
grants: Array<GrantView>, };

/**
 * The heartbeat.
 */
export type HeartbeatConfigView = { 
/**
 * Whether the heartbeat is enabled.
 */
enabled: boolean, 
/**
 * Interval in milliseconds.
 */
everyMs: number, 
/**
 * Hours of the periodic heartbeat. Default: always.
 */
activeHours: DayHours | null, 
/**
 * Additional instructions for heartbeat turns.
 */
prompt: string | null, 
/**
 * Skills of all turns of the main session, including the chat.
 */
skills: Array<string>, 
/**
 * Model of these turns. Default: the default model.
 */
model: string | null, };

/**
 * A request for a heartbeat turn.
 */
export type HeartbeatRequestView = { 
/**
 * Reason of the request: `wake`, `cron:<jobId>` or a custom one.
 */
reason: string, 
/**
 * Time of the request.
 */
atMs: number, };

/**
 * A skipped heartbeat.
 */
export type HeartbeatSkipView = { 
/**
 * Reason of the skip.
 */
reason: string, 
/**
 * Scheduled time.
 */
atMs: number, };

/**
 * `heartbeat.status`.
 */
export type HeartbeatStatus = { 
/**
 * Whether the periodic heartbeat is enabled.
 */
enabled: boolean, 
/**
 * Interval in milliseconds.
 */
everyMs: number, 
/**
 * Hours of the periodic heartbeat, such as `08:00–22:00`; always when none.
 */
activeHours: string | null, 
/**
 * The next heartbeat.
 */
nextAtMs: number | null, 
/**
 * Why the last heartbeat was skipped, or why none is scheduled.
 */
lastSkipReason: string | null, 
/**
 * The last skipped heartbeat, even if others ran since.
 */
lastSkip: HeartbeatSkipView | null, 
/**
 * Queued system events of the main session.
 */
queuedEvents: number, 
/**
 * What a requested turn waits for; none without a request.
 */
pending: string | null, 
/**
 * The newest request since the start, including coalesced ones.
 */
lastRequest: HeartbeatRequestView | null, 
/**
 * HEARTBEAT.md, if an agent may have changed it and the person has not confirmed it since.
 */
untrustedList: UntrustedList | null, };

/**
 * `heartbeat.trust`: confirms the content of HEARTBEAT.md as the person's instruction.
 */
export type HeartbeatTrustParams = { 
/**
 * Digest of the reviewed text.
 */
digest: string, };

/**
 * A tool that is not offered until a person accepts it.
 */
export type HeldTool = { 
/**
 * Why the tool is held.
 */
change: ToolChange, 
/**
 * The accepted definition; none for a new tool.
 */
accepted?: ToolDefinition, 
/**
 * The definition that waits.
 */
offered: ToolDefinition, };

/**
 * A call of a hook.
 */
export type HookCallView = { 
/**
 * End of the call.
 */
atMs: number, 
/**
 * Duration in milliseconds.
 */
durationMs: number, 
/**
 * Error; none after success.
 */
problem: string | null, };

/**
 * The way a hook denied a call. The aliases are names of older versions.
 */
export type HookDenial = "denied" | "failed" | "rewriteLimit";

/**
 * A hook with call statistics since the start.
 */
export type HookView = { 
/**
 * Step at which the hook runs, such as `before_tool_call`.
 */
on: string, 
/**
 * Whether the hook is consulted, so that a failure counts as deny. Otherwise the hook is only notified.
 */
isConsulted: boolean, 
/**
 * Program and arguments.
 */
command: Array<string>, 
/**
 * Timeout in milliseconds.
 */
timeoutMs: number, 
/**
 * Number of calls.
 */
calls: number, 
/**
 * Number of failed calls.
 */
failures: number, 
/**
 * Last call; none before the first.
 */
last: HookCallView | null, };

/**
 * `hooks.list`.
 */
export type HooksListResult = { 
/**
 * The hooks of the settings file, in order.
 */
hooks: Array<HookView>, };

/**
 * The format of an imported file.
 */
export type ImportFormat = "rouse" | "rfc" | "openclaw" | "crontab" | "systemcrontab";

/**
 * Result for one job of the file.
 */
export type ImportLine = { 
/**
 * Name of the job, or position in the file.
 */
name: string, 
/**
 * Id of the imported job; none if refused.
 */
id: string | null, 
/**
 * Outcome, or expected outcome of a dry run.
 */
outcome: ImportOutcome, 
/**
 * Whether the job is enabled after the import.
 */
enabled: boolean, 
/**
 * Why the job was skipped or refused.
 */
reason: string | null, 
/**
 * Notes on the conversion.
 */
notes: Array<string>, 
/**
 * Warnings about the job.
 */
warnings: Array<JobWarning>, 
/**
 * Description of the schedule; none if refused.
 */
scheduleText: string | null, 
/**
 * Time zone of the description; none if the description has no time.
 */
zone: string | null, 
/**
 * Next slots of the enabled job, at most three.
 */
next: Array<PreviewSlot>, 
/**
 * Task and settings of the job, with escaped invisible characters; empty if refused.
 */
facts: Array<JobFact>, };

/**
 * Outcome for one job of the file.
 */
export type ImportOutcome = "created" | "updated" | "switchedOn" | "skipped" | "refused";

/**
 * An open incident of a job.
 */
export type IncidentView = { 
/**
 * Error of the first failed run.
 */
cause: string, 
/**
 * Time of the first failure.
 */
openedAtMs: number, 
/**
 * Number of failed runs.
 */
count: number, 
/**
 * First failed run.
 */
firstRunId: string, 
/**
 * Newest failed run.
 */
lastRunId: string, 
/**
 * Time of the newest failure.
 */
lastAtMs: number, 
/**
 * Why the incident paused the job, such as "Paused after 3 failures in a row"; none if not paused.
 */
pausedBecause: string | null, };

/**
 * The answer of the person, in the form of the protocol. Only a person makes an `Accept`.
 */
export type InputAnswer = { "action": "accept", 
/**
 * Values by field name; none for a page.
 */
content?: Record<string, unknown> | null, } | { "action": "decline" } | { "action": "cancel" };

/**
 * What the person fills in or opens.
 */
export type InputBody = { "kind": "form", 
/**
 * The fields.
 */
fields: Array<InputField>, } | { "kind": "url", 
/**
 * Address of the page, https only.
 */
url: string, 
/**
 * Host of the address.
 */
host: string, };

/**
 * A field of a form.
 */
export type InputField = { 
/**
 * Name in the answer.
 */
name: string, 
/**
 * Label; the name when none.
 */
label: string | null, 
/**
 * Description.
 */
description: string | null, 
/**
 * Whether a value is required.
 */
isRequired: boolean, 
/**
 * The possible values.
 */
value: InputValueKind, };

/**
 * An option of a choice.
 */
export type InputOption = { 
/**
 * Value in the answer.
 */
value: string, 
/**
 * Label; the value when none.
 */
label: string | null, };

/**
 * What a server asks the person.
 */
export type InputPrompt = { 
/**
 * The server.
 */
server: string, 
/**
 * Message of the server: untrusted text, with visible escapes for invisible characters.
 */
message: string, 
/**
 * What the person fills in or opens.
 */
body: InputBody, };

/**
 * The format of a text.
 */
export type InputTextFormat = "email" | "uri" | "date" | "date-time";

/**
 * The possible values of a field.
 */
export type InputValueKind = { "kind": "text", 
/**
 * Minimum characters.
 */
minLength: number | null, 
/**
 * Maximum characters.
 */
maxLength: number | null, 
/**
 * Format; any text when none.
 */
format: InputTextFormat | null, 
/**
 * Proposed value.
 */
default: string | null, } | { "kind": "number", 
/**
 * Whether only whole numbers are possible.
 */
isWhole: boolean, 
/**
 * Minimum.
 */
minimum: number | null, 
/**
 * Maximum.
 */
maximum: number | null, 
/**
 * Proposed value.
 */
default: number | null, } | { "kind": "boolean", 
/**
 * Proposed value.
 */
default: boolean | null, } | { "kind": "choice", 
/**
 * The texts.
 */
options: Array<InputOption>, 
/**
 * Proposed value.
 */
default: string | null, } | { "kind": "choices", 
/**
 * The texts.
 */
options: Array<InputOption>, 
/**
 * Minimum number.
 */
minItems: number | null, 
/**
 * Maximum number.
 */
maxItems: number | null, 
/**
 * Proposed values.
 */
default: Array<string>, };

/**
 * `extensions.installStatus`.
 */
export type InstallStatus = { 
/**
 * What the installation does; none without an installation.
 */
step: string | null, };

/**
 * A command of an installation.
 */
export type InstallStep = { 
/**
 * The absolute path of the program.
 */
program: string, 
/**
 * The arguments.
 */
arguments: Array<string>, 
/**
 * The variables beside the basic ones.
 */
environment: { [key in string]: string }, };

/**
 * An installed package.
 */
export type InstalledPackage = { 
/**
 * The source, with the hash that the installation found.
 */
source: ExtensionSource, 
/**
 * The definition as the person wrote it, without what the package adds. An update begins with it.
 */
draft: ServerDefinition, 
/**
 * The accepted files.
 */
files: FileManifest, 
/**
 * The packages inside, each as `name==version` of PyPI or `name@version` of npm.
 */
components: Array<string>, };

/**
 * Settings of the isolated session.
 */
export type Isolation = { 
/**
 * The prefix of the report in the main session [default: Cron].
 */
postToMainPrefix?: string, };

/**
 * A job: trigger, payload and policies.
 */
export type Job = { 
/**
 * The id; never changes.
 */
id: JobId, 
/**
 * The name.
 */
name: string, 
/**
 * Notes on the purpose.
 */
description?: string, 
/**
 * A disabled job has no next slot.
 */
enabled: boolean, 
/**
 * When the job was created.
 */
createdAtMs: UnixMs, 
/**
 * When the definition was last changed.
 */
updatedAtMs: UnixMs, 
/**
 * The trigger.
 */
schedule: Schedule, 
/**
 * The session of the runs.
 */
sessionTarget: SessionTarget, 
/**
 * When the main session gets a turn after a system event.
 */
wakeMode: WakeMode, 
/**
 * The work of a run.
 */
payload: Payload, 
/**
 * Settings of the isolated session.
 */
isolation?: Isolation, 
/**
 * Retries.
 */
runtime?: Runtime, 
/**
 * Misfires, overlap, limits.
 */
policies?: Policies, 
/**
 * Deletes the job after its first finished run.
 */
deleteAfterRun?: boolean, 
/**
 * Owned by the engine.
 */
state: JobState, 
/**
 * The creator: `{kind: "agent", runId, jobId?}` for a job that a model has created. Any program may write here.
 */
createdBy?: unknown, 
/**
 * The last author of the message; the creator when absent.
 */
messageBy?: unknown, };

/**
 * A new job. The engine sets missing fields and accepts an unused `id`, to undo a deletion.
 */
export type JobDraft = Partial<Omit<Job, "name" | "schedule" | "payload" | "state">> & { name: string; schedule: WrittenSchedule; payload: Payload };

/**
 * A setting of a job.
 */
export type JobFact = { 
/**
 * The label: the field's name in words.
 */
about: string, 
/**
 * The value.
 */
text: string, };

/**
 * A job; a UUID, or any text for imported jobs.
 */
export type JobId = string;

/**
 * A job by id.
 */
export type JobRef = { 
/**
 * Id of the job; `jobId` is an alias.
 */
id: string, };

/**
 * A server that a job uses.
 */
export type JobServer = string;

/**
 * The engine's facts about a job. Clients write only unknown keys.
 */
export type JobState = { 
/**
 * The next slot; absent for a disabled, finished or manual job.
 */
nextRunAtMs?: UnixMs, 
/**
 * When the newest run started.
 */
lastRunAtMs?: UnixMs, 
/**
 * The error or reason of the newest run.
 */
lastError?: string, 
/**
 * The duration of the newest run in milliseconds.
 */
lastDurationMs?: number, 
/**
 * Consecutive failures.
 */
consecutiveFailures: number, 
/**
 * Increases with every change of the definition. Updates carry the revision that they are based on.
 */
revision: number, 
/**
 * Derived from `state`.
 */
lastStatus?: RfcStatus, 
/**
 * The run state; none before the first end of a run.
 */
lastState?: RunState, };

/**
 * A job with its status.
 */
export type JobView = { 
/**
 * The job in the job format, including unknown keys.
 */
job: Job, 
/**
 * Description of the schedule, such as "Weekdays at 07:30".
 */
scheduleText: string, 
/**
 * Time zone of the description; none if the description has no time.
 */
zone: string | null, 
/**
 * Newest final states, oldest first, at most 14.
 */
recent: Array<RunState>, 
/**
 * Active and waiting runs.
 */
liveRunIds: Array<string>, 
/**
 * Open incident; none if the job is healthy.
 */
incident: IncidentView | null, 
/**
 * Whether the predecessor of the job was deleted, so that the job never fires.
 */
isPredecessorMissing: boolean, 
/**
 * Spending since the first of the month, in the local zone.
 */
spentThisMonth: SpentView, 
/**
 * Channels and recipients of the next messages.
 */
routes: MessageRoutes, };

/**
 * A problem that would affect the job now. Not an error: a missing file or model may appear later.
 */
export type JobWarning = { 
/**
 * Path of the field, such as `payload.contextPaths[0]`.
 */
field: string, 
/**
 * Problem and fix, as a sentence.
 */
message: string, };

export type JsonValue = number | string | boolean | Array<JsonValue> | { [key in string]: JsonValue } | null;

/**
 * An entry of a job's run log: the fields of the cron RFC and further ones. Absent values are omitted.
 */
export type LedgerEntry = { 
/**
 * End of the run.
 */
ts: number, jobId: string, 
/**
 * Always `finished`.
 */
action: string, status?: RfcStatus, 
/**
 * Error, or the reason of an interrupted run.
 */
error?: string, 
/**
 * Summary, error or reason, in this order.
 */
summary?: string, runAtMs?: number, durationMs?: number, runId: string, name: string, state: RunState, reason?: string, trigger: RunTrigger, slotAtMs?: number, firstSlotAtMs?: number, slotCount: number, attempt: number, model?: string, };

/**
 * A model in a provider's list.
 */
export type ListedModelView = { 
/**
 * Model id of the API.
 */
id: string, 
/**
 * Display name.
 */
title: string | null, 
/**
 * Context window in tokens.
 */
contextTokens: number | null, 
/**
 * Size on disk in bytes.
 */
bytes: number | null, 
/**
 * Whether the model can call tools; none if the list does not say.
 */
callsTools: boolean | null, };

/**
 * Whether a manual run needs a due slot.
 */
export type ManualRunMode = "due" | "force";

/**
 * `mcpAccess.create`.
 */
export type McpAccessCreateParams = { 
/**
 * Name: 1 to 60 visible characters.
 */
name: string, 
/**
 * The tools that the token opens.
 */
scope: McpScope, };

/**
 * `mcpAccess.list`.
 */
export type McpAccessListResult = { 
/**
 * The tokens, by name.
 */
tokens: Array<McpTokenView>, 
/**
 * URL of the MCP server.
 */
url: string, };

/**
 * The tools that a token opens.
 */
export type McpScope = "read" | "write";

/**
 * `mcpAccess.create`: the new token.
 */
export type McpTokenCreated = { 
/**
 * The value for `Authorization: Bearer …`, only in this response.
 */
token: string, 
/**
 * URL of the MCP server.
 */
url: string, 
/**
 * Name that the person chose.
 */
name: string, 
/**
 * The tools that the token opens.
 */
scope: McpScope, 
/**
 * Creation time.
 */
createdAtMs: number, 
/**
 * Last use, exact to an hour; none before the first.
 */
lastUsedAtMs: number | null, };

/**
 * A token by name.
 */
export type McpTokenRef = { 
/**
 * Name of the token.
 */
name: string, };

/**
 * A token. Its value is known only at the creation.
 */
export type McpTokenView = { 
/**
 * Name that the person chose.
 */
name: string, 
/**
 * The tools that the token opens.
 */
scope: McpScope, 
/**
 * Creation time.
 */
createdAtMs: number, 
/**
 * Last use, exact to an hour; none before the first.
 */
lastUsedAtMs: number | null, };

/**
 * Author of a message.
 */
export type MessageFrom = "person" | "rouse" | "model" | "tool" | "summary";

/**
 * The channels and recipients of each kind of message, as labels.
 */
export type MessageRoutes = { 
/**
 * Reports, reminders and messages of runs.
 */
reports: Array<string>, 
/**
 * Failures.
 */
failures: Array<string>, 
/**
 * Requests for an approval or input; empty for a reminder.
 */
approvals: Array<string>, };

/**
 * A message of a transcript.
 */
export type MessageView = { 
/**
 * Id, which grows with every message.
 */
id: number, 
/**
 * Run of the message; for a summary, the run that created the summary.
 */
runId: string | null, 
/**
 * Time of the message.
 */
atMs: number, 
/**
 * Author of the message.
 */
from: MessageFrom, 
/**
 * Text, or the result of a tool.
 */
text: string, 
/**
 * Tool calls of the model.
 */
calls: Array<ToolCallRequest>, 
/**
 * Call id of a tool result.
 */
callId: string | null, 
/**
 * Tool of a tool result.
 */
tool: string | null, 
/**
 * Whether a tool result is an error.
 */
isError: boolean, 
/**
 * Number of messages that a summary replaces in the context, from the start of the session.
 */
summarizedMessages: number | null, };

/**
 * The scope that a method needs.
 */
export type MethodScope = "read" | "approve" | "write" | "admin";

/**
 * Millionths of a US dollar; in JSON dollars.
 */
export type MicroUsd = number;

/**
 * Slots that passed while nothing could fire.
 */
export type Misfire = { 
/**
 * How passed slots are caught up.
 */
mode?: MisfireMode, 
/**
 * A slot later than this is missed in every mode. Where one run stands for several slots, the newest counts.
 */
maxLatenessSeconds?: number, 
/**
 * Maximum catch-up runs with `mode: runAll` [default: 10].
 */
limit?: number, };

/**
 * How passed slots are caught up.
 */
export type MisfireMode = "skip" | "runOnce" | "runAll";

/**
 * The model.
 */
export type ModelConfigView = { 
/**
 * Configured providers.
 */
providers: Array<ProviderConfigView>, 
/**
 * The provider's name [default: the best one found].
 */
provider: string | null, 
/**
 * The model's name [default: the provider's choice].
 */
name: string | null, 
/**
 * Maximum wait of a run for unavailable models, in seconds. A provider's outage is usually over within minutes.
 */
patienceSeconds: number, };

/**
 * Verdict of a model test.
 */
export type ModelTestVerdict = "works" | "noToolCall" | "needlessToolCall" | "failed";

/**
 * Result of a model test.
 */
export type ModelTestView = { 
/**
 * The provider.
 */
provider: string, 
/**
 * The model.
 */
model: string, 
/**
 * The verdict.
 */
verdict: ModelTestVerdict, 
/**
 * Verdict and fix, as a sentence.
 */
message: string, 
/**
 * Time of the test.
 */
atMs: number, 
/**
 * Tokens of the test.
 */
tokens: number, };

/**
 * `models.add`: adds or updates a provider and makes it the default.
 */
export type ModelsAddParams = { 
/**
 * The server.
 */
server: ServerDraft, 
/**
 * Default model of the provider.
 */
model: string, 
/**
 * Context window of the model in tokens.
 */
contextTokens?: number, };

/**
 * `models.list`: the models that a provider lists.
 */
export type ModelsListParams = { 
/**
 * A configured or detected provider. Default: the active one.
 */
provider?: string, 
/**
 * A server without configuration, instead.
 */
server?: ServerDraft, };

/**
 * `models.list`.
 */
export type ModelsListResult = { 
/**
 * The provider.
 */
provider: string, 
/**
 * The models, most useful first.
 */
models: Array<ListedModelView>, };

/**
 * `models.providers`.
 */
export type ModelsProvidersResult = { 
/**
 * Provider presets, in order.
 */
presets: Array<PresetView>, 
/**
 * Whether a local Ollama has no model.
 */
ollamaNeedsModel: boolean, 
/**
 * Suggested models for Ollama.
 */
suggested: Array<SuggestedModelView>, };

/**
 * `models.pull`: pulls a model into the local Ollama.
 */
export type ModelsPullParams = { 
/**
 * Name in the Ollama library.
 */
model: string, };

/**
 * `models.pullStatus`.
 */
export type ModelsPullStatusResult = { 
/**
 * The active or last pull; none since the start.
 */
pull: PullView | null, };

/**
 * `models.test`: one prompt that needs a tool call, one that does not.
 */
export type ModelsTestParams = { 
/**
 * Provider. Default: the active one.
 */
provider?: string, 
/**
 * Model. Default: the default model of the provider.
 */
model?: string, 
/**
 * Makes the provider the default if the model answers.
 */
makeDefault?: boolean, };

/**
 * The next slot of all jobs.
 */
export type NextSlotView = { 
/**
 * The job.
 */
jobId: string, 
/**
 * Name of the job.
 */
name: string, 
/**
 * The slot.
 */
atMs: number, };

/**
 * Outcome of a notification request.
 */
export type NotificationOutcome = "shown" | "notNow" | "never";

/**
 * `deliveries.answer`: the report on a notification request.
 */
export type NotificationReport = { 
/**
 * Key of the request.
 */
key: string, 
/**
 * Outcome of the request.
 */
outcome: NotificationOutcome, 
/**
 * Error for the person, if not shown.
 */
reason?: string, };

/**
 * Availability of notifications.
 */
export type NotificationStatus = { 
/**
 * Whether notifications can be shown.
 */
available: boolean, 
/**
 * Why not, if unavailable.
 */
reason: string | null, 
/**
 * Whether the newest notification failed.
 */
failing: boolean, };

/**
 * Which outcomes are worth a notification.
 */
export type Notify = "always" | "findings" | "failure" | "never";

/**
 * A condition: its result is worth a notification, and so is a failure.
 */
export type NotifyCondition = { 
/**
 * A CEL expression over `result`, `previous` and `state`.
 */
cel: string, };

/**
 * Which results of a tool call are worth a notification: a word or a condition.
 */
export type NotifyWhen = NotifyWord | NotifyCondition;

/**
 * Which results of a tool call are worth a notification.
 */
export type NotifyWord = "always" | "failure" | "changed";

/**
 * The OAuth client of a server's definition. Without a client id, Rouse registers itself.
 */
export type OAuthClientSettings = { 
/**
 * The id of a client that is registered at the sign-in server.
 */
clientId?: string, 
/**
 * The handle of the client's secret: `{{secret:NAME}}`.
 */
clientSecret?: string, 
/**
 * The requested scopes [default: those that the server names].
 */
scopes?: Array<string>, 
/**
 * The host of the redirect address, `127.0.0.1` or `localhost` [default: 127.0.0.1].
 */
redirectHost?: string, 
/**
 * The port of the redirect address [default: the port of Rouse].
 */
redirectPort?: number, };

/**
 * An unanswered chat message.
 */
export type OpenMessage = { 
/**
 * Run of the answer.
 */
runId: string, 
/**
 * Text.
 */
text: string, 
/**
 * Time of the message.
 */
atMs: number, 
/**
 * State of the run.
 */
state: RunState, 
/**
 * Text so far of the active model call; text of earlier calls is in messages.
 */
liveText: string | null, };

/**
 * A slot that comes while the previous run is running.
 */
export type Overlap = "skip" | "queue" | "parallel" | "cancelOther";

/**
 * A key that an environment variable overrides.
 */
export type OverriddenKey = { 
/**
 * The key, such as `cron.enabled`.
 */
key: string, 
/**
 * The variable, such as `ROUSE_SKIP_CRON`.
 */
variable: string, };

/**
 * The files of an update that differ from the installed files.
 */
export type PackageChanges = { 
/**
 * The first files by path, at most 20.
 */
files: Array<FileChange>, 
/**
 * The number of the other files.
 */
others: number, };

/**
 * What an installation does.
 */
export type PackagePlan = { 
/**
 * The source.
 */
source: ExtensionSource, 
/**
 * The installed source that the plan replaces.
 */
replaces?: ExtensionSource, 
/**
 * The files of a bundle or folder that differ from the installed ones; none for an installation, and before a
 * download.
 */
changes?: PackageChanges, 
/**
 * The registry: its address in the person's settings, or the default of the installer. None for files of this
 * computer.
 */
registry?: string, 
/**
 * Name, version and author by the package's own manifest: untrusted text.
 */
claims?: string, 
/**
 * The commands, in their order.
 */
steps: Array<InstallStep>, 
/**
 * The folder of the installed files.
 */
folder: string, 
/**
 * The size of the files; none before a download.
 */
size?: PackageSize, 
/**
 * What the person should know, as sentences.
 */
notes: Array<string>, };

/**
 * The number of files and their bytes.
 */
export type PackageSize = { 
/**
 * The number of files.
 */
files: number, 
/**
 * The bytes of all files.
 */
bytes: number, };

/**
 * A link that pairs the device that opens it.
 */
export type PairingLink = { 
/**
 * The link.
 */
url: string, 
/**
 * Whether only a browser on this computer reaches the link.
 */
isLocal: boolean, 
/**
 * QR code as an SVG image; none for a link of more than 78 characters.
 */
qrSvg: string | null, };

/**
 * `POST /auth/pairing`: the device that a pairing code is for.
 */
export type PairingOffer = { 
/**
 * Suggested name; none if the device suggests one.
 */
name: string | null, 
/**
 * The methods that the device may call.
 */
scope: DeviceScope, 
/**
 * Expiry of the code.
 */
expiresAtMs: number, };

/**
 * State of a pairing.
 */
export type PairingState = "waiting" | "confirming" | "paired" | "refused" | "expired";

/**
 * `channels.pair`, `channels.pairing` and `channels.confirmPairing`.
 */
export type PairingView = { 
/**
 * Channel.
 */
channel: string, 
/**
 * State.
 */
state: PairingState, 
/**
 * One-time link that the person opens on the phone.
 */
link: string, 
/**
 * QR code of the link, as SVG.
 */
qrSvg: string, 
/**
 * QR code of the link, as text for a terminal.
 */
qrText: string, 
/**
 * Expiry of the link.
 */
expiresAtMs: number, 
/**
 * Name of the person who opened the link.
 */
person: string | null, };

/**
 * The global pause.
 */
export type PauseView = { 
/**
 * Automatic end; none until resumed.
 */
untilMs: number | null, };

/**
 * The work of a run.
 */
export type Payload = { "kind": "systemEvent", 
/**
 * The text.
 */
text: string, } | { "kind": "agentTurn" } & AgentTurn | { "kind": "toolCall" } & ToolCall;

/**
 * An accepted tool.
 */
export type PinnedTool = { 
/**
 * The accepted definition.
 */
definition: ToolDefinition, 
/**
 * The hash of the definition.
 */
hash: string, 
/**
 * How calls are judged.
 */
access: ToolAccess, 
/**
 * When the tool was accepted.
 */
acceptedAtMs: UnixMs, };

/**
 * The policies of a job. Each field has a default.
 */
export type Policies = { 
/**
 * Slots that passed while nothing could fire.
 */
misfire?: Misfire, 
/**
 * A slot that comes while the previous run is running.
 */
overlap?: Overlap, 
/**
 * Maximum parallel runs of this job with `overlap: parallel`.
 */
maxConcurrent?: number, 
/**
 * Minimum seconds between the starts of two runs.
 */
cooldownSeconds?: number, 
/**
 * Time limit of each attempt in seconds.
 */
timeoutSeconds?: number, 
/**
 * Pauses the job after this number of consecutive failures.
 */
pauseAfterFailures?: number, 
/**
 * Spending limits.
 */
budget?: Budget, 
/**
 * Which outcomes are worth a notification.
 */
notify?: Notify, 
/**
 * Channels of reports and failures: `NAME` or `NAME:RECIPIENT`; those of the settings when absent.
 */
deliverTo?: Array<string>, 
/**
 * Whether notifications wait for the end of quiet hours.
 */
quietHours?: QuietPolicy, 
/**
 * Calls that need an approval.
 */
approvals?: Approvals, 
/**
 * Seconds until an approval expires [default: 1800].
 */
approvalSeconds?: number, 
/**
 * Hosts that calls may reach: `host` or `host:port`.
 */
hosts?: Array<string>, 
/**
 * Folders outside the workspace that calls may read or write: `PATH` or `PATH:write`.
 */
folders?: Array<FolderGrant>, 
/**
 * Confinement of commands that a model runs.
 */
sandbox?: Sandbox, };

/**
 * A provider preset.
 */
export type PresetView = { 
/**
 * Name in the settings.
 */
name: string, 
/**
 * Display name.
 */
title: string, 
/**
 * API format.
 */
kind: string, 
/**
 * Base URL.
 */
baseUrl: string, 
/**
 * Page for API keys; none for a provider without keys.
 */
keyPage: string | null, 
/**
 * Suggested model; none for a choice from the list.
 */
model: string | null, };

/**
 * One slot of a preview.
 */
export type PreviewSlot = { 
/**
 * The slot.
 */
atMs: number, 
/**
 * Time in the zone of the job, such as `2026-11-23T07:30+01:00`.
 */
jobTime: string, 
/**
 * Time in the system zone.
 */
localTime: string, 
/**
 * Note on a clock change that moved the slot.
 */
note: string | null, };

/**
 * Price of a model from the settings file, in US dollars per million tokens.
 */
export type PriceView = { 
/**
 * Model name; a final `*` is a wildcard.
 */
model: string, 
/**
 * Input tokens.
 */
input: number, 
/**
 * Input tokens from the provider's cache [default: the price of `input`].
 */
cached: number | null, 
/**
 * Output tokens.
 */
output: number, };

/**
 * Model prices.
 */
export type PricesView = { 
/**
 * Date of the built-in list prices.
 */
listedOn: string, 
/**
 * Prices from the settings file, which take precedence.
 */
own: Array<PriceView>, };

/**
 * A provider in the settings file, with a reference to the key instead of the key.
 */
export type ProviderConfigView = { 
/**
 * Name.
 */
name: string, 
/**
 * The wire format [default: openai].
 */
kind: ProviderKind, 
/**
 * The address.
 */
baseUrl: string, 
/**
 * The model of jobs that name none.
 */
model: string, 
/**
 * The environment variable with the API key.
 */
keyEnv: string | null, 
/**
 * The stored secret with the API key.
 */
keySecret: string | null, 
/**
 * The context window in tokens [default: known by the model's name].
 */
contextTokens: number | null, 
/**
 * The reasoning effort of jobs that set none.
 */
effort: Effort | null, };

/**
 * The wire format of a model provider.
 */
export type ProviderKind = "openai" | "openai-responses" | "openrouter" | "anthropic";

/**
 * Source of a provider.
 */
export type ProviderSource = "config" | "local" | "environment";

/**
 * State of a provider.
 */
export type ProviderState = "answered" | "untried" | "failing";

/**
 * A configured or detected provider.
 */
export type ProviderView = { 
/**
 * Name in the settings.
 */
name: string, 
/**
 * Display name, such as "Ollama on this computer".
 */
label: string, 
/**
 * API format.
 */
kind: ProviderKind, 
/**
 * Base URL.
 */
baseUrl: string, 
/**
 * Default model; for the active provider, the model in use.
 */
model: string, 
/**
 * Source of the provider.
 */
source: ProviderSource, 
/**
 * Environment variable with the key; none for a local provider.
 */
keyEnv: string | null, 
/**
 * Stored secret with the key, without the value.
 */
keySecret: string | null, 
/**
 * Error that prevents use.
 */
problem: string | null, 
/**
 * State of the provider.
 */
state: ProviderState, 
/**
 * Model tests, newest first.
 */
tests: Array<ModelTestView>, };

/**
 * `providers.list`.
 */
export type ProvidersListParams = { 
/**
 * Detect providers again instead of using the cache.
 */
refresh?: boolean, };

/**
 * `providers.list`.
 */
export type ProvidersListResult = { 
/**
 * Active provider; none without a model.
 */
active: string | null, 
/**
 * The providers, best first.
 */
providers: Array<ProviderView>, };

/**
 * State of a pull.
 */
export type PullState = "running" | "done" | "failed" | "cancelled";

/**
 * A pull.
 */
export type PullView = { 
/**
 * The model.
 */
model: string, 
/**
 * State of the pull.
 */
state: PullState, 
/**
 * Current step, as reported by Ollama.
 */
step: string, 
/**
 * Downloaded bytes.
 */
bytes: number, 
/**
 * Total bytes, as reported by Ollama.
 */
totalBytes: number, 
/**
 * Error of a failed pull.
 */
problem: string | null, };

/**
 * Hours in which notifications wait, on some days.
 */
export type QuietHours = { 
/**
 * The first time of day, such as `22:00`.
 */
from: string, 
/**
 * The end, such as `07:00`; on the next day when earlier than `from`.
 */
to: string, 
/**
 * The IANA zone of both [default: the local zone].
 */
tz?: string, 
/**
 * The days on which the hours begin [default: every day].
 */
days?: Array<DayOfWeek>, };

/**
 * The quiet hours of a job: those of the settings, none, or its own.
 */
export type QuietPolicy = QuietWord | QuietHours;

/**
 * Whether the quiet hours of the settings apply.
 */
export type QuietWord = "respect" | "ignore";

/**
 * Whether messages from a channel arrive.
 */
export type ReceivingState = "off" | "connecting" | "listening" | "failed";

/**
 * How messages from a channel arrive.
 */
export type ReceivingView = { 
/**
 * State.
 */
state: ReceivingState, 
/**
 * Start of the state.
 */
sinceMs: number, 
/**
 * Why no message arrives: cause and remedy as sentences.
 */
problem: string | null, 
/**
 * Ignored messages of people that are not paired, since the start of the engine.
 */
ignored: number, };

/**
 * A recipient of a channel.
 */
export type RecipientView = { 
/**
 * Address on the channel.
 */
address: string, 
/**
 * Name for people.
 */
label: string, 
/**
 * Whether only one person reads the place.
 */
isPrivate: boolean, 
/**
 * Whether the person has paired the place, so that it can decide approvals and write to the main session.
 */
isPaired: boolean, };

/**
 * The kind of a refusal. The aliases are names of older versions.
 */
export type Refusal = { "kind": "unknownTool" } | { "kind": "invalidArguments" } | { "kind": "rateLimited", 
/**
 * Milliseconds until the next permitted call.
 */
waitMs: number, } | { "kind": "notListed" } | { "kind": "ceiling", 
/**
 * Their names.
 */
skills: Array<string>, } | { "kind": "unattended" } | { "kind": "approvalDisabled", 
/**
 * The policy.
 */
approvals: Approvals, } | { "kind": "hook", 
/**
 * The hook.
 */
hook: string, 
/**
 * How the hook denied the call.
 */
how: HookDenial, } | { "kind": "denied", 
/**
 * The person's reason.
 */
reason: string | null, } | { "kind": "expired" } | { "kind": "jobDeleted" } | { "kind": "earlierApprovals" } | { "kind": "leak", 
/**
 * The detected secrets: `secret:NAME` for a stored secret, else the pattern.
 */
found: Array<string>, } | { "kind": "secret", 
/**
 * The secret's name.
 */
name: string, } | { "kind": "storedSecret", 
/**
 * The secrets' names.
 */
names: Array<string>, } | { "kind": "budget" } | { "kind": "noSandbox" } | { "kind": "impossible" };

/**
 * A tool of an MCP server that is not offered.
 */
export type RefusedToolView = { 
/**
 * Name.
 */
name: string, 
/**
 * The reason, as a sentence.
 */
reason: string, };

/**
 * The registries of servers and skills. Rouse connects to a registry only for a search or an installation.
 */
export type RegistriesSection = { 
/**
 * Base address of a registry with the MCP registry API [default: none].
 */
servers: string | null, 
/**
 * Base address of a skill registry with the ClawHub API [default: none].
 */
skills: string | null, };

/**
 * `extensions.registryEntry`.
 */
export type RegistryEntryParams = { 
/**
 * Name of the entry.
 */
name: string, 
/**
 * Version of the entry. Default: the latest.
 */
version?: string, };

/**
 * `extensions.search`.
 */
export type RegistrySearchParams = { 
/**
 * Words of the search.
 */
query: string, 
/**
 * Next page of an earlier search.
 */
cursor?: string, };

/**
 * `extensions.search`: a page of servers.
 */
export type RegistrySearchResult = { 
/**
 * Address of the registry.
 */
registry: string, 
/**
 * The servers.
 */
servers: Array<RegistryServerView>, 
/**
 * Cursor of the next page; none on the last page.
 */
next?: string, };

/**
 * A server of a registry.
 */
export type RegistryServerView = { 
/**
 * Name in the registry.
 */
name: string, 
/**
 * Title: untrusted text.
 */
title?: string, 
/**
 * Description: untrusted text.
 */
description: string, 
/**
 * Version of the entry.
 */
version: string, 
/**
 * Whether the publisher marks the version as deprecated.
 */
isDeprecated: boolean, 
/**
 * The source of an installation, for people; none if Rouse cannot install the entry.
 */
source?: string, 
/**
 * Why Rouse cannot install the entry, as a sentence.
 */
problem?: string, 
/**
 * The entry as JSON text.
 */
document: string, };

/**
 * A skill of a registry.
 */
export type RegistrySkillView = { 
/**
 * Identifier in the registry.
 */
slug: string, 
/**
 * Name: untrusted text.
 */
name: string, 
/**
 * Description: untrusted text.
 */
description: string, 
/**
 * The newest version, if the registry names it.
 */
version?: string, };

/**
 * Stored history.
 */
export type RetentionSection = { 
/**
 * Newest runs to keep for each job.
 */
runsPerJob: number, 
/**
 * Newest messages to keep for each session of a job.
 */
messagesPerSession: number, 
/**
 * Size of the database in megabytes beyond which the oldest runs of all jobs are deleted.
 */
maxDatabaseMb: number, };

/**
 * The status of the cron RFC (`lastStatus`), coarser than the run state.
 */
export type RfcStatus = "ok" | "error" | "skipped";

/**
 * A wider folder for the file tools.
 */
export type RiskyWorkspaceSection = { 
/**
 * Whether the wider folder is open.
 */
enabled: boolean, 
/**
 * The folder [default: the parent of the workspace].
 */
root: string | null, };

/**
 * `runs.attachment`.
 */
export type RunAttachment = { 
/**
 * Media type, by content.
 */
mediaType: string, 
/**
 * The file as base64.
 */
data: string, };

/**
 * `runs.attachment`: a kept file of a step.
 */
export type RunAttachmentParams = { 
/**
 * The run.
 */
runId: string, 
/**
 * Number of the step in the run.
 */
step: number, 
/**
 * Position in the files of the step, from 0.
 */
position: number, };

/**
 * `runs.await`: a command of an active run waits for another run. Refused on a deadlock.
 */
export type RunAwaitParams = { 
/**
 * The awaited run.
 */
id: string, 
/**
 * The waiting run.
 */
waitingRunId: string, };

/**
 * `runs.get`: all details of a run.
 */
export type RunDetail = { 
/**
 * The run.
 */
run: RunView, 
/**
 * The job's payload at the claim.
 */
payload: unknown, 
/**
 * The journal, in order.
 */
steps: Array<StepView>, 
/**
 * Approvals of the run, in order.
 */
approvals: Array<ApprovalView>, 
/**
 * Deliveries of the run.
 */
deliveries: Array<DeliveryView>, 
/**
 * Event that triggered the run; none for a scheduled or manual run.
 */
cause: CauseView | null, 
/**
 * Whether the job still exists.
 */
jobExists: boolean, 
/**
 * Text so far of the active model call.
 */
liveText: string | null, 
/**
 * Newest progress of the running calls.
 */
progress?: Array<CallProgressView>, };

/**
 * A run; a UUIDv7, so that ids sort by creation.
 */
export type RunId = string;

/**
 * A run by id.
 */
export type RunRef = { 
/**
 * Id of the run.
 */
id: string, };

/**
 * Every state a run can be in. Waiting states move on; final states never change.
 */
export type RunState = "queued" | "running" | "awaitingApproval" | "succeeded" | "nothingToReport" | "failed" | "timedOut" | "cancelled" | "skipped" | "missed" | "interrupted";

/**
 * Why a run exists.
 */
export type RunTrigger = "schedule" | "catchUp" | "event" | "webhook" | "manual" | "chat" | "heartbeat";

/**
 * A run in a list.
 */
export type RunView = { id: string, jobId: string | null, jobName: string, slotAtMs: number | null, firstSlotAtMs: number | null, 
/**
 * Slot of the interrupted run that this run repeats.
 */
catchUpSlotAtMs: number | null, trigger: RunTrigger, state: RunState, reason: string | null, 
/**
 * Number of slots of the run; more than one after a catch-up.
 */
slotCount: number, createdAtMs: number, startedAtMs: number | null, finishedAtMs: number | null, lateByMs: number | null, durationMs: number | null, attempt: number, nextAttemptAtMs: number | null, waitsFor: WaitsFor | null, retryOf: string | null, summary: string | null, error: string | null, session: string | null, model: string | null, 
/**
 * Why a fallback model answered; none for the chosen model.
 */
fallbackReason: string | null, usage: Usage, };

/**
 * `runs.list`.
 */
export type RunsListParams = { 
/**
 * Only runs of this job.
 */
jobId?: string, 
/**
 * Only these states.
 */
states?: Array<RunState>, 
/**
 * Only these triggers.
 */
triggers?: Array<RunTrigger>, 
/**
 * Minimum creation time, inclusive.
 */
fromMs?: number, 
/**
 * Maximum creation time, exclusive.
 */
toMs?: number, 
/**
 * Only runs in this digest.
 */
digest?: string, 
/**
 * Words in the job's name, the summary or the error.
 */
search?: string, 
/**
 * Page size: 1 to 500, default 50.
 */
limit?: number, 
/**
 * `nextCursor` of the previous page.
 */
cursor?: string, };

/**
 * `runs.list`.
 */
export type RunsListResult = { 
/**
 * The runs, newest first.
 */
runs: Array<RunView>, 
/**
 * Cursor of the next page; none on the last page.
 */
nextCursor: string | null, 
/**
 * Number of matching runs, counted up to 100,000.
 */
total: number, };

/**
 * Retries of one run.
 */
export type Runtime = { 
/**
 * Maximum attempts, the first one included.
 */
maxAttempts?: number, 
/**
 * Milliseconds before the second attempt; doubles with every attempt.
 */
retryBackoffMs?: number, };

/**
 * Confinement of commands that a model runs.
 */
export type Sandbox = "required" | "open";

/**
 * `cron.add`, `cron.update`: the saved job.
 */
export type SavedJob = { 
/**
 * Warnings, which do not prevent saving.
 */
warnings: Array<JobWarning>, 
/**
 * The job in the job format, including unknown keys.
 */
job: Job, 
/**
 * Description of the schedule, such as "Weekdays at 07:30".
 */
scheduleText: string, 
/**
 * Time zone of the description; none if the description has no time.
 */
zone: string | null, 
/**
 * Newest final states, oldest first, at most 14.
 */
recent: Array<RunState>, 
/**
 * Active and waiting runs.
 */
liveRunIds: Array<string>, 
/**
 * Open incident; none if the job is healthy.
 */
incident: IncidentView | null, 
/**
 * Whether the predecessor of the job was deleted, so that the job never fires.
 */
isPredecessorMissing: boolean, 
/**
 * Spending since the first of the month, in the local zone.
 */
spentThisMonth: SpentView, 
/**
 * Channels and recipients of the next messages.
 */
routes: MessageRoutes, };

/**
 * The trigger of a job.
 */
export type Schedule = { 
/**
 * Maximum jitter in milliseconds. The offset is stable per job.
 */
jitterMs?: number, } & ({ "kind": "at", 
/**
 * The instant.
 */
atMs: UnixMs, 
/**
 * The zone in which the instant was written; for display only.
 */
tz?: string, } | { "kind": "every", 
/**
 * Milliseconds between slots.
 */
everyMs: number, 
/**
 * Slot zero [default: the creation of the job].
 */
anchorMs: UnixMs, } | { "kind": "cron", 
/**
 * Five or six fields, or an alias such as `@daily`.
 */
expr: string, 
/**
 * IANA zone [default: the local zone at creation].
 */
tz: string, } | { "kind": "event" } & EventTrigger | { "kind": "webhook" } | { "kind": "manual" });

/**
 * A search provider.
 */
export type SearchKind = "searxng" | "brave" | "tavily" | "exa" | "kagi";

/**
 * Web search. The API key is never here, only its place.
 */
export type SearchSection = { 
/**
 * The provider [default: the first with a key in its usual variable].
 */
provider: SearchKind | null, 
/**
 * The address [default: the provider's own].
 */
url: string | null, 
/**
 * The environment variable with the API key [default: the provider's usual variable].
 */
keyEnv: string | null, 
/**
 * The stored secret with the API key.
 */
keySecret: string | null, };

/**
 * `secrets.remove`.
 */
export type SecretRef = { 
/**
 * Name of the secret.
 */
name: string, };

/**
 * `secrets.remove`.
 */
export type SecretRemoved = { 
/**
 * Whether the secret existed.
 */
changed: boolean, 
/**
 * Remaining copies that the person must delete, as a sentence.
 */
manualCleanup: string | null, };

/**
 * `secrets.set`: adds or updates a secret.
 */
export type SecretSetParams = { 
/**
 * Name: 1 to 64 lowercase letters, digits, `_` and `-`.
 */
name: string, 
/**
 * Value, one line.
 */
value: string, 
/**
 * Allowed hosts. Default: unchanged.
 */
hosts?: Array<string>, 
/**
 * Allowed MCP servers. Default: unchanged.
 */
servers?: Array<ExtensionName>, };

/**
 * Storage of a secret.
 */
export type SecretStorage = "keyring" | "file";

/**
 * A stored secret.
 */
export type SecretView = { 
/**
 * Name; the handle is `{{secret:name}}`.
 */
name: string, 
/**
 * Allowed hosts.
 */
hosts: Array<string>, 
/**
 * Allowed MCP servers.
 */
servers: Array<ExtensionName>, 
/**
 * Time of the last change.
 */
setAtMs: number, 
/**
 * Storage of the value.
 */
storedIn: SecretStorage, 
/**
 * Why the value is unavailable, or outside the keyring.
 */
problem: string | null, 
/**
 * Limit of redaction for this value.
 */
warning: string | null, };

/**
 * `secrets.list`.
 */
export type SecretsListResult = { 
/**
 * The secrets, by name.
 */
secrets: Array<SecretView>, 
/**
 * Warning about the storage.
 */
warning: string | null, };

/**
 * How a server is started or reached, and what the server may use.
 */
export type ServerDefinition = { 
/**
 * The way to the server.
 */
transport: ServerTransport, 
/**
 * The protocol [default: mcp].
 */
protocol?: ServerProtocol, 
/**
 * Session mode of a coding agent, such as `default`; that of the agent's settings when absent.
 */
mode?: string, 
/**
 * Time limit of the start in seconds [default: 30].
 */
startTimeoutSeconds?: number, 
/**
 * Time limit of a call without progress in seconds [default: 60, of a coding agent 600].
 */
callTimeoutSeconds?: number, };

/**
 * A model server to add or test.
 */
export type ServerDraft = { 
/**
 * Name of the provider: letters, digits, `-` and `_`.
 */
name: string, 
/**
 * API format: `openai` or `anthropic`.
 */
kind: string, 
/**
 * Base URL.
 */
baseUrl: string, 
/**
 * API key, stored in the keyring when the provider is added.
 */
key?: string, 
/**
 * Environment variable with the key, instead.
 */
keyEnv?: string, };

/**
 * The protocol of a server.
 */
export type ServerProtocol = "mcp" | "acp";

/**
 * The state of a server.
 */
export type ServerState = "off" | "starting" | "ready" | "needsSignIn" | "broken" | "quarantined";

/**
 * The state of a server with its reason.
 */
export type ServerStatus = { 
/**
 * The state.
 */
state: ServerState, 
/**
 * Why the server is in this state, and what to do; none when all is well.
 */
reason?: string, 
/**
 * The last lines of the error output.
 */
stderrTail?: string, 
/**
 * When the server started.
 */
startedAtMs?: UnixMs, };

/**
 * `extensions.install`, `extensions.review`: the tools that wait for a person.
 */
export type ServerToolsPage = { 
/**
 * The page, with the held tools.
 */
page: ConsentPage, 
/**
 * The proposed access of each held tool, by raw name.
 */
proposals: { [key in string]: ToolAccess }, 
/**
 * Listed tools that can never be offered.
 */
refused: Array<RefusedToolView>, 
/**
 * The server's instructions for a model, which no model gets.
 */
instructions: string | null, 
/**
 * Why the installed server did not start, and what to do.
 */
error: string | null, 
/**
 * The packages inside that an update added or removed; none for an installation.
 */
componentChanges?: Array<string>, };

/**
 * The way to a server or a tool.
 */
export type ServerTransport = { "kind": "stdio", 
/**
 * The program; an absolute path once accepted.
 */
command: string, 
/**
 * The arguments.
 */
arguments: Array<string>, 
/**
 * Variables beside the basic ones (`PATH`, `HOME`, `LANG`, …); values may hold secret handles.
 */
environment: { [key in string]: string }, 
/**
 * The working directory; the server's own folder when absent.
 */
folder?: string, 
/**
 * Folders beside the server's own that it may use.
 */
folders: Array<FolderGrant>, 
/**
 * Reachable hosts; no network when empty.
 */
hosts: Array<string>, 
/**
 * Whether the server runs with the person's own rights, outside the sandbox.
 */
isUnconfined: boolean, } | { "kind": "http", 
/**
 * The endpoint.
 */
url: string, 
/**
 * Headers of each request; values may hold secret handles.
 */
headers: { [key in string]: string }, 
/**
 * The client of a sign-in; Rouse registers itself when absent.
 */
oauth?: OAuthClientSettings, } | { "kind": "wasm", 
/**
 * Reachable hosts; no network when empty.
 */
hosts: Array<string>, 
/**
 * Names of secrets for requests to these hosts.
 */
secrets: Array<string>, 
/**
 * Access to the tool's own folder.
 */
files: ToolFileAccess, };

/**
 * `sessions.clear`: deletes the transcript and the taint of a session, but no runs. Refused during a run of the session.
 */
export type SessionRef = { 
/**
 * Key: `main` or `cron:<jobId>`.
 */
key: string, };

/**
 * The session of a job's runs.
 */
export type SessionTarget = "main" | "isolated";

/**
 * A session without messages.
 */
export type SessionView = { 
/**
 * Key: `main` or `cron:<jobId>`.
 */
key: string, 
/**
 * The job; none for the main session.
 */
jobId: string | null, 
/**
 * Name of the job; none for the main session or a deleted job.
 */
jobName: string | null, 
/**
 * Time of the first message.
 */
createdAtMs: number, 
/**
 * Time of the newest message.
 */
updatedAtMs: number, 
/**
 * Number of messages.
 */
messages: number, };

/**
 * `sessions.get`.
 */
export type SessionsGetParams = { 
/**
 * Key: `main` or `cron:<jobId>`.
 */
key: string, 
/**
 * Page size: 1 to 500 messages, default 50.
 */
limit?: number, 
/**
 * `nextCursor` of the previous page.
 */
cursor?: string, };

/**
 * `sessions.get`.
 */
export type SessionsGetResult = { 
/**
 * The session; none before the first message.
 */
session: SessionView | null, 
/**
 * A page of messages, newest last.
 */
messages: Array<MessageView>, 
/**
 * Unanswered chat messages of the main session, oldest first.
 */
open: Array<OpenMessage>, 
/**
 * Cursor of the page before; none at the start of the transcript.
 */
nextCursor: string | null, };

/**
 * `sessions.list`.
 */
export type SessionsListParams = { 
/**
 * Maximum number of sessions: 1 to 500, default 100.
 */
limit?: number, };

/**
 * `sessions.list`.
 */
export type SessionsListResult = { 
/**
 * The sessions, last changed first.
 */
sessions: Array<SessionView>, };

/**
 * `set-heartbeats`.
 */
export type SetHeartbeatsParams = { 
/**
 * Whether the periodic heartbeat is enabled.
 */
enabled: boolean, };

/**
 * `extensions.signIn`.
 */
export type SignInLink = { 
/**
 * The address that the person opens in a browser within ten minutes: https, or http on this computer.
 */
url: string, };

/**
 * The state of a sign-in.
 */
export type SignInState = "signedOut" | "pending" | "signedIn" | "needsSignIn";

/**
 * The state of a sign-in with its times.
 */
export type SignInStatus = { 
/**
 * The state.
 */
state: SignInState, 
/**
 * Why the last sign-in failed or a new one is needed.
 */
reason?: string, 
/**
 * When the person signed in.
 */
signedInAtMs?: UnixMs, 
/**
 * When the access token was last refreshed.
 */
refreshedAtMs?: UnixMs, };

/**
 * `skills.download`: the downloaded file.
 */
export type SkillDownload = { 
/**
 * Path of the zip file.
 */
path: string, 
/**
 * What the moderation of the registry says, as a sentence.
 */
warning?: string, };

/**
 * `skills.download`.
 */
export type SkillDownloadParams = { 
/**
 * Identifier in the registry.
 */
slug: string, 
/**
 * Version. Default: the latest.
 */
version?: string, };

/**
 * A file of a skill.
 */
export type SkillFileView = { 
/**
 * Path in the folder, with slashes.
 */
path: string, 
/**
 * Size in bytes.
 */
bytes: number, };

/**
 * `skills.install`: installs the skill of a page, and trusts exactly its content.
 */
export type SkillInstallParams = { 
/**
 * Path of the page.
 */
path: string, 
/**
 * Hash of the page. Another hash is a conflict.
 */
hash: string, };

/**
 * The page that a person reads before the installation of a skill.
 */
export type SkillPage = { 
/**
 * Path of the folder or the zip archive.
 */
path: string, 
/**
 * Name of the skill.
 */
name: string, 
/**
 * Description.
 */
description: string, 
/**
 * Environment variables and programs that the skill names: `variable TOKEN`, `program jq`.
 */
requires: Array<string>, 
/**
 * The whole `SKILL.md`.
 */
text: string, 
/**
 * All files, by path.
 */
files: Array<SkillFileView>, 
/**
 * Hash of the installed skill with this name, or `unreadable`; none without one.
 */
replaces: string | null, 
/**
 * Whether one of the person's own skills has this name. Rouse then refuses the installation.
 */
isOwn: boolean, 
/**
 * Hash of the installed folder. The trust is bound to this hash.
 */
hash: string, };

/**
 * `skills.distrust` and `skills.remove`.
 */
export type SkillRef = { 
/**
 * Name of the skill.
 */
name: string, };

/**
 * `skills.search`.
 */
export type SkillSearchParams = { 
/**
 * Words of the search.
 */
query: string, };

/**
 * `skills.search`.
 */
export type SkillSearchResult = { 
/**
 * Address of the registry.
 */
registry: string, 
/**
 * The skills.
 */
skills: Array<RegistrySkillView>, };

/**
 * `skills.preview`: the page of a skill. Changes nothing.
 */
export type SkillSourceParams = { 
/**
 * Absolute path of a folder with a `SKILL.md`, or of a zip archive with one skill.
 */
path: string, };

/**
 * The trust of a skill.
 */
export type SkillTrust = "own" | "trusted" | "changed" | "untrusted";

/**
 * `skills.trust`: trusts the skill with this digest.
 */
export type SkillTrustParams = { 
/**
 * Name of the skill.
 */
name: string, 
/**
 * Digest of the reviewed folder.
 */
digest: string, };

/**
 * A job with the skill.
 */
export type SkillUser = { 
/**
 * Id of the job.
 */
jobId: string, 
/**
 * Name of the job.
 */
name: string, };

/**
 * A skill.
 */
export type SkillView = { 
/**
 * Name, equal to the name of the folder.
 */
name: string, 
/**
 * Description; none for an unreadable skill.
 */
description: string | null, 
/**
 * Trust; none for an unusable skill.
 */
trust: SkillTrust | null, 
/**
 * Whether the skill is in the folder of installed skills.
 */
isInstalled: boolean, 
/**
 * Path of the folder.
 */
path: string, 
/**
 * Why the skill is unusable, as a sentence.
 */
problem: string | null, 
/**
 * Instructions, for review.
 */
body: string | null, 
/**
 * Other files of the folder.
 */
files: Array<string>, 
/**
 * Tools of the skill; none for all tools.
 */
tools: Array<string> | null, 
/**
 * Hash of the folder. Trust is bound to this hash.
 */
digest: string | null, 
/**
 * Jobs with this skill.
 */
usedBy: Array<SkillUser>, };

/**
 * `skills.list`.
 */
export type SkillsListResult = { 
/**
 * The skills: own ones first, then by name.
 */
skills: Array<SkillView>, 
/**
 * Folder of own skills.
 */
ownFolder: string, 
/**
 * Folder of installed skills.
 */
installedFolder: string, };

/**
 * `spending.get`: spending of all jobs (including deleted ones), the heartbeat and the chat, in the local zone.
 */
export type SpendingView = { 
/**
 * Since midnight.
 */
today: SpentView, 
/**
 * Since the first of the month.
 */
month: SpentView, 
/**
 * Reset of the daily budgets.
 */
dayEndsAtMs: number, 
/**
 * Daily token budget, if set.
 */
tokensPerDay: number | null, 
/**
 * Daily cost budget in US dollars, if set.
 */
usdPerDay: number | null, };

/**
 * Spending in a period.
 */
export type SpentView = { 
/**
 * Input and output tokens.
 */
tokens: number, 
/**
 * Cost in micro-dollars of all tokens with a known price.
 */
costMicroUsd: number, 
/**
 * Tokens without a known price, included in `tokens`.
 */
unpricedTokens: number, };

/**
 * A started or queued run.
 */
export type StartedRun = { 
/**
 * Id of the run; none if no slot was due.
 */
runId: string | null, };

/**
 * A file that a call returned.
 */
export type StepAttachmentView = { 
/**
 * Name of the file, without folder or address. Untrusted.
 */
name: string, 
/**
 * Media type, by content: an image type or `application/pdf`.
 */
mediaType: string, 
/**
 * Size in bytes.
 */
bytes: number, 
/**
 * Whether the file is kept: false beyond 20 MB of a run.
 */
isKept: boolean, };

/**
 * The kind of a step.
 */
export type StepKind = "modelTurn" | "toolCall" | "note" | "summary";

/**
 * The status of a step.
 */
export type StepStatus = "started" | "finished" | "failed" | "unknown" | "inputRequired";

/**
 * A step of a run's journal.
 */
export type StepView = { 
/**
 * Number of the step in the run, from 1.
 */
seq: number, 
/**
 * Kind of the step.
 */
kind: StepKind, 
/**
 * Name of the model or tool.
 */
name: string, 
/**
 * Status of the step.
 */
status: StepStatus, 
/**
 * The input.
 */
input: unknown, 
/**
 * The output.
 */
output: unknown, 
/**
 * Whether the output is an error.
 */
isError: boolean, 
/**
 * Tokens and cost of a model call.
 */
usage: Usage, 
/**
 * Start of the step.
 */
startedAtMs: number, 
/**
 * Duration on the monotonic clock.
 */
durationMs: number | null, 
/**
 * Decision of the gate; none if no approval was needed.
 */
gate: GateView | null, 
/**
 * The decision as a short text, such as `refused: unknown tool`.
 */
gateText: string | null, 
/**
 * Id of the call, as in the transcript; none for other steps.
 */
callId?: string, 
/**
 * Files that the call returned, by position.
 */
attachments?: Array<StepAttachmentView>, };

/**
 * `system.storage`: size and content of the database.
 */
export type StorageView = { 
/**
 * Used bytes.
 */
usedBytes: number, 
/**
 * Free bytes inside the file.
 */
freeBytes: number, 
/**
 * Number of runs.
 */
runs: number, 
/**
 * Creation time of the oldest run.
 */
oldestRunAtMs: number | null, 
/**
 * Number of messages.
 */
messages: number, };

/**
 * A suggested model for Ollama.
 */
export type SuggestedModelView = { 
/**
 * Name in the Ollama library.
 */
name: string, 
/**
 * Download size in bytes.
 */
bytes: number, 
/**
 * Licence.
 */
licence: string, 
/**
 * Required memory in GB.
 */
memoryGb: number, };

/**
 * The computer.
 */
export type SystemSection = { 
/**
 * Whether the computer stays awake while a run is active.
 */
keepAwake: boolean, };

/**
 * `system.status`.
 */
export type SystemStatus = { 
/**
 * Version of Rouse.
 */
version: string, 
/**
 * Host of the engine.
 */
mode: EngineMode, 
/**
 * Process id of the engine.
 */
pid: number, 
/**
 * Time of the engine.
 */
nowMs: number, 
/**
 * Start of the engine.
 */
startedAtMs: number, 
/**
 * System time zone.
 */
zone: string, 
/**
 * Time zone database in use.
 */
zoneData: ZoneDataStatus, 
/**
 * Data directory.
 */
home: string, 
/**
 * Number of the newest event.
 */
seq: number, 
/**
 * The scheduler.
 */
cron: CronStatus, 
/**
 * The heartbeat.
 */
heartbeat: HeartbeatStatus, 
/**
 * Display name of the active model, such as "llama3.2 · Ollama on this computer"; none without a model.
 */
model: string | null, 
/**
 * Whether the active model has had no request so far.
 */
isModelUntested: boolean, 
/**
 * Models with a failed last request.
 */
failingModels: Array<FailingModel>, 
/**
 * Availability of notifications.
 */
notifications: NotificationStatus, 
/**
 * State of the first-start card.
 */
firstStart: FirstStart, 
/**
 * Error that affects the whole engine, such as a full disk.
 */
problem: string | null, };

/**
 * How calls of an accepted tool are judged. Chosen by the person at installation.
 */
export type ToolAccess = "readsOnly" | "ask" | "alwaysAsk" | "off";

/**
 * A checked version of a built tool.
 */
export type ToolBuild = { 
/**
 * The name of the extension.
 */
name: ExtensionName, 
/**
 * The SHA-256 of the folder, in hexadecimal digits.
 */
hash: string, 
/**
 * The language.
 */
language: ToolLanguage, 
/**
 * The engine that ran the tests.
 */
engine: string, 
/**
 * The version of the engine.
 */
engineVersion: string, 
/**
 * The result of each test, in the order of the manifest.
 */
tests: Array<ToolTestResult>, 
/**
 * The validation errors, as sentences.
 */
errors: Array<string>, 
/**
 * The files of the folder; empty in a list.
 */
files: Array<ToolSourceFile>, 
/**
 * The manifest `tool.toml` as JSON; null if it could not be parsed.
 */
manifest: JsonValue, 
/**
 * The run that made the version; none for a person's own check.
 */
runId?: RunId, 
/**
 * Whether the version comes from a run that had read untrusted input.
 */
isTainted: boolean, 
/**
 * When the version was checked last.
 */
checkedAtMs: UnixMs, 
/**
 * The state of the version.
 */
state: ToolBuildState, };

/**
 * `tools.source`: a version of a built tool with its files.
 */
export type ToolBuildDetail = { 
/**
 * The version.
 */
build: ToolBuild, 
/**
 * What a call can reach, as sentences; none if the manifest could not be parsed.
 */
reach: string | null, 
/**
 * All versions of the tool; the version checked last first.
 */
versions: Array<ToolBuildSummary>, 
/**
 * Folder of the version, for an installation by a person; none for a version that a person checked.
 */
folder: string | null, };

/**
 * A version of a built tool by its name.
 */
export type ToolBuildParams = { 
/**
 * Name of the tool.
 */
name: string, 
/**
 * SHA-256 of the folder, or its first digits. Default: the version checked last.
 */
hash?: string, };

/**
 * The state of a version of a built tool.
 */
export type ToolBuildState = "failed" | "passed" | "accepted" | "replaced";

/**
 * A version of a built tool, without files.
 */
export type ToolBuildSummary = { 
/**
 * Name of the tool.
 */
name: string, 
/**
 * SHA-256 of the folder, in hexadecimal digits.
 */
hash: string, 
/**
 * Description by the manifest; none if the manifest could not be parsed.
 */
description: string | null, 
/**
 * Version by the manifest.
 */
version: string | null, 
/**
 * Language.
 */
language: ToolLanguage, 
/**
 * State.
 */
state: ToolBuildState, 
/**
 * Number of tests.
 */
tests: number, 
/**
 * Number of passed tests.
 */
passedTests: number, 
/**
 * Number of validation errors.
 */
errors: number, 
/**
 * Whether the version comes from a run that had read untrusted input.
 */
isTainted: boolean, 
/**
 * Run that made the version; none for a person's own check.
 */
runId: string | null, 
/**
 * Time of the last check.
 */
checkedAtMs: number, };

/**
 * `tools.builds`.
 */
export type ToolBuildsResult = { 
/**
 * The newest version of each built tool, and its accepted version; the version checked last first.
 */
builds: Array<ToolBuildSummary>, };

/**
 * One tool call without a model.
 */
export type ToolCall = { 
/**
 * The tool's name.
 */
tool: string, 
/**
 * The arguments, by the tool's schema.
 */
arguments: { [key in string]: JsonValue }, 
/**
 * Which results are worth a notification.
 */
notifyWhen?: NotifyWhen, };

/**
 * A tool call that a model requests.
 */
export type ToolCallRequest = { 
/**
 * The provider's id of the call.
 */
id: string, 
/**
 * The tool's name.
 */
tool: string, 
/**
 * The arguments; a text when invalid as JSON.
 */
arguments: unknown, };

/**
 * Why a tool is held.
 */
export type ToolChange = "new" | "changed";

/**
 * A tool as its server declares it.
 */
export type ToolDefinition = { 
/**
 * The raw name, which calls use.
 */
name: string, 
/**
 * A short label for people.
 */
title?: string, 
/**
 * The description for the model.
 */
description: string, 
/**
 * JSON Schema of the arguments, as the server sent it.
 */
inputSchema: JsonValue, 
/**
 * JSON Schema of the structured result.
 */
outputSchema?: JsonValue, 
/**
 * The server's claims about side effects.
 */
hints: ToolHints, };

/**
 * The place of execution.
 */
export type ToolDomain = "inProcess" | "container";

/**
 * Access of a tool to its own folder.
 */
export type ToolFileAccess = "none" | "read" | "write";

/**
 * A server's claims about the side effects of a tool. A missing claim means the worst.
 */
export type ToolHints = { 
/**
 * No side effects.
 */
readOnly?: boolean, 
/**
 * May delete or overwrite.
 */
destructive?: boolean, 
/**
 * Repeating the call has no further effect.
 */
idempotent?: boolean, 
/**
 * Reaches beyond the server's own data.
 */
openWorld?: boolean, };

/**
 * The language of a built tool.
 */
export type ToolLanguage = "javascript" | "rust";

/**
 * The server of a tool, and the accepted definition.
 */
export type ToolOrigin = { 
/**
 * The extension.
 */
extension: ExtensionName, 
/**
 * The raw name of the tool at its server.
 */
rawName: string, 
/**
 * The name and version that the server reported.
 */
version?: string, 
/**
 * The hash of the accepted definition.
 */
hash: string, };

/**
 * A file of a built tool.
 */
export type ToolSourceFile = { 
/**
 * The path in the folder, with `/`.
 */
path: string, 
/**
 * The content; none for a binary file.
 */
text?: string, 
/**
 * The size.
 */
bytes: number, };

/**
 * The result of a test of a tool.
 */
export type ToolTestResult = { 
/**
 * The name of the test.
 */
name: string, 
/**
 * Whether the test passed.
 */
passed: boolean, 
/**
 * Why the test failed; none when it passed.
 */
message?: string, 
/**
 * The first lines of the tool's log.
 */
log?: Array<string>, };

/**
 * A tool.
 */
export type ToolView = { 
/**
 * Name.
 */
name: string, 
/**
 * Label, such as "Read a file"; none for a tool without a label.
 */
label: string | null, 
/**
 * Description for the model.
 */
description: string, 
/**
 * JSON Schema of the arguments.
 */
parameters: Record<string, unknown>, 
/**
 * Default approval rule of calls, in the runs of the job if one is given.
 */
approval: ApprovalRule, 
/**
 * Execution domain.
 */
domain: ToolDomain, 
/**
 * Rate limit per minute over all runs; none without a limit.
 */
callsPerMinute: number | null, 
/**
 * Rate limit per hour over all runs; none without a limit.
 */
callsPerHour: number | null, 
/**
 * Whether calls have no side effects.
 */
readOnly: boolean, 
/**
 * Whether calls may delete or overwrite data.
 */
destructive: boolean, 
/**
 * Whether a repeated call has no further effect.
 */
idempotent: boolean, 
/**
 * Whether calls reach other machines.
 */
openWorld: boolean, 
/**
 * Whether results may hold untrusted input.
 */
readsUntrusted: boolean, 
/**
 * Whether only attended turns may call the tool.
 */
attendedOnly: boolean, 
/**
 * Whether `tools.try` accepts the tool.
 */
canBeTried: boolean, 
/**
 * Why models cannot use the tool on this computer, and the fix; none if available.
 */
unavailableReason: string | null, 
/**
 * The MCP server of the tool and the accepted definition; none for a built-in tool.
 */
origin: ToolOrigin | null, };

/**
 * `tools.build`: a run that builds a tool.
 */
export type ToolsBuildParams = { 
/**
 * What the tool does, in the person's words.
 */
task: string, 
/**
 * Name of a built tool to change. Default: a new tool.
 */
tool?: string, 
/**
 * Model, as `provider/model`. Default: the active model.
 */
model?: string, };

/**
 * `tools.build`.
 */
export type ToolsBuildResult = { 
/**
 * Job of the run. Deleted after a run that succeeded.
 */
jobId: string, 
/**
 * Run.
 */
runId: string, };

/**
 * `tools.catalog`.
 */
export type ToolsCatalogResult = { 
/**
 * The tools: built-in tools, then the accepted tools of MCP servers.
 */
tools: Array<ToolView>, 
/**
 * Tools of MCP servers that are not offered because of an invalid name or schema.
 */
refused: Array<RefusedToolView>, };

/**
 * `tools.check`.
 */
export type ToolsCheckParams = { 
/**
 * Absolute path of the tool's folder.
 */
folder: string, };

/**
 * `tools.effective`: the tools of a stored or unsaved job.
 */
export type ToolsEffectiveParams = { 
/**
 * Id of the stored job.
 */
id?: string, 
/**
 * The unsaved job. Grants come from the stored job with the same id.
 */
job?: JobDraft, };

/**
 * `tools.effective`.
 */
export type ToolsEffectiveResult = { 
/**
 * Tools of the model, or the one tool of a job without a model.
 */
tools: Array<ToolView>, 
/**
 * Names of the tools that requests leave out until the model finds them with `tool_search`.
 */
searchable?: Array<string>, 
/**
 * Granted tools withheld from the model, because every call would be refused.
 */
withheld: Array<WithheldTool>, 
/**
 * Why the job is limited to read-only tools, as a sentence.
 */
ceiling: string | null, 
/**
 * Why no run could start, such as an unusable skill.
 */
problem: string | null, };

/**
 * Limits of tools and runs.
 */
export type ToolsSection = { 
/**
 * The largest file of `read_file`, in bytes.
 */
readFileMaxBytes: number, 
/**
 * Maximum model calls with tools per run, for jobs without `maxSteps`.
 */
maxSteps: number, 
/**
 * The time limit of commands without their own, in milliseconds.
 */
runCommandTimeoutMs: number, 
/**
 * Hosts of the private network that `http` may reach.
 */
allowPrivateHosts: Array<string>, };

/**
 * `tools.try`: a trial call by the person, through the same gate as every call.
 */
export type ToolsTryParams = { 
/**
 * Name of the tool.
 */
tool: string, 
/**
 * Arguments. Default: none.
 */
arguments?: Record<string, unknown>, };

/**
 * `tools.try`.
 */
export type ToolsTryResult = { 
/**
 * Run of the call, which parks if the call needs approval.
 */
runId: string, };

/**
 * An instant of wall time: milliseconds since 1970-01-01T00:00:00Z. The unit of every `*_at` in Rouse.
 */
export type UnixMs = number;

/**
 * An unknown key of the settings file.
 */
export type UnknownKey = { 
/**
 * The key, dotted.
 */
key: string, 
/**
 * Line in the file.
 */
line: number | null, 
/**
 * Most similar known key.
 */
nearest: string | null, 
/**
 * Message, without a final period.
 */
text: string, };

/**
 * A setting that refers to a missing folder, provider, key or program.
 */
export type UnmetSetting = { 
/**
 * The key, dotted.
 */
key: string, 
/**
 * Line in the file; none for a value from an environment variable.
 */
line: number | null, 
/**
 * Message, without a final period.
 */
text: string, };

/**
 * An untrusted HEARTBEAT.md: the heartbeat reads it as information, not as instructions.
 */
export type UntrustedList = { 
/**
 * Possible author of the change, as a sentence.
 */
changedBy: string, 
/**
 * Run of the change; none if unknown.
 */
runId: string | null, 
/**
 * Current text of the file.
 */
text: string, 
/**
 * Digest of the text, for `heartbeat.trust`.
 */
digest: string, };

/**
 * Tokens and cost of a run or a model call.
 */
export type Usage = { 
/**
 * Input tokens, with cached tokens.
 */
inputTokens: number, 
/**
 * Input tokens read from the provider's cache.
 */
cachedInputTokens: number, 
/**
 * Output tokens.
 */
outputTokens: number, 
/**
 * The cost in micro-dollars; none when unknown, never zero for unknown.
 */
costMicroUsd: number | null, };

/**
 * The files of a package, compared with the accepted files.
 */
export type VerifiedFiles = { 
/**
 * Name of the extension.
 */
name: ExtensionName, 
/**
 * Number of accepted files.
 */
files: number, 
/**
 * The files that differ.
 */
changes: Array<FileChange>, 
/**
 * Why the files cannot be compared.
 */
problem: string | null, };

/**
 * The reason for a pause within one attempt.
 */
export type WaitsFor = "model" | "rateLimit";

/**
 * When the main session gets a turn after a system event.
 */
export type WakeMode = "now" | "next-heartbeat";

/**
 * `wake`.
 */
export type WakeParams = { 
/**
 * The system event for the main session.
 */
text: string, 
/**
 * Default: `now`.
 */
mode?: WakeMode, 
/**
 * Reason for the heartbeat status and the run, at most 200 characters. Default: `wake`.
 */
reason?: string, 
/**
 * Window in milliseconds in which requests coalesce: 0 to 60,000, default 250.
 */
coalesceMs?: number, };

/**
 * `wake`.
 */
export type WakeResult = { 
/**
 * Queued system events of the main session.
 */
queued: number, 
/**
 * Next step of the heartbeat, as a sentence.
 */
outcome: string, };

/**
 * `cron.webhook`.
 */
export type WebhookParams = { 
/**
 * The job.
 */
id: string, 
/**
 * Replaces the secret, or with `sign` the signing key. The old one becomes invalid at once.
 */
rotate?: boolean, 
/**
 * Answers with the signing key instead of the secret, and creates the key if missing.
 */
sign?: boolean, };

/**
 * `cron.webhook`: the webhook of a job.
 */
export type WebhookView = { 
/**
 * URL for POST requests, with the secret as `Authorization: Bearer …` or `X-Rouse-Secret`, or with a signature.
 */
url: string, 
/**
 * The secret or the signing key (`whsec_…`), only in the response that created it.
 */
secret: string | null, 
/**
 * Creation time of the secret or the signing key.
 */
madeAtMs: number, 
/**
 * Name of the stored secret with the signing key, with `sign`.
 */
signingSecret: string | null, 
/**
 * Why the signing key is unavailable, or outside the keyring.
 */
problem: string | null, };

/**
 * A granted tool that is withheld from the model.
 */
export type WithheldTool = { 
/**
 * Name of the tool.
 */
name: string, 
/**
 * Why every call would be refused, and the fix.
 */
reason: string, };

/**
 * The default channels as written in the settings: `NAME` or `NAME:RECIPIENT`; none where not written.
 */
export type WrittenDefaults = { 
/**
 * Channels of reports.
 */
deliverTo: Array<string> | null, 
/**
 * Channels of failures.
 */
deliverFailuresTo: Array<string> | null, 
/**
 * Channels of requests for an approval or input.
 */
deliverApprovalsTo: Array<string> | null, };

/**
 * A schedule as a client sends it. The engine sets zone and anchor, and converts the local time `at`.
 */
export type WrittenSchedule = Schedule | { kind: "at"; at: string; tz?: string; jitterMs?: number } | { kind: "every"; everyMs: number; anchorMs?: number; jitterMs?: number } | { kind: "cron"; expr: string; tz?: string; jitterMs?: number };

/**
 * The time zone database in use.
 */
export type ZoneDataStatus = { 
/**
 * IANA version, such as `2026a`.
 */
version: string, 
/**
 * Folder of the system database; none for the built-in one.
 */
folder: string | null, };

export const runStateLabels: Record<RunState, string> = {
  queued: "Queued",
  running: "Running",
  awaitingApproval: "Needs you",
  succeeded: "Succeeded",
  nothingToReport: "Nothing to report",
  failed: "Failed",
  timedOut: "Timed out",
  cancelled: "Cancelled",
  skipped: "Skipped",
  missed: "Missed",
  interrupted: "Interrupted",
};

export const runTriggerLabels: Record<RunTrigger, string> = {
  schedule: "Schedule",
  catchUp: "Catch-up",
  event: "Event",
  webhook: "Webhook",
  manual: "Manual",
  chat: "Chat",
  heartbeat: "Heartbeat",
};

export const waitLabels: Record<WaitsFor, string> = {
  model: "Waiting for the model",
  rateLimit: "Waiting for a rate limit",
};

/** Every method of the gateway with its parameters and its result. */
export type Methods = {
  "wake": { params: WakeParams; result: WakeResult };
  "heartbeat.status": { params: EmptyObject; result: HeartbeatStatus };
  "heartbeat.trust": { params: HeartbeatTrustParams; result: HeartbeatStatus };
  "set-heartbeats": { params: SetHeartbeatsParams; result: HeartbeatStatus };
  "cron.list": { params: CronListParams; result: CronListResult };
  "cron.get": { params: JobRef; result: JobView };
  "cron.add": { params: CronAddParams; result: SavedJob };
  "cron.update": { params: CronUpdateParams; result: SavedJob };
  "cron.check": { params: CronCheckParams; result: CronCheckResult };
  "cron.remove": { params: CronRemoveParams; result: CronRemoveResult };
  "cron.run": { params: CronRunParams; result: StartedRun };
  "cron.runs": { params: CronRunsParams; result: CronRunsResult };
  "cron.status": { params: EmptyObject; result: CronStatus };
  "cron.preview": { params: CronPreviewParams; result: CronPreviewResult };
  "cron.estimate": { params: CronEstimateParams; result: CronEstimateResult };
  "cron.webhook": { params: WebhookParams; result: WebhookView };
  "cron.tryCondition": { params: CronTryConditionParams; result: CronTryConditionResult };
  "cron.pause": { params: CronPauseParams; result: CronStatus };
  "cron.resume": { params: EmptyObject; result: CronStatus };
  "cron.export": { params: CronExportParams; result: CronExportResult };
  "cron.ledger": { params: CronLedgerParams; result: CronLedgerResult };
  "cron.import": { params: CronImportParams; result: CronImportResult };
  "runs.list": { params: RunsListParams; result: RunsListResult };
  "runs.get": { params: RunRef; result: RunDetail };
  "runs.attachment": { params: RunAttachmentParams; result: RunAttachment };
  "runs.cancel": { params: RunRef; result: ChangeResult };
  "runs.seen": { params: RunRef; result: ChangeResult };
  "runs.await": { params: RunAwaitParams; result: EmptyObject };
  "runs.retry": { params: RunRef; result: StartedRun };
  "approvals.list": { params: ApprovalsListParams; result: ApprovalsListResult };
  "approvals.get": { params: ApprovalRef; result: ApprovalView };
  "approvals.decide": { params: ApprovalsDecideParams; result: ApprovalsDecideResult };
  "grants.list": { params: GrantsListParams; result: GrantsListResult };
  "grants.revoke": { params: GrantRef; result: ChangeResult };
  "deliveries.get": { params: DeliveryRef; result: DeliveryView };
  "deliveries.test": { params: EmptyObject; result: DeliveryView };
  "deliveries.answer": { params: NotificationReport; result: ChangeResult };
  "channels.list": { params: EmptyObject; result: ChannelsListResult };
  "channels.check": { params: EmptyObject; result: ChannelsListResult };
  "channels.test": { params: ChannelsTestParams; result: DeliveryView };
  "channels.pair": { params: ChannelRef; result: PairingView };
  "channels.pairing": { params: ChannelPairingParams; result: ChannelPairingResult };
  "channels.confirmPairing": { params: ConfirmPairingParams; result: PairingView };
  "channels.unpair": { params: ChannelUnpairParams; result: ChangeResult };
  "chat.send": { params: ChatSendParams; result: ChatSendResult };
  "chat.abort": { params: ChatAbortParams; result: ChangeResult };
  "sessions.list": { params: SessionsListParams; result: SessionsListResult };
  "sessions.get": { params: SessionsGetParams; result: SessionsGetResult };
  "sessions.clear": { params: SessionRef; result: ChangeResult };
  "tools.catalog": { params: EmptyObject; result: ToolsCatalogResult };
  "tools.effective": { params: ToolsEffectiveParams; result: ToolsEffectiveResult };
  "tools.try": { params: ToolsTryParams; result: ToolsTryResult };
  "tools.build": { params: ToolsBuildParams; result: ToolsBuildResult };
  "tools.builds": { params: EmptyObject; result: ToolBuildsResult };
  "tools.source": { params: ToolBuildParams; result: ToolBuildDetail };
  "tools.check": { params: ToolsCheckParams; result: ToolBuild };
  "tools.removeBuilds": { params: BuiltToolRef; result: ChangeResult };
  "skills.list": { params: EmptyObject; result: SkillsListResult };
  "skills.trust": { params: SkillTrustParams; result: SkillView };
  "skills.distrust": { params: SkillRef; result: SkillView };
  "skills.preview": { params: SkillSourceParams; result: SkillPage };
  "skills.install": { params: SkillInstallParams; result: SkillView };
  "skills.remove": { params: SkillRef; result: ChangeResult };
  "skills.search": { params: SkillSearchParams; result: SkillSearchResult };
  "skills.download": { params: SkillDownloadParams; result: SkillDownload };
  "providers.list": { params: ProvidersListParams; result: ProvidersListResult };
  "models.providers": { params: EmptyObject; result: ModelsProvidersResult };
  "models.list": { params: ModelsListParams; result: ModelsListResult };
  "models.add": { params: ModelsAddParams; result: ProvidersListResult };
  "models.test": { params: ModelsTestParams; result: ModelTestView };
  "models.pull": { params: ModelsPullParams; result: PullView };
  "models.pullStatus": { params: EmptyObject; result: ModelsPullStatusResult };
  "models.cancelPull": { params: EmptyObject; result: ChangeResult };
  "secrets.list": { params: EmptyObject; result: SecretsListResult };
  "secrets.set": { params: SecretSetParams; result: SecretView };
  "secrets.remove": { params: SecretRef; result: SecretRemoved };
  "extensions.list": { params: EmptyObject; result: ExtensionsListResult };
  "agents.presets": { params: EmptyObject; result: AgentPresetsResult };
  "extensions.get": { params: ExtensionRef; result: ExtensionDetail };
  "extensions.preview": { params: ExtensionDraft; result: ConsentPage };
  "extensions.install": { params: ExtensionInstallParams; result: ServerToolsPage };
  "extensions.review": { params: ExtensionRef; result: ServerToolsPage };
  "extensions.accept": { params: ExtensionAcceptParams; result: ExtensionDetail };
  "extensions.setAccess": { params: ExtensionAccessParams; result: ChangeResult };
  "extensions.setEnabled": { params: ExtensionEnabledParams; result: ChangeResult };
  "extensions.remove": { params: ExtensionRef; result: ExtensionRemoved };
  "extensions.restart": { params: ExtensionRef; result: ChangeResult };
  "extensions.signIn": { params: ExtensionRef; result: SignInLink };
  "extensions.awaitSignIn": { params: ExtensionRef; result: SignInStatus };
  "extensions.cancelSignIn": { params: ExtensionRef; result: ChangeResult };
  "extensions.signOut": { params: ExtensionRef; result: ChangeResult };
  "extensions.installStatus": { params: ExtensionRef; result: InstallStatus };
  "extensions.cancelInstall": { params: ExtensionRef; result: ChangeResult };
  "extensions.verify": { params: ExtensionsVerifyParams; result: ExtensionsVerifyResult };
  "extensions.search": { params: RegistrySearchParams; result: RegistrySearchResult };
  "extensions.registryEntry": { params: RegistryEntryParams; result: RegistryServerView };
  "mcpAccess.list": { params: EmptyObject; result: McpAccessListResult };
  "mcpAccess.create": { params: McpAccessCreateParams; result: McpTokenCreated };
  "mcpAccess.revoke": { params: McpTokenRef; result: ChangeResult };
  "devices.list": { params: EmptyObject; result: DevicesListResult };
  "devices.pair": { params: DevicesPairParams; result: DevicePairing };
  "devices.revoke": { params: DeviceRef; result: ChangeResult };
  "spending.get": { params: EmptyObject; result: SpendingView };
  "hooks.list": { params: EmptyObject; result: HooksListResult };
  "config.get": { params: EmptyObject; result: ConfigView };
  "config.patch": { params: ConfigPatchParams; result: ConfigView };
  "backup.list": { params: EmptyObject; result: BackupsView };
  "backup.create": { params: EmptyObject; result: BackupView };
  "system.status": { params: EmptyObject; result: SystemStatus };
  "system.storage": { params: EmptyObject; result: StorageView };
  "system.dismissFirstStart": { params: EmptyObject; result: ChangeResult };
};

/** The scope that each method needs. */
export const methodScopes: Record<keyof Methods, MethodScope> = {
  "wake": "write",
  "heartbeat.status": "read",
  "heartbeat.trust": "write",
  "set-heartbeats": "write",
  "cron.list": "read",
  "cron.get": "read",
  "cron.add": "write",
  "cron.update": "write",
  "cron.check": "read",
  "cron.remove": "write",
  "cron.run": "write",
  "cron.runs": "read",
  "cron.status": "read",
  "cron.preview": "read",
  "cron.estimate": "read",
  "cron.webhook": "admin",
  "cron.tryCondition": "read",
  "cron.pause": "write",
  "cron.resume": "write",
  "cron.export": "read",
  "cron.ledger": "read",
  "cron.import": "write",
  "runs.list": "read",
  "runs.get": "read",
  "runs.attachment": "read",
  "runs.cancel": "write",
  "runs.seen": "write",
  "runs.await": "read",
  "runs.retry": "write",
  "approvals.list": "read",
  "approvals.get": "read",
  "approvals.decide": "approve",
  "grants.list": "read",
  "grants.revoke": "approve",
  "deliveries.get": "read",
  "deliveries.test": "write",
  "deliveries.answer": "admin",
  "channels.list": "read",
  "channels.check": "write",
  "channels.test": "write",
  "channels.pair": "admin",
  "channels.pairing": "admin",
  "channels.confirmPairing": "admin",
  "channels.unpair": "admin",
  "chat.send": "write",
  "chat.abort": "write",
  "sessions.list": "read",
  "sessions.get": "read",
  "sessions.clear": "write",
  "tools.catalog": "read",
  "tools.effective": "read",
  "tools.try": "write",
  "tools.build": "write",
  "tools.builds": "read",
  "tools.source": "read",
  "tools.check": "admin",
  "tools.removeBuilds": "admin",
  "skills.list": "read",
  "skills.trust": "admin",
  "skills.distrust": "admin",
  "skills.preview": "admin",
  "skills.install": "admin",
  "skills.remove": "admin",
  "skills.search": "admin",
  "skills.download": "admin",
  "providers.list": "read",
  "models.providers": "read",
  "models.list": "admin",
  "models.add": "admin",
  "models.test": "admin",
  "models.pull": "admin",
  "models.pullStatus": "read",
  "models.cancelPull": "admin",
  "secrets.list": "read",
  "secrets.set": "admin",
  "secrets.remove": "admin",
  "extensions.list": "read",
  "agents.presets": "read",
  "extensions.get": "read",
  "extensions.preview": "admin",
  "extensions.install": "admin",
  "extensions.review": "admin",
  "extensions.accept": "admin",
  "extensions.setAccess": "admin",
  "extensions.setEnabled": "admin",
  "extensions.remove": "admin",
  "extensions.restart": "admin",
  "extensions.signIn": "admin",
  "extensions.awaitSignIn": "admin",
  "extensions.cancelSignIn": "admin",
  "extensions.signOut": "admin",
  "extensions.installStatus": "read",
  "extensions.cancelInstall": "admin",
  "extensions.verify": "read",
  "extensions.search": "admin",
  "extensions.registryEntry": "admin",
  "mcpAccess.list": "admin",
  "mcpAccess.create": "admin",
  "mcpAccess.revoke": "admin",
  "devices.list": "admin",
  "devices.pair": "admin",
  "devices.revoke": "admin",
  "spending.get": "read",
  "hooks.list": "read",
  "config.get": "read",
  "config.patch": "admin",
  "backup.list": "read",
  "backup.create": "write",
  "system.status": "read",
  "system.storage": "read",
  "system.dismissFirstStart": "write",
};
