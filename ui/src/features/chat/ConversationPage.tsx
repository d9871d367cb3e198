/* The conversation of a job with its model: the task of each run, what tools did, and what came of it. It is read here and goes
   on by itself; nobody writes into it. A job that is gone leaves its conversation behind. */

import { Link, useParams } from "@tanstack/react-router";
import { MessagesSquare } from "lucide-react";

import { ButtonLink } from "@/components/Button";
import { Page } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/States";
import { sessionOfJob, useTranscript } from "@/data/chat";
import { usePlatform } from "@/data/platform";
import { useJob, useRun } from "@/data/queries";
import { ModelText } from "@/domain/ModelText";
import { shownState, StateGlyph } from "@/domain/runState";

import styles from "./ChatPage.module.css";
import { ClearButton } from "./ClearButton";
import { entriesOfJob } from "./entries";
import { Said } from "./Said";

export function ConversationPage() {
  const { jobId } = useParams({ from: "/jobs/$jobId/conversation" });
  const { data, error, refetch, ...earlier } = useTranscript(sessionOfJob(jobId));
  const job = useJob(jobId).data;
  const name = job?.job.name ?? data?.session?.jobName ?? null;
  const entries = data ? entriesOfJob(data.messages, name) : [];
  return (
    <Page
      title={name ?? "Conversation"}
      about={job ? <>Conversation of <Link to="/jobs/$jobId" params={{ jobId }} className={styles.link}>this job</Link> with its model</> : data && "The job is gone; its conversation is still here."}
      actions={
        <>
          {data && data.messages.length > 0 && <ClearButton session={sessionOfJob(jobId)} />}
          <ButtonLink to="/runs" search={{ job: jobId }} look="ghost">Its runs</ButtonLink>
        </>
      }
    >
      <Said entries={entries} {...earlier} before={
        <>
          {error && !data && <Failure title="The conversation could not be read." error={error} onRetry={refetch} />}
          {!data && !error && <SkeletonRows rows={8} />}
          {data && entries.length === 0 && <Empty icon={MessagesSquare} title="Nothing was said yet">What this job and its model say to each other is kept here, run by run.</Empty>}
        </>
      }>
        {job?.liveRunIds.map((runId) => <Going key={runId} runId={runId} />)}
      </Said>
    </Page>
  );
}

/** A run that adds to the conversation right now. */
function Going({ runId }: { runId: string }) {
  const { openExternal } = usePlatform();
  const detail = useRun(runId).data;
  if (!detail) return null;
  const { run, liveText } = detail;
  return (
    <li className={styles.model}>
      {liveText !== null && liveText.trim() !== "" && <ModelText text={liveText} onOpen={openExternal} />}
      <p className={styles.doing} role="status">
        <StateGlyph state={shownState(run)} size={14} word />
        <ButtonLink to="/runs/$runId" params={{ runId }} small look="ghost">Open the run</ButtonLink>
      </p>
    </li>
  );
}
