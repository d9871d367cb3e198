/* Run: outcome, approval, facts, trigger event, timeline. Live runs update in place. */

import { useNavigate, useParams } from "@tanstack/react-router";
import { Link2, MessagesSquare, Pencil, RotateCcw, SearchX, Square } from "lucide-react";
import { useEffect } from "react";

import { Button, ButtonLink, IconButton } from "@/components/Button";
import { Page } from "@/components/Page";
import { useShortcut } from "@/components/shortcuts";
import { SkeletonBar, Empty, Failure, SkeletonRows, useSlow } from "@/components/Placeholders";
import { toast } from "@/components/Toasts";
import { useMay } from "@/data/access";
import { useCancelRun, useRetryRun } from "@/data/actions";
import { sessionOfJob } from "@/data/chat";
import { usePlatform } from "@/data/platform";
import { useRun } from "@/data/queries";
import { isLive, shownState, StateGlyph, stateLabel } from "@/domain/runState";
import { errorCode, RpcError, type RunDetail, type RunView } from "@/platform";

import { PendingApproval } from "./PendingApproval";
import styles from "./RunPage.module.css";
import { RunOutcome } from "./RunOutcome";
import { RunFacts } from "./RunFacts";
import { Timeline } from "./Timeline";
import { TriggerEvent } from "./TriggerEvent";

export function RunPage() {
  const { runId } = useParams({ from: "/runs/$runId" });
  const { data, error, refetch } = useRun(runId);
  if (data) return <RunView detail={data} />;
  if (error instanceof RpcError && error.code === errorCode.notFound) return <RunNotFound />;
  if (error) {
    return (
      <Page title="Run">
        <Failure title="Could not load the run." error={error} onRetry={() => void refetch()} />
      </Page>
    );
  }
  return <Loading />;
}

function RunView({ detail }: { detail: RunDetail }) {
  const { run } = detail;
  useMarkSeen(detail);
  return (
    <Page
      title={run.jobName}
      lead={<StateGlyph state={shownState(run)} size={20} />}
      about={<span role="status">{stateLabel(shownState(run))}</span>}
      actions={<Actions run={run} jobExists={detail.jobExists} />}
      className={styles.page}
    >
      <RunOutcome run={run} />
      <PendingApproval approvals={detail.approvals} />
      <RunFacts detail={detail} />
      {detail.cause !== null && <TriggerEvent cause={detail.cause} />}
      <Timeline detail={detail} />
    </Page>
  );
}

/** Reports the run as seen, which withdraws the notifications. */
function useMarkSeen({ run, deliveries }: RunDetail) {
  const platform = usePlatform();
  const maySee = useMay("runs.seen");
  const deliveredCount = deliveries.filter((delivery) => delivery.state === "delivered").length;
  useEffect(() => {
    const reportSeen = () => {
      // A failed withdrawal is irrelevant.
      if (maySee && deliveredCount > 0 && document.visibilityState === "visible")
        platform.rpc("runs.seen", { id: run.id }).catch(() => undefined);
    };
    reportSeen();
    document.addEventListener("visibilitychange", reportSeen);
    return () => document.removeEventListener("visibilitychange", reportSeen);
  }, [platform, run.id, deliveredCount, maySee]);
}

function Actions({ run, jobExists }: { run: RunView; jobExists: boolean }) {
  const platform = usePlatform();
  const navigate = useNavigate();
  const cancel = useCancelRun();
  const retry = useRetryRun();
  const mayRun = useMay("runs.retry");
  const live = isLive(run.state);
  const { jobId } = run;

  const failed = (title: string) => (error: Error) => toast({ title, about: error.message });
  const again = () =>
    retry.mutate(
      { id: run.id },
      {
        onSuccess: (started) => {
          if (started.runId !== null) void navigate({ to: "/runs/$runId", params: { runId: started.runId } });
        },
        onError: failed("Could not run it again"),
      },
    );
  const copy = () =>
    void platform
      .copyText(platform.linkTo(`/runs/${run.id}`))
      .then(() => toast({ title: "Link copied" }, 3_000), failed("Could not copy the link"));
  const edit = () => {
    if (jobId !== null) void navigate({ to: "/jobs/$jobId", params: { jobId } });
  };
  useShortcut("e", "Edit job", edit, { group: "This run", when: jobId !== null && jobExists });
  useShortcut("r", "Run again", again, { group: "This run", when: jobExists && !live && mayRun });

  return (
    <>
      <IconButton icon={Link2} label="Copy link" onPress={copy} />
      {jobId !== null && run.session !== null && run.session === sessionOfJob(jobId) && (
        <ButtonLink to="/jobs/$jobId/conversation" params={{ jobId }} icon={MessagesSquare} look="ghost">
          Conversation
        </ButtonLink>
      )}
      {jobId !== null && jobExists && (
        <ButtonLink to="/jobs/$jobId" params={{ jobId }} icon={Pencil} look="ghost">
          {mayRun ? "Edit job" : "Job"}
        </ButtonLink>
      )}
      {!mayRun ? null : live ? (
        <Button
          icon={Square}
          look="danger"
          isPending={cancel.isPending}
          onPress={() => cancel.mutate({ id: run.id }, { onError: failed("Could not cancel the run") })}
        >
          Cancel
        </Button>
      ) : (
        jobExists && (
          <Button icon={RotateCcw} look="primary" isPending={retry.isPending} onPress={again}>
            Run again
          </Button>
        )
      )}
    </>
  );
}

function RunNotFound() {
  return (
    <Page title="Run">
      <Empty
        icon={SearchX}
        title="Run not found"
        action={
          <ButtonLink to="/runs" search={{}}>
            All runs
          </ButtonLink>
        }
      >
        It was deleted from the history, or the link is incomplete.
      </Empty>
    </Page>
  );
}

function Loading() {
  const slow = useSlow(true);
  return (
    <Page title="Run" about={slow && <SkeletonBar width={120} />}>
      <SkeletonRows rows={6} />
    </Page>
  );
}
