/* One entry of the conversation. */

import { Link } from "@tanstack/react-router";
import { CalendarClock } from "lucide-react";

import { Button, ButtonLink } from "@/components/Button";
import { Folded } from "@/components/Folded";
import { Marks } from "@/components/Marks";
import { Time } from "@/components/Time";
import { toast } from "@/components/Toasts";
import { Worded } from "@/components/Worded";
import { useCall } from "@/data/actions";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { useJob, useRun } from "@/data/queries";
import type { ChangedJob } from "@/domain/changedJob";
import { Marked } from "@/domain/Marked";
import { ModelText } from "@/domain/ModelText";
import { modelText } from "@/domain/steps";
import { plural } from "@/format/amount";
import { argumentsLine, firstLine } from "@/format/text";
import { visible } from "@/format/visible";

import styles from "./ChatPage.module.css";
import { type Entry, hasFailed, type Made, routineChanged, routineMade, toldLines, wasDenied } from "./entries";

export function EntryView({ entry }: { entry: Entry }) {
  const { openExternal } = usePlatform();
  switch (entry.kind) {
    case "person":
      return <Words text={entry.text} atMs={entry.atMs} />;
    case "model":
      return (
        <div className={styles.model}>
          <span className="visually-hidden">The model says:</span>
          <ModelText text={entry.text} onOpen={openExternal} />
          {entry.runId !== null && (
            <Link to="/runs/$runId" params={{ runId: entry.runId }} className={styles.at} title="How this answer came about">
              <Time at={entry.atMs} as="log" />
            </Link>
          )}
        </div>
      );
    case "work":
      return <Work made={entry.made} />;
    case "quiet":
      return <Quiet told={entry.told} atMs={entry.atMs} />;
    case "task":
      return <Task text={entry.text} line={entry.line} atMs={entry.atMs} runId={entry.runId} />;
    case "note":
      return <Note text={entry.text} />;
    case "summary":
      return <Summary text={entry.text} atMs={entry.atMs} standsFor={entry.standsFor} runId={entry.runId} />;
    case "unanswered":
      return <Unanswered runId={entry.runId} />;
    case "nothing":
      return <p className={styles.nothing}>Nothing to report</p>;
  }
}

/** A message without an answer: the reason, and a way to send it again. A message that was stopped needs no reason. */
function Unanswered({ runId }: { runId: string }) {
  const { data, isPending } = useRun(runId);
  const send = useCall("chat.send", [keys.transcripts, keys.status]);
  if (isPending) return <p className={styles.nothing}>&nbsp;</p>;
  const isStopped = data?.run.state === "cancelled";
  const hasWords = data?.steps.some(({ kind, output }) => kind === "modelTurn" && modelText(output).trim() !== "") ?? false;
  const reason = isStopped ? null : (data?.run.error ?? data?.run.reason ?? null);
  const text = chatText(data?.payload);
  return (
    <div className={styles.nothing}>
      {isStopped ? "You stopped this." : "No answer."}{" "}
      {reason !== null && <><Worded text={firstLine(reason)} />{" "}</>}
      <Link to="/runs/$runId" params={{ runId }} className={styles.link}>{!isStopped ? "Details" : hasWords ? "See what was said" : "See the run"}</Link>
      {!isStopped && text !== undefined && (
        <Button small isPending={send.isPending} onPress={() => send.mutate({ text }, { onError: (error) => toast({ title: "The message was not sent", about: error.message }) })} className={styles.again}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** The words of the message that a run answers. */
function chatText(payload: unknown): string | undefined {
  const { text } = (typeof payload === "object" && payload !== null ? payload : {}) as { text?: unknown };
  return typeof text === "string" && text.trim() !== "" ? text : undefined;
}

/** What the person wrote, as they wrote it. */
export function Words({ text, atMs }: { text: string; atMs: number }) {
  return (
    <div className={styles.person}>
      <span className="visually-hidden">You wrote:</span>
      <p className={styles.words}>{text}</p>
      <Time at={atMs} as="log" className={styles.at} />
    </div>
  );
}

/** What tools did, on one line; jobs that came of it as cards. */
export function Work({ made }: { made: readonly Made[] }) {
  const { copyText } = usePlatform();
  const changed = made.map(routineChanged).filter((job) => job !== undefined);
  const denied = made.filter(wasDenied).length;
  const wrong = made.filter(hasFailed).length;
  const names = [...new Set(made.map(({ call }) => call.tool))].join(", ");
  const jobs = made.map(routineMade).filter((job) => job !== undefined);
  const summary = [names, changed.length > 0 && `${changed.length} changed by you`, denied > 0 && `${denied} denied`, wrong > 0 && `${wrong} failed`].filter(Boolean).join(" · ");
  return (
    <>
      <div className={styles.work}>
        <Folded level={2} title={plural(made.length, "tool call")} summary={summary}>
          <ul className={styles.calls}>
            {made.map(({ call, answer }) => (
              <li key={call.id}>
                <p className={styles.call}>
                  <code>{call.tool}</code> <span><Marks text={visible(firstLine(argumentsLine(call.arguments)))} /></span>
                </p>
                {answer && <Marked label={`What ${call.tool} answered`} text={answer.text} tone={hasFailed({ call, answer }) ? "bad" : undefined} onCopy={copyText} />}
              </li>
            ))}
          </ul>
        </Folded>
      </div>
      {jobs.map((job) => <JobCard key={job.id} job={job} />)}
      {changed.map((job) => <ChangedCard key={job.id} job={job} />)}
    </>
  );
}

function JobCard({ job: { id, name } }: { job: ChangedJob }) {
  return (
    <div className={styles.job}>
      <CalendarClock size={16} aria-hidden />
      <span className={styles.jobName}>{name}</span>
      <ButtonLink to="/jobs/$jobId" params={{ jobId: id }} small>Open the job</ButtonLink>
    </div>
  );
}

/** The model is told of the job before it is made, so whether it was made is asked. */
function ChangedCard({ job }: { job: ChangedJob }) {
  const { data } = useJob(job.id);
  return data ? <JobCard job={data.job} /> : null;
}

/** What Rouse told the model by itself: reminders, results of jobs, the beat of the heart. */
function Quiet({ told, atMs }: { told: readonly string[]; atMs: number }) {
  const lines = toldLines(told);
  const [first] = lines;
  const title = lines.length === 0 ? plural(told.length, "heartbeat") : lines.length === 1 ? "System" : plural(lines.length, "system line");
  return (
    <div className={styles.work}>
      <Folded level={2} title={title} summary={<>{first === undefined ? "nothing new" : <bdi>{firstLine(first)}</bdi>} · <Time at={atMs} as="log" /></>}>
        <Marked label="What Rouse told the model" text={told.join("\n\n")} />
      </Folded>
    </div>
  );
}

/** The beginning of a run of a job: when it was, and what the model was told, unless that was said too long ago. */
function Task({ text, line, atMs, runId }: { text: string; line: string; atMs: number; runId: string | null }) {
  return (
    <div className={styles.task}>
      <h2 className={styles.when}>
        {runId === null ? <Time at={atMs} as="when" /> : <Link to="/runs/$runId" params={{ runId }} title="The run"><Time at={atMs} as="when" /></Link>}
      </h2>
      {text !== "" && (
        <Folded title="Task" summary={line}>
          <Marked label="What the model was told" text={text} />
        </Folded>
      )}
    </div>
  );
}

/** What Rouse told the model in the midst of its work. */
function Note({ text }: { text: string }) {
  return (
    <div className={styles.work}>
      <Folded title="Rouse to the model" summary={firstLine(text)}>
        <Marked label="What the model was told" text={text} />
      </Folded>
    </div>
  );
}

/** Where the beginning of the conversation was summed up: what stands above is told to the model in these words. */
function Summary({ text, atMs, standsFor, runId }: { text: string; atMs: number; standsFor: number; runId: string | null }) {
  return (
    <div className={styles.work}>
      <Folded title="Summary for the model" summary={<>in place of the first {plural(standsFor, "message")} · <Time at={atMs} as="log" /></>}>
        <Marked label="What the model is told of the beginning" text={text} />
        {runId !== null && <Link to="/runs/$runId" params={{ runId }}>The run that had it made</Link>}
      </Folded>
    </div>
  );
}
