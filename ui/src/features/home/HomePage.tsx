/* Home: approvals, problems, today, upcoming and recent runs. */

import { Link } from "@tanstack/react-router";
import { BellOff, CalendarClock, History, PanelTop, Pause, Plus, TriangleAlert } from "lucide-react";

import { Button, ButtonLink } from "@/components/Button";
import { Notice } from "@/components/Notice";
import { Page, Section } from "@/components/Page";
import { Failure, SkeletonRows } from "@/components/Placeholders";
import { toast } from "@/components/Toasts";
import { useNow } from "@/components/useNow";
import { Allowed } from "@/data/access";
import { useResume } from "@/data/actions";
import { useFailingJobs, useFirstJobs } from "@/data/jobs";
import { usePlatform } from "@/data/platform";
import { useShellInfo, useStatus } from "@/data/queries";
import { useNewestRuns } from "@/data/runs";
import { pauseMessage } from "@/domain/skipReason";
import { incidentLabel, isModelConnectedSince, isMissingModel } from "@/domain/incident";
import { RunRow } from "@/domain/RunRow";
import { plural } from "@/format/amount";
import { firstLine } from "@/format/text";
import { whenWithin } from "@/format/time";
import type { Job, ShellInfo, SystemStatus } from "@/platform";

import { FirstStart } from "./FirstStart";
import styles from "./HomePage.module.css";
import { NeedsYou } from "./NeedsYou";
import { NextUp } from "./NextUp";
import { Today } from "./Today";

const recentCount = 8;
const upNextCount = 5;
const failingShown = 3;

export function HomePage() {
  const now = useNow();
  const { data: status } = useStatus();
  return (
    <Page
      title="Home"
      shownTitle={new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" }).format(now)}
      about={<ModelLine status={status} />}
      actions={
        <Allowed to="cron.add">
          <ButtonLink to="/jobs/new" search={{}} look="primary" icon={Plus}>
            New job
          </ButtonLink>
        </Allowed>
      }
    >
      <NeedsYou />
      {status && <EngineNotices status={status} now={now} />}
      {status && !status.firstStart.dismissed && (
        <Allowed to="config.patch">
          <FirstStart status={status} />
        </Allowed>
      )}
      <Today />
      <div className={styles.lists}>
        <UpNextSection />
        <RecentRunsSection />
      </div>
    </Page>
  );
}

/** Model in use. */
function ModelLine({ status }: { status: SystemStatus | undefined }) {
  if (!status) return <span>&nbsp;</span>;
  return status.model === null ? (
    "No model yet. Reminders and tool jobs work without one."
  ) : (
    <span>{status.model}</span>
  );
}

/** Engine problems, each as a notice. */
function EngineNotices({ status, now }: { status: SystemStatus; now: number }) {
  const resume = useResume();
  const { cron, problem } = status;
  const shell = useShellInfo();
  return (
    <div className={styles.situations}>
      {problem !== null && (
        <Notice icon={TriangleAlert} tone="bad">
          {problem}
        </Notice>
      )}
      {status.notifications.failing && (
        <Notice
          icon={BellOff}
          tone="bad"
          action={
            <ButtonLink to="/settings" hash="notifications" small>
              Settings
            </ButtonLink>
          }
        >
          {`Notifications are not delivered. ${status.notifications.reason ?? ""}`}
        </Notice>
      )}
      {shell.data?.tray === false && shell.data.computer === null && <NoTrayNotice shell={shell.data} />}
      {!cron.enabled && (
        <Notice
          icon={Pause}
          action={
            <ButtonLink to="/settings" hash="scheduling" small>
              Settings
            </ButtonLink>
          }
        >
          {cron.offReason ?? "Scheduling is off. Jobs run only when you start them."}
        </Notice>
      )}
      {status.failingModels.map((failing) => (
        <Notice
          key={`${failing.provider} ${failing.model}`}
          icon={TriangleAlert}
          tone="bad"
          action={
            <ButtonLink to="/settings" hash="model" small>
              Settings
            </ButtonLink>
          }
        >
          <p className={styles.failing}>
            <strong>
              {failing.model} · {failing.provider}
            </strong>{" "}
            has not responded since {whenWithin(failing.sinceMs, now)}: {firstLine(failing.message)}
          </p>
          <p className={styles.cause}>{failing.fix}</p>
        </Notice>
      ))}
      <FailingJobs now={now} model={status.model} />
      {cron.pause && (
        <Notice
          icon={Pause}
          tone="accent"
          action={
            <Allowed to="cron.resume">
              <Button
                small
                isPending={resume.isPending}
                onPress={() =>
                  resume.mutate({}, { onError: (error) => toast({ title: "Could not resume", about: error.message }) })
                }
              >
                Resume
              </Button>
            </Allowed>
          }
        >
          {pauseMessage(cron.pause, now)}
        </Notice>
      )}
    </div>
  );
}

/** Without a tray, this notice offers to quit. */
function NoTrayNotice({ shell }: { shell: ShellInfo }) {
  const platform = usePlatform();
  const quit = () =>
    void platform.quit().catch((error: unknown) => toast({ title: "Could not quit Rouse", about: String(error) }));
  return (
    <Notice
      icon={PanelTop}
      action={
        <Button small onPress={quit}>
          Quit Rouse
        </Button>
      }
    >
      {
        "This desktop shows no tray icon. Rouse keeps running when you close the window. To reopen it, start Rouse again or click a notification. "
      }
      {shell.engine === "elsewhere" ? "Quitting does not stop jobs." : "No job runs after you quit."}
    </Notice>
  );
}

/** Failing jobs: the first by name, the rest by number. */
function FailingJobs({ now, model }: { now: number; model: string | null }) {
  const { jobs: failing, hasMore } = useFailingJobs();
  const others = failing.length - failingShown;
  return (
    <>
      {failing.slice(0, failingShown).map(({ job, incident }) =>
        incident && isModelConnectedSince(incident, model) ? (
          <Notice key={job.id} icon={TriangleAlert} action={<OpenJob job={job} />}>
            <p className={styles.failing}>
              <strong>{job.name}</strong> {incidentLabel(incident, now)}
            </p>
            <p className={styles.cause}>No model was set up then. The next successful run clears this.</p>
          </Notice>
        ) : (
          <Notice key={job.id} icon={TriangleAlert} tone="bad" action={<OpenJob job={job} />}>
            <p className={styles.failing}>
              <strong>{job.name}</strong> {incident && incidentLabel(incident, now)}
            </p>
            {incident && <p className={styles.cause}>{firstLine(incident.cause)}</p>}
            {incident && isMissingModel(incident.cause) && (
              <Link to="/settings" hash="model" className={styles.link}>
                Connect a model
              </Link>
            )}
          </Notice>
        ),
      )}
      {others > 0 && (
        <Notice
          icon={TriangleAlert}
          tone="bad"
          action={
            <ButtonLink to="/jobs" search={{ filter: "failing" }} small>
              Show all
            </ButtonLink>
          }
        >
          {hasMore && "Over "}
          {plural(others, "more job")} {others === 1 && !hasMore ? "is" : "are"} failing.
        </Notice>
      )}
    </>
  );
}

function OpenJob({ job: { id, name } }: { job: Job }) {
  return (
    <ButtonLink to="/jobs/$jobId" params={{ jobId: id }} small aria-label={`Open ${name}`}>
      Open
    </ButtonLink>
  );
}

function UpNextSection() {
  const { data, error, refetch } = useFirstJobs();
  const jobs = data?.jobs;
  const next = jobs?.filter(({ job }) => job.state.nextRunAtMs !== undefined).slice(0, upNextCount);
  return (
    <Section
      title="Up next"
      aside={
        jobs &&
        jobs.length > 0 && (
          <ButtonLink to="/jobs" search={{}} look="ghost" small>
            All jobs
          </ButtonLink>
        )
      }
    >
      {error && !next && <Failure title="Could not load jobs." error={error} onRetry={() => void refetch()} />}
      {!next && !error && <SkeletonRows rows={upNextCount} />}
      {next?.length === 0 && (
        <p className={styles.none}>
          <CalendarClock size={16} aria-hidden />
          Nothing scheduled. New jobs appear here with their next run.
        </p>
      )}
      {next && next.length > 0 && <NextUp jobs={next} />}
    </Section>
  );
}

function RecentRunsSection() {
  const { data, error, refetch } = useNewestRuns();
  const runs = data?.runs.slice(0, recentCount);
  return (
    <Section
      title="Recent"
      aside={
        runs &&
        runs.length > 0 && (
          <ButtonLink to="/runs" search={{}} look="ghost" small>
            All runs
          </ButtonLink>
        )
      }
    >
      {error && !runs && <Failure title="Could not load runs." error={error} onRetry={() => void refetch()} />}
      {!runs && !error && <SkeletonRows rows={recentCount} />}
      {runs?.length === 0 && (
        <p className={styles.none}>
          <History size={16} aria-hidden />
          No runs yet.
        </p>
      )}
      {runs && runs.length > 0 && (
        <ul className={styles.rows} aria-label="Recent runs">
          {runs.map((run) => (
            <li key={run.id}>
              <RunRow run={run} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
