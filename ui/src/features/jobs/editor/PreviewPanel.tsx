/* Preview beside the form: sentence, next slots, channels, cost, permissions; all computed by the engine. */

import { Link } from "@tanstack/react-router";

import { Button } from "@/components/Button";
import { cx } from "@/components/cx";
import { useEngineNow } from "@/components/engineLost";
import { InlineCode } from "@/components/InlineCode";
import { VisibleText } from "@/components/VisibleText";
import { SkeletonBar } from "@/components/Placeholders";
import { Time } from "@/components/Time";
import { useEstimate, useStatus, useTools, useToolsOfDraft } from "@/data/queries";
import { authorText, creatingAgent } from "@/domain/authorship";
import { skipLabel } from "@/domain/skipReason";
import { approverOf, approvalNeed, rightsOf } from "@/domain/tools";
import { payloadSummary } from "@/domain/labels";
import { spendingLabel } from "@/format/amount";
import { isEqualJson } from "@/format/json";
import { withFullStop } from "@/format/text";
import { absolute, clock24h, otherZoneName, relative, zoneName } from "@/format/time";
import { showUnambiguous } from "@/format/visible";
import { offsetOf, wallToUtc } from "@/format/wall";
import type { CronPreviewResult, GrantOffers, Job, JobDraft, PreviewSlot, SpentView, ToolView } from "@/platform";

import { hasSlots, jobDraftFrom, type JobForm, scheduleFrom } from "@/features/jobs/form/jobForm";
import styles from "./PreviewPanel.module.css";
import { useDebounced } from "./useDebounced";

const debounceMs = 300;

interface Props {
  values: JobForm;
  /** Draft to save. */
  draft: JobDraft;
  preview: CronPreviewResult | undefined;
  /** Reason for a missing preview. */
  problem: string | undefined;
  /** Outcome of an expired one-time job. */
  expiredText?: string;
  /** Stored job. */
  job?: Job;
  /** Spending of this month. */
  spent?: SpentView;
  /** Hosts and folders that the message mentions and the job lacks. */
  offers: GrantOffers;
  onAllow: () => void;
}

export function PreviewPanel({ values, draft, preview, problem, expiredText, job, spent, offers, onAllow }: Props) {
  return (
    <aside className={styles.panel} aria-label="Job preview">
      <p className={styles.sentence} role="status">
        {expiredText ?? scheduleSentence(values, preview, problem)}
      </p>
      {expiredText === undefined && hasSlots(values.when) && (
        <div className={styles.part}>
          <h3 className={styles.head}>{values.when === "at" ? "Next run" : "Next runs"}</h3>
          <NextSlots preview={preview} problem={problem} />
        </div>
      )}
      {preview && <DeliveryPart values={values} preview={preview} />}
      <AccessPart values={values} offers={offers} onAllow={onAllow} />
      {values.what === "agentTurn" && values.agent !== "" && (
        <div className={styles.part}>
          <h3 className={styles.head}>Coding agent</h3>
          <p>
            <code>{values.agent}</code>, in{" "}
            {values.cwd.trim() === "" ? (
              "the workspace"
            ) : (
              <code>
                <VisibleText text={showUnambiguous(values.cwd.trim())} />
              </code>
            )}
          </p>
        </div>
      )}
      <div className={styles.part}>
        <h3 className={styles.head}>Cost</h3>
        <Cost values={values} jobId={job?.id} spent={spent} />
      </div>
      <div className={styles.part}>
        <h3 className={styles.head}>Can do on its own</h3>
        <PermittedCalls values={values} draft={draft} />
      </div>
      {job && <CreatedBy job={job} />}
    </aside>
  );
}

/** Channels and recipients of the next messages. */
function DeliveryPart({ values, preview }: { values: JobForm; preview: CronPreviewResult }) {
  const { reports, failures, approvals } = preview.routes;
  const hasReports = values.what !== "agentTurn" || values.deliver;
  const hasOtherApprovals = values.what !== "systemEvent" && !isEqualJson(approvals, hasReports ? reports : failures);
  return (
    <div className={cx(styles.part, styles.routes)}>
      <h3 className={styles.head}>Delivered to</h3>
      {hasReports && isEqualJson(reports, failures) ? (
        <p>Reports and failures: {reports.join(", ")}</p>
      ) : (
        <>
          <p>Reports: {hasReports ? reports.join(", ") : "not delivered"}</p>
          <p>Failures: {failures.join(", ")}</p>
        </>
      )}
      {hasOtherApprovals && <p>Approval requests: {approvals.join(", ")}</p>}
      {preview.routeProblem !== null && (
        <p className={styles.note}>
          <InlineCode text={preview.routeProblem} />
        </p>
      )}
    </div>
  );
}

/** Granted and mentioned hosts and folders. */
function AccessPart({ values, offers: { hosts, folders }, onAllow }: Pick<Props, "values" | "offers" | "onAllow">) {
  const granted = [values.hosts, values.folders]
    .flatMap((lines) => lines.split("\n"))
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const named = [...hosts, ...folders];
  if (granted.length + named.length === 0) return null;
  const meaning = [
    hosts.length > 0 && "Commands and requests can then reach only these hosts.",
    folders.length > 0 && "The job can then read these folders.",
  ];
  return (
    <div className={styles.part}>
      <h3 className={styles.head}>Access</h3>
      {granted.length > 0 && (
        <p>
          Granted: <VisibleText text={showUnambiguous(granted.join(", "))} />
        </p>
      )}
      {named.length > 0 && (
        <>
          <p>
            This job mentions <VisibleText text={showUnambiguous(named.join(", "))} />. Allow access?
          </p>
          <p className={styles.note}>{meaning.filter((part) => part !== false).join(" ")}</p>
          <Button onPress={onAllow}>Allow</Button>
        </>
      )}
    </div>
  );
}

/** Creating agent or program, with a link to the run. */
function CreatedBy({ job }: { job: Job }) {
  const maker = creatingAgent(job);
  if (!maker) return null;
  return (
    <div className={styles.part}>
      <h3 className={styles.head}>Created by</h3>
      <p className={styles.author}>
        <VisibleText text={maker.client === undefined ? "An agent" : authorText(maker)} />,{" "}
        <Time at={job.createdAtMs} as="within" />.{" "}
        {maker.runId !== undefined && (
          <Link to="/runs/$runId" params={{ runId: maker.runId }} className={styles.link}>
            View run
          </Link>
        )}
      </p>
    </div>
  );
}

export function scheduleSentence(
  values: JobForm,
  preview: CronPreviewResult | undefined,
  problem: string | undefined,
): string {
  const what = payloadSummary(jobDraftFrom(values).payload);
  if (values.when === "manual") return what === "" ? "Runs manually." : `Runs manually: ${what}`;
  if (problem !== undefined || !preview) return problem === undefined ? "…" : "Not scheduled yet.";
  const foreign = values.when === "every" || !hasSlots(values.when) ? undefined : otherZoneName(values.zone);
  const when = foreign === undefined ? preview.text : `${preview.text}, ${foreign} time`;
  return what === "" || what === "Calls " ? withFullStop(when) : `${when}: ${what}`;
}

function NextSlots({ preview, problem }: Pick<Props, "preview" | "problem">) {
  if (problem !== undefined) return <p className={styles.quiet}>{problem}</p>;
  if (!preview) return <SkeletonBar width="80%" />;
  if (preview.next.length === 0) return <p className={styles.quiet}>No further runs.</p>;
  return (
    <>
      <ol className={styles.next}>
        {preview.next.map((slot) => (
          <SlotRow key={slot.atMs} slot={slot} localZone={preview.localZone} />
        ))}
      </ol>
      {preview.notes.map((note) => (
        <p key={note} className={styles.note}>
          {note}
        </p>
      ))}
    </>
  );
}

const day: Intl.DateTimeFormatOptions = { weekday: "short", day: "numeric", month: "short", ...clock24h };

/** Slot with times written by the engine; the browser's zone data may differ. */
function SlotRow({ slot, localZone }: { slot: PreviewSlot; localZone: string }) {
  const now = useEngineNow(30_000);
  const cron = useStatus().data?.cron;
  const written = (time: string) =>
    new Intl.DateTimeFormat(undefined, {
      ...day,
      timeZone: "UTC",
      ...(needsSeconds(slot) && { second: "2-digit" }),
    }).format(wallToUtc(time));
  const shown = wallToUtc(slot.jobTime);
  return (
    <li className={styles.slot}>
      <time dateTime={slot.jobTime} title={`${absolute(shown, "UTC")}${offsetOf(slot.jobTime)}`}>
        {written(slot.jobTime)}
      </time>
      <span className={styles.quiet}>
        {skipLabel(cron, slot.atMs) ?? relative(shown, now + shown - slot.atMs, "UTC")}
      </span>
      {slot.localTime !== slot.jobTime && (
        <span className={styles.local}>
          {written(slot.localTime)} in {zoneName(localZone)}
        </span>
      )}
      {slot.note !== null && <span className={styles.note}>{slot.note}</span>}
    </li>
  );
}

function needsSeconds({ atMs }: PreviewSlot): boolean {
  return atMs % 60_000 >= 1_000;
}

function Cost({ values, jobId, spent }: { values: JobForm; jobId: string | undefined; spent: SpentView | undefined }) {
  const { data: status } = useStatus();
  if (values.what === "toolCall") return <p>No model, no cost.</p>;
  if (values.what === "systemEvent") {
    return (
      <p>
        {status?.model === null
          ? "No model, no cost."
          : "The reminder is free. The turn that handles it depends on the model."}
      </p>
    );
  }
  const model = values.model.trim() || status?.model;
  return (
    <>
      {values.agent !== "" ? (
        <p>Depends on the coding agent and your plan there.</p>
      ) : model === null ? (
        <p>
          Depends on the model. Runs fail until you connect one.{" "}
          <Link to="/settings" hash="model" className={styles.link}>
            Connect a model
          </Link>
        </p>
      ) : (
        <p>Depends on the model{model ? ` (${model})` : ""}.</p>
      )}
      <Estimate values={values} jobId={jobId} />
      {spent && spent.tokens + spent.costMicroUsd > 0 && (
        <p className={styles.quiet}>This month: {spendingLabel(spent)}.</p>
      )}
    </>
  );
}

/** Estimated cost per month. */
function Estimate({ values, jobId }: { values: JobForm; jobId: string | undefined }) {
  const { data } = useEstimate(scheduleFrom(values), jobId);
  return data ? <p>{data.text}</p> : null;
}

function PermittedCalls({ values, draft }: Pick<Props, "values" | "draft">) {
  if (values.what === "systemEvent") return <p>Add a message to the main session.</p>;
  if (values.what === "toolCall") return <FixedCall draft={draft} name={values.tool} />;
  if (values.agent !== "")
    return (
      <p>
        Give the task to {values.agent}. It asks you before some actions. Its permissions in Tools limit the others.
      </p>
    );
  return <OfferedTools draft={draft} />;
}

/** Call fixed in the job. */
function FixedCall({ draft, name }: Pick<Props, "draft"> & { name: string }) {
  const tool = useTools().data?.find((one) => one.name === name);
  if (name === "") return <p className={styles.quiet}>Choose a tool first.</p>;
  return (
    <p>
      Call <code>{name}</code> with exactly these arguments
      {tool && rightsOf(tool, draft) === "yours" && ", with your full permissions, outside the sandbox"}.
    </p>
  );
}

/** Effective tools of the draft. */
function OfferedTools({ draft }: Pick<Props, "draft">) {
  const { data, isError } = useToolsOfDraft(useDebounced(withoutTextFields(draft), debounceMs));
  if (!data)
    return isError ? <p className={styles.quiet}>Shown once all fields are valid.</p> : <SkeletonBar width="60%" />;
  if (data.problem !== null) return <p className={styles.note}>Runs cannot start: {data.problem}</p>;
  const tools = data.tools.filter(({ name }) => name !== "complete_run");
  if (tools.length === 0) return <p>Answer only: it has no tools.</p>;
  const free = tools.filter((tool) => approvalNeed(tool) === "never");
  const asking = tools.filter((tool) => approvalNeed(tool) !== "never");
  return (
    <>
      {data.ceiling !== null && <p className={styles.note}>{data.ceiling}</p>}
      {free.length === 0 ? <p>No tool.</p> : <ToolNames tools={free} />}
      {asking.length > 0 && (
        <>
          <h3 className={styles.head}>{approverOf(draft) === "none" ? "Needs a grant" : "Needs approval"}</h3>
          <ToolNames tools={asking} />
        </>
      )}
    </>
  );
}

/** Replaces fields without influence, so that incomplete drafts can be checked. */
function withoutTextFields(draft: JobDraft): JobDraft {
  const payload = draft.payload.kind === "agentTurn" ? { ...draft.payload, message: "…" } : draft.payload;
  return { ...draft, name: "New job", schedule: { kind: "manual" }, payload };
}

function ToolNames({ tools }: { tools: readonly ToolView[] }) {
  return (
    <ul className={styles.tools}>
      {tools.map((tool) => (
        <li key={tool.name} title={tool.description}>
          <code>{tool.name}</code>
          {approvalNeed(tool) === "some" && <span className={styles.quiet}> (some calls)</span>}
        </li>
      ))}
    </ul>
  );
}
