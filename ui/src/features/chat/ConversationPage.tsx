/* Read-only conversation of a job. Outlives the job. */

import { Link, useParams } from "@tanstack/react-router";
import { MessagesSquare } from "lucide-react";

import { ButtonLink } from "@/components/Button";
import { Page } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/Placeholders";
import { useMay } from "@/data/access";
import { sessionOfJob, useTranscript } from "@/data/chat";
import { usePlatform } from "@/data/platform";
import { useJob, useRun } from "@/data/queries";
import { ModelText } from "@/domain/ModelText";
import { shownState, StateGlyph } from "@/domain/runState";

import styles from "./ChatPage.module.css";
import { ClearButton } from "./ClearButton";
import { jobEntries } from "./entries";
import { MessageList } from "./MessageList";

export function ConversationPage() {
  const { jobId } = useParams({ from: "/jobs/$jobId/conversation" });
  const { data, error, refetch, ...earlier } = useTranscript(sessionOfJob(jobId));
  const job = useJob(jobId).data;
  const mayClear = useMay("sessions.clear");
  const name = job?.job.name ?? data?.session?.jobName ?? null;
  const entries = data ? jobEntries(data.messages, name) : [];
  return (
    <Page
      title={name ?? "Conversation"}
      about={
        job ? (
          <>
            Conversation of{" "}
            <Link to="/jobs/$jobId" params={{ jobId }} className={styles.link}>
              this job
            </Link>{" "}
            with its model
          </>
        ) : (
          data && "The job was deleted. Its conversation is kept."
        )
      }
      actions={
        <>
          {data && data.messages.length > 0 && mayClear && <ClearButton session={sessionOfJob(jobId)} />}
          <ButtonLink to="/runs" search={{ job: jobId }} look="ghost">
            View runs
          </ButtonLink>
        </>
      }
    >
      <MessageList
        entries={entries}
        {...earlier}
        before={
          <>
            {error && !data && <Failure title="Could not load the conversation." error={error} onRetry={refetch} />}
            {!data && !error && <SkeletonRows rows={8} />}
            {data && entries.length === 0 && (
              <Empty icon={MessagesSquare} title="No messages yet">
                Messages between this job and its model appear here, run by run.
              </Empty>
            )}
          </>
        }
      >
        {job?.liveRunIds.map((runId) => (
          <LiveRun key={runId} runId={runId} />
        ))}
      </MessageList>
    </Page>
  );
}

/** Live run of the conversation. */
function LiveRun({ runId }: { runId: string }) {
  const { openExternal } = usePlatform();
  const detail = useRun(runId).data;
  if (!detail) return null;
  const { run, liveText } = detail;
  return (
    <li className={styles.model}>
      {liveText !== null && liveText.trim() !== "" && <ModelText text={liveText} onOpen={openExternal} />}
      <p className={styles.doing} role="status">
        <StateGlyph state={shownState(run)} size={14} word />
        <ButtonLink to="/runs/$runId" params={{ runId }} small look="ghost">
          Open run
        </ButtonLink>
      </p>
    </li>
  );
}
