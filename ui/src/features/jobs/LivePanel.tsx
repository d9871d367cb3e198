/* What the job will do, said beside the form while it is written: a sentence, the next times as the engine itself counts
   them, the cost, and what may happen without asking. Nothing here is worked out by the page. */

import { Link } from "@tanstack/react-router";

import { Button } from "@/components/Button";
import { useShownNow } from "@/components/gone";
import { Marks } from "@/components/Marks";
import { Bone } from "@/components/States";
import { Time } from "@/components/Time";
import { useEstimate, useStatus, useTools, useToolsOfDraft } from "@/data/queries";
import { agentBehind } from "@/domain/createdBy";
import { leftOutWords } from "@/domain/firing";
import { askedBy, asksOf, rightsOf } from "@/domain/tools";
import { payloadWords } from "@/domain/words";
import { spentWords } from "@/format/amount";
import { ended } from "@/format/text";
import { absolute, clockOf24, foreignZone, relative, zoneName } from "@/format/time";
import { unmistakable } from "@/format/visible";
import { offsetOf, shownIn } from "@/format/wall";
import type { CronPreviewResult, GrantOffers, Job, JobDraft, PreviewSlot, SpentView, ToolView } from "@/platform";

import { draftOf, type JobForm, scheduleOf, type When } from "./form";
import styles from "./LivePanel.module.css";
import { useSettled } from "./useSettled";

/** Long enough to choose several tools in peace. */
const settleMs = 300;

interface Props {
  values: JobForm;
  /** The job as saving would leave it. */
  draft: JobDraft;
  preview: CronPreviewResult | undefined;
  /** Why there is no preview, in words. */
  problem: string | undefined;
  /** What became of it, when its only time is behind it. */
  over?: string;
  /** The job as it is saved; none for a new one. */
  job?: Job;
  /** What that has spent since the first of the month. */
  spent?: SpentView;
  /** What the message names and the job does not grant yet. */
  offers: GrantOffers;
  onAllow: () => void;
}

export function LivePanel({ values, draft, preview, problem, over, job, spent, offers, onAllow }: Props) {
  return (
    <aside className={styles.panel} aria-label="What this job will do">
      <p className={styles.sentence} role="status">{over ?? sentenceOf(values, preview, problem)}</p>
      {over === undefined && hasSlots(values.when) && (
        <div className={styles.part}>
          <h3 className={styles.head}>{values.when === "at" ? "When it fires" : "Next times"}</h3>
          <Next preview={preview} problem={problem} />
        </div>
      )}
      <Access values={values} offers={offers} onAllow={onAllow} />
      <div className={styles.part}>
        <h3 className={styles.head}>Cost</h3>
        <Cost values={values} jobId={job?.id} spent={spent} />
      </div>
      <div className={styles.part}>
        <h3 className={styles.head}>May do without asking</h3>
        <Permitted values={values} draft={draft} />
      </div>
      {job && <MadeBy job={job} />}
    </aside>
  );
}

/** Granted hosts and folders, and those that the message names: nothing is granted until somebody allows and saves it. */
function Access({ values, offers: { hosts, folders }, onAllow }: Pick<Props, "values" | "offers" | "onAllow">) {
  const granted = [values.hosts, values.folders].flatMap((lines) => lines.split("\n")).map((line) => line.trim()).filter((line) => line !== "");
  const named = [...hosts, ...folders];
  if (granted.length + named.length === 0) return null;
  const meaning = [hosts.length > 0 && "Its commands and requests may then reach these hosts, and no others.", folders.length > 0 && "It may then read these folders."];
  return (
    <div className={styles.part}>
      <h3 className={styles.head}>Access</h3>
      {granted.length > 0 && <p>Granted: <Marks text={unmistakable(granted.join(", "))} /></p>}
      {named.length > 0 && (
        <>
          <p>This job names <Marks text={unmistakable(named.join(", "))} />. Allow?</p>
          <p className={styles.note}>{meaning.filter((part) => part !== false).join(" ")}</p>
          <Button onPress={onAllow}>Allow</Button>
        </>
      )}
    </div>
  );
}

/** Of a job that a model has made: in which run, so that a person can look why. */
function MadeBy({ job }: { job: Job }) {
  const maker = agentBehind(job);
  if (!maker) return null;
  return (
    <div className={styles.part}>
      <h3 className={styles.head}>Made by</h3>
      <p>
        An agent, <Time at={job.createdAtMs} as="within" />.{" "}
        {maker.runId !== undefined && <Link to="/runs/$runId" params={{ runId: maker.runId }} className={styles.link}>See how</Link>}
      </p>
    </div>
  );
}

export function sentenceOf(values: JobForm, preview: CronPreviewResult | undefined, problem: string | undefined): string {
  const what = payloadWords(draftOf(values).payload);
  if (values.when === "manual") return what === "" ? "Only by hand." : `Only by hand: ${what}`;
  if (problem !== undefined || !preview) return problem === undefined ? "…" : "It does not fire yet.";
  const foreign = values.when === "every" || !hasSlots(values.when) ? undefined : foreignZone(values.zone);
  const when = foreign === undefined ? preview.text : `${preview.text}, ${foreign} time`;
  return what === "" || what === "Calls " ? ended(when) : `${when}: ${what}`;
}

/** Whether it fires at times of its own. */
export function hasSlots(when: When): boolean {
  return when !== "event" && when !== "webhook" && when !== "manual";
}

function Next({ preview, problem }: Pick<Props, "preview" | "problem">) {
  if (problem !== undefined) return <p className={styles.quiet}>{problem}</p>;
  if (!preview) return <Bone width="80%" />;
  if (preview.next.length === 0) return <p className={styles.quiet}>Never again.</p>;
  return (
    <>
      <ol className={styles.next}>
        {preview.next.map((slot) => (
          <Slot key={slot.atMs} slot={slot} localZone={preview.localZone} />
        ))}
      </ol>
      {preview.notes.map((note) => (
        <p key={note} className={styles.note}>{note}</p>
      ))}
    </>
  );
}

const day: Intl.DateTimeFormatOptions = { weekday: "short", day: "numeric", month: "short", ...clockOf24 };

/** The times that the engine has written: the zone rules of the browser, which may be others, have no say in them. */
function Slot({ slot, localZone }: { slot: PreviewSlot; localZone: string }) {
  const now = useShownNow(30_000);
  const cron = useStatus().data?.cron;
  const written = (time: string) => new Intl.DateTimeFormat(undefined, { ...day, timeZone: "UTC", ...(needsSeconds(slot) && { second: "2-digit" }) }).format(shownIn(time));
  const shown = shownIn(slot.jobTime);
  return (
    <li className={styles.slot}>
      <time dateTime={slot.jobTime} title={`${absolute(shown, "UTC")}${offsetOf(slot.jobTime)}`}>{written(slot.jobTime)}</time>
      <span className={styles.quiet}>{leftOutWords(cron, slot.atMs) ?? relative(shown, now + shown - slot.atMs, "UTC")}</span>
      {slot.localTime !== slot.jobTime && <span className={styles.local}>{written(slot.localTime)} in {zoneName(localZone)}</span>}
      {slot.note !== null && <span className={styles.note}>{slot.note}</span>}
    </li>
  );
}

function needsSeconds({ atMs }: PreviewSlot): boolean {
  return atMs % 60_000 >= 1_000;
}

function Cost({ values, jobId, spent }: { values: JobForm; jobId: string | undefined; spent: SpentView | undefined }) {
  const { data: status } = useStatus();
  if (values.what === "toolCall") return <p>No model: costs nothing.</p>;
  if (values.what === "systemEvent") {
    return <p>{status?.model === null ? "No model: costs nothing." : "The line itself costs nothing; the turn that takes it up depends on the model."}</p>;
  }
  const model = values.model.trim() || status?.model;
  return (
    <>
      {model === null ? (
        <p>
          Depends on the model. There is none yet; until there is, runs of this job fail. <Link to="/settings" hash="model" className={styles.link}>Set one up</Link>
        </p>
      ) : (
        <p>Depends on the model{model ? ` (${model})` : ""}.</p>
      )}
      <Estimate values={values} jobId={jobId} />
      {spent && spent.tokens + spent.costMicroUsd > 0 && <p className={styles.quiet}>This month so far: {spentWords(spent)}.</p>}
    </>
  );
}

/** What a month of this schedule will probably cost, by the runs so far. */
function Estimate({ values, jobId }: { values: JobForm; jobId: string | undefined }) {
  const { data } = useEstimate(scheduleOf(values), jobId);
  return data ? <p>{data.text}</p> : null;
}

function Permitted({ values, draft }: Pick<Props, "values" | "draft">) {
  if (values.what === "systemEvent") return <p>Put this line into the main session. Nothing else.</p>;
  if (values.what === "toolCall") return <Written draft={draft} name={values.tool} />;
  return <Offered draft={draft} />;
}

/** The one call that the person has written. */
function Written({ draft, name }: Pick<Props, "draft"> & { name: string }) {
  const tool = useTools().data?.find((one) => one.name === name);
  if (name === "") return <p className={styles.quiet}>Choose a tool first.</p>;
  return <p>Call <code>{name}</code> with exactly these arguments{tool && rightsOf(tool, draft) === "yours" && ", with your own rights, outside the sandbox"}.</p>;
}

/** What its model is offered, by the rule that its runs go by: skills, sandbox and grants have a say. */
function Offered({ draft }: Pick<Props, "draft">) {
  const { data, isError } = useToolsOfDraft(useSettled(whole(draft), settleMs));
  if (!data) return isError ? <p className={styles.quiet}>This can be said once the fields are right.</p> : <Bone width="60%" />;
  if (data.problem !== null) return <p className={styles.note}>Its runs would not begin: {data.problem}</p>;
  const tools = data.tools.filter(({ name }) => name !== "complete_run");
  if (tools.length === 0) return <p>Nothing but answer: it has no tools.</p>;
  const free = tools.filter((tool) => asksOf(tool) === "never");
  const asking = tools.filter((tool) => asksOf(tool) !== "never");
  return (
    <>
      {data.ceiling !== null && <p className={styles.note}>{data.ceiling}</p>}
      {free.length === 0 ? <p>Nothing.</p> : <Names tools={free} />}
      {asking.length > 0 && (
        <>
          <h3 className={styles.head}>{askedBy(draft) === "nobody" ? "Only with a grant" : "Asks you first, unless granted"}</h3>
          <Names tools={asking} />
        </>
      )}
    </>
  );
}

/** What has no say in it is left out, so that a job may be asked about whose words are not there yet. */
function whole(draft: JobDraft): JobDraft {
  const payload = draft.payload.kind === "agentTurn" ? { ...draft.payload, message: "…" } : draft.payload;
  return { ...draft, name: "New job", schedule: { kind: "manual" }, payload };
}

function Names({ tools }: { tools: readonly ToolView[] }) {
  return (
    <ul className={styles.tools}>
      {tools.map((tool) => (
        <li key={tool.name} title={tool.description}>
          <code>{tool.name}</code>
          {asksOf(tool) === "some" && <span className={styles.quiet}> some calls</span>}
        </li>
      ))}
    </ul>
  );
}
