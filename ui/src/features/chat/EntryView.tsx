/* Entry of a conversation. */

import { Link } from "@tanstack/react-router";
import { CalendarClock } from "lucide-react";

import { CallAttachments } from "@/attachments/Attachments";
import { Button, ButtonLink } from "@/components/Button";
import { Collapsible } from "@/components/Collapsible";
import { VisibleText } from "@/components/VisibleText";
import { Time } from "@/components/Time";
import { toast } from "@/components/Toasts";
import { InlineCode } from "@/components/InlineCode";
import { useCall } from "@/data/actions";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { useJob, useRun } from "@/data/queries";
import type { ChangedJob } from "@/domain/changedJob";
import { UntrustedText } from "@/domain/UntrustedText";
import { ModelText } from "@/domain/ModelText";
import { modelText } from "@/domain/steps";
import { plural } from "@/format/amount";
import { argumentsLine, firstLine } from "@/format/text";
import { showInvisible } from "@/format/visible";

import styles from "./ChatPage.module.css";
import {
  type ChatEntry,
  isFailedCall,
  type ChatToolCall,
  jobFromChangedProposal,
  jobFromProposal,
  systemLines,
  isDeniedCall,
} from "./entries";

export function EntryView({ entry }: { entry: ChatEntry }) {
  const { openExternal } = usePlatform();
  switch (entry.kind) {
    case "person":
      return <PersonMessage text={entry.text} atMs={entry.atMs} />;
    case "model":
      return (
        <div className={styles.model}>
          <span className="visually-hidden">Model:</span>
          <ModelText text={entry.text} onOpen={openExternal} />
          {entry.runId !== null && (
            <Link to="/runs/$runId" params={{ runId: entry.runId }} className={styles.at} title="View run">
              <Time at={entry.atMs} as="log" />
            </Link>
          )}
        </div>
      );
    case "work":
      return <ToolCalls made={entry.made} />;
    case "quiet":
      return <SystemEvents texts={entry.texts} atMs={entry.atMs} />;
    case "task":
      return <Task text={entry.text} line={entry.line} atMs={entry.atMs} runId={entry.runId} />;
    case "note":
      return <Note text={entry.text} />;
    case "summary":
      return (
        <Summary
          text={entry.text}
          atMs={entry.atMs}
          summarizedMessages={entry.summarizedMessages}
          runId={entry.runId}
        />
      );
    case "unanswered":
      return <Unanswered runId={entry.runId} />;
    case "nothing":
      return <p className={styles.nothing}>Nothing to report</p>;
  }
}

/** Unanswered message with reason and retry. */
function Unanswered({ runId }: { runId: string }) {
  const { data, isPending } = useRun(runId);
  const send = useCall("chat.send", [keys.transcripts, keys.status]);
  if (isPending) return <p className={styles.nothing}>&nbsp;</p>;
  const isStopped = data?.run.state === "cancelled";
  const hasWords =
    data?.steps.some(({ kind, output }) => kind === "modelTurn" && modelText(output).trim() !== "") ?? false;
  const reason = isStopped ? null : (data?.run.error ?? data?.run.reason ?? null);
  const text = chatText(data?.payload);
  return (
    <div className={styles.nothing}>
      {isStopped ? "You stopped this." : "No answer."}{" "}
      {reason !== null && (
        <>
          <InlineCode text={firstLine(reason)} />{" "}
        </>
      )}
      <Link to="/runs/$runId" params={{ runId }} className={styles.link}>
        {!isStopped ? "Details" : hasWords ? "View partial answer" : "View run"}
      </Link>
      {!isStopped && text !== undefined && (
        <Button
          small
          isPending={send.isPending}
          onPress={() =>
            send.mutate(
              { text },
              { onError: (error) => toast({ title: "Could not send the message", about: error.message }) },
            )
          }
          className={styles.again}
        >
          Try again
        </Button>
      )}
    </div>
  );
}

/** Text of the message that a run answers. */
function chatText(payload: unknown): string | undefined {
  const { text } = (typeof payload === "object" && payload !== null ? payload : {}) as { text?: unknown };
  return typeof text === "string" && text.trim() !== "" ? text : undefined;
}

export function PersonMessage({ text, atMs }: { text: string; atMs: number }) {
  return (
    <div className={styles.person}>
      <span className="visually-hidden">You wrote:</span>
      <p className={styles.words}>{text}</p>
      <Time at={atMs} as="log" className={styles.at} />
    </div>
  );
}

/** Tool calls on one line, and cards for created jobs. */
export function ToolCalls({ made }: { made: readonly ChatToolCall[] }) {
  const { copyText } = usePlatform();
  const changed = made.map(jobFromChangedProposal).filter((job) => job !== undefined);
  const denied = made.filter(isDeniedCall).length;
  const wrong = made.filter(isFailedCall).length;
  const names = [...new Set(made.map(({ call }) => call.tool))].join(", ");
  const jobs = made.map(jobFromProposal).filter((job) => job !== undefined);
  const summary = [
    names,
    changed.length > 0 && `${changed.length} changed by you`,
    denied > 0 && `${denied} denied`,
    wrong > 0 && `${wrong} failed`,
  ]
    .filter(Boolean)
    .join(" · ");
  return (
    <>
      <div className={styles.work}>
        <Collapsible level={2} title={plural(made.length, "tool call")} summary={summary}>
          <ul className={styles.calls}>
            {made.map(({ call, answer, filesOf }) => (
              <li key={call.id}>
                <p className={styles.call}>
                  <code>{call.tool}</code>{" "}
                  <span>
                    <VisibleText text={showInvisible(firstLine(argumentsLine(call.arguments)))} />
                  </span>
                </p>
                {answer && (
                  <UntrustedText
                    label={`Result of ${call.tool}`}
                    text={answer.text}
                    tone={isFailedCall({ call, answer }) ? "bad" : undefined}
                    onCopy={copyText}
                  />
                )}
                {filesOf !== undefined && <CallAttachments runId={filesOf} callId={call.id} />}
              </li>
            ))}
          </ul>
        </Collapsible>
      </div>
      {jobs.map((job) => (
        <JobCard key={job.id} job={job} />
      ))}
      {changed.map((job) => (
        <ChangedJobCard key={job.id} job={job} />
      ))}
    </>
  );
}

function JobCard({ job: { id, name } }: { job: ChangedJob }) {
  return (
    <div className={styles.job}>
      <CalendarClock size={16} aria-hidden />
      <span className={styles.jobName}>{name}</span>
      <ButtonLink to="/jobs/$jobId" params={{ jobId: id }} small>
        Open job
      </ButtonLink>
    </div>
  );
}

/** Loads the job, which may not have been created. */
function ChangedJobCard({ job }: { job: ChangedJob }) {
  const { data } = useJob(job.id);
  return data ? <JobCard job={data.job} /> : null;
}

/** System events and heartbeat turns. */
function SystemEvents({ texts, atMs }: { texts: readonly string[]; atMs: number }) {
  const lines = systemLines(texts);
  const [first] = lines;
  const title =
    lines.length === 0
      ? plural(texts.length, "heartbeat")
      : lines.length === 1
        ? "System"
        : plural(lines.length, "system event");
  return (
    <div className={styles.work}>
      <Collapsible
        level={2}
        title={title}
        summary={
          <>
            {first === undefined ? "nothing new" : <bdi>{firstLine(first)}</bdi>} · <Time at={atMs} as="log" />
          </>
        }
      >
        <UntrustedText label="Sent to the model" text={texts.join("\n\n")} />
      </Collapsible>
    </div>
  );
}

/** Start of a job's run, with the task. */
function Task({ text, line, atMs, runId }: { text: string; line: string; atMs: number; runId: string | null }) {
  return (
    <div className={styles.task}>
      <h2 className={styles.when}>
        {runId === null ? (
          <Time at={atMs} as="when" />
        ) : (
          <Link to="/runs/$runId" params={{ runId }} title="View run">
            <Time at={atMs} as="when" />
          </Link>
        )}
      </h2>
      {text !== "" && (
        <Collapsible title="Task" summary={line}>
          <UntrustedText label="Sent to the model" text={text} />
        </Collapsible>
      )}
    </div>
  );
}

/** Message from Rouse during a run. */
function Note({ text }: { text: string }) {
  return (
    <div className={styles.work}>
      <Collapsible title="Note to the model" summary={firstLine(text)}>
        <UntrustedText label="Sent to the model" text={text} />
      </Collapsible>
    </div>
  );
}

/** Summary that replaces earlier messages for the model. */
function Summary({
  text,
  atMs,
  summarizedMessages,
  runId,
}: {
  text: string;
  atMs: number;
  summarizedMessages: number;
  runId: string | null;
}) {
  return (
    <div className={styles.work}>
      <Collapsible
        title="Summary for the model"
        summary={
          <>
            replaces the first {plural(summarizedMessages, "message")} · <Time at={atMs} as="log" />
          </>
        }
      >
        <UntrustedText label="Summary sent to the model" text={text} />
        {runId !== null && (
          <Link to="/runs/$runId" params={{ runId }}>
            View run
          </Link>
        )}
      </Collapsible>
    </div>
  );
}
