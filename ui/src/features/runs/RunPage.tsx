/* One run: what came of it, why it fired, and every step it took. A live run changes in place. */

import { useNavigate, useParams } from "@tanstack/react-router";
import { Link2, MessagesSquare, Pencil, RotateCcw, SearchX, Square } from "lucide-react";
import { useEffect } from "react";

import { Button, ButtonLink, IconButton } from "@/components/Button";
import { Page } from "@/components/Page";
import { useShortcut } from "@/components/shortcuts";
import { Bone, Empty, Failure, SkeletonRows, useSlow } from "@/components/States";
import { toast } from "@/components/Toasts";
import { useCancelRun, useRetryRun } from "@/data/actions";
import { sessionOfJob } from "@/data/chat";
import { usePlatform } from "@/data/platform";
import { useRun } from "@/data/queries";
import { isLive, shownState, StateGlyph, stateWord } from "@/domain/runState";
import { errorCode, RpcError, type RunDetail, type RunView } from "@/platform";

import { OpenQuestion } from "./OpenQuestion";
import styles from "./RunPage.module.css";
import { Outcome } from "./Outcome";
import { RunFacts } from "./RunFacts";
import { Timeline } from "./Timeline";
import { WhyItFired } from "./WhyItFired";

export function RunPage() {
  const { runId } = useParams({ from: "/runs/$runId" });
  const { data, error, refetch } = useRun(runId);
  if (data) return <Shown detail={data} />;
  if (error instanceof RpcError && error.code === errorCode.notFound) return <Gone />;
  if (error) {
    return (
      <Page title="Run">
        <Failure title="This run could not be read." error={error} onRetry={() => void refetch()} />
      </Page>
    );
  }
  return <Loading />;
}

function Shown({ detail }: { detail: RunDetail }) {
  const { run } = detail;
  useSeen(detail);
  return (
    <Page
      title={run.jobName}
      lead={<StateGlyph state={shownState(run)} size={20} />}
      about={<span role="status">{stateWord(shownState(run))}</span>}
      actions={<Actions run={run} jobExists={detail.jobExists} />}
      className={styles.page}
    >
      <Outcome run={run} />
      <OpenQuestion approvals={detail.approvals} />
      <RunFacts detail={detail} />
      {detail.cause !== null && <WhyItFired cause={detail.cause} />}
      <Timeline detail={detail} />
    </Page>
  );
}

/** Whoever shows a notification about this run is told that it has been looked at, also when it comes while one looks. */
function useSeen({ run, deliveries }: RunDetail) {
  const platform = usePlatform();
  const told = deliveries.filter((delivery) => delivery.state === "delivered").length;
  useEffect(() => {
    const tell = () => {
      // Nobody is helped by hearing that a notification could not be withdrawn.
      if (told > 0 && document.visibilityState === "visible") platform.rpc("runs.seen", { id: run.id }).catch(() => undefined);
    };
    tell();
    document.addEventListener("visibilitychange", tell);
    return () => document.removeEventListener("visibilitychange", tell);
  }, [platform, run.id, told]);
}

function Actions({ run, jobExists }: { run: RunView; jobExists: boolean }) {
  const platform = usePlatform();
  const navigate = useNavigate();
  const cancel = useCancelRun();
  const retry = useRetryRun();
  const live = isLive(run.state);
  const { jobId } = run;

  const failed = (title: string) => (error: Error) => toast({ title, about: error.message });
  const again = () =>
    retry.mutate({ id: run.id }, {
      onSuccess: (started) => {
        if (started.runId !== null) void navigate({ to: "/runs/$runId", params: { runId: started.runId } });
      },
      onError: failed("It was not run again"),
    });
  const copy = () =>
    void platform.copyText(platform.linkTo(`/runs/${run.id}`)).then(
      () => toast({ title: "Link copied" }, 3_000),
      failed("The link was not copied"),
    );
  const edit = () => {
    if (jobId !== null) void navigate({ to: "/jobs/$jobId", params: { jobId } });
  };
  useShortcut("e", "Edit the job", edit, { group: "This run", when: jobId !== null && jobExists });
  useShortcut("r", "Run again", again, { group: "This run", when: jobExists && !live });

  return (
    <>
      <IconButton icon={Link2} label="Copy link" onPress={copy} />
      {jobId !== null && run.session !== null && run.session === sessionOfJob(jobId) && <ButtonLink to="/jobs/$jobId/conversation" params={{ jobId }} icon={MessagesSquare} look="ghost">Conversation</ButtonLink>}
      {jobId !== null && jobExists && (
        <ButtonLink to="/jobs/$jobId" params={{ jobId }} icon={Pencil} look="ghost">
          Edit job
        </ButtonLink>
      )}
      {live ? (
        <Button icon={Square} look="danger" isPending={cancel.isPending} onPress={() => cancel.mutate({ id: run.id }, { onError: failed("It was not cancelled") })}>
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

function Gone() {
  return (
    <Page title="Run">
      <Empty icon={SearchX} title="This run is not there any more" action={<ButtonLink to="/runs" search={{}}>All runs</ButtonLink>}>
        Its history may have been cleared, or the link was cut short.
      </Empty>
    </Page>
  );
}

function Loading() {
  const slow = useSlow(true);
  return (
    <Page title="Run" about={slow && <Bone width={120} />}>
      <SkeletonRows rows={6} />
    </Page>
  );
}
