/* The twenty-second look: what happened, what comes next, and whether anything stands in the way. */

import { Link } from "@tanstack/react-router";
import { BellOff, CalendarClock, History, PanelTop, Pause, Plus, TriangleAlert } from "lucide-react";

import { Button, ButtonLink } from "@/components/Button";
import { Notice } from "@/components/Notice";
import { Page, Section } from "@/components/Page";
import { Failure, SkeletonRows } from "@/components/States";
import { toast } from "@/components/Toasts";
import { useNow } from "@/components/useNow";
import { useResume } from "@/data/actions";
import { useFailingJobs, useFirstJobs } from "@/data/jobs";
import { usePlatform } from "@/data/platform";
import { useShellInfo, useStatus } from "@/data/queries";
import { useNewestRuns } from "@/data/runs";
import { pauseWords } from "@/domain/firing";
import { incidentWords, isMended, lacksModel } from "@/domain/incident";
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

const lately = 8;
const upNext = 5;
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
        <ButtonLink to="/jobs/new" search={{}} look="primary" icon={Plus}>
          New job
        </ButtonLink>
      }
    >
      <NeedsYou />
      {status && <Situations status={status} now={now} />}
      {status && !status.firstStart.dismissed && <FirstStart status={status} />}
      <Today />
      <div className={styles.lists}>
        <NextUpSection />
        <Lately />
      </div>
    </Page>
  );
}

/** Which model works, or that none does yet; what needs no model works either way. */
function ModelLine({ status }: { status: SystemStatus | undefined }) {
  if (!status) return <span>&nbsp;</span>;
  return status.model === null ? "No model yet. Reminders and tool jobs work without one." : <span>{status.model}</span>;
}

/** What stands in the way of everything, one line each. */
function Situations({ status, now }: { status: SystemStatus; now: number }) {
  const resume = useResume();
  const { cron, problem } = status;
  const shell = useShellInfo();
  return (
    <div className={styles.situations}>
      {problem !== null && <Notice icon={TriangleAlert} tone="bad">{problem}</Notice>}
      {status.notifications.failing && (
        <Notice icon={BellOff} tone="bad" action={<ButtonLink to="/settings" hash="notifications" small>Settings</ButtonLink>}>
          {`Notifications do not get through. ${status.notifications.reason ?? ""}`}
        </Notice>
      )}
      {shell.data?.tray === false && <NoTray shell={shell.data} />}
      {!cron.enabled && (
        <Notice icon={Pause} action={<ButtonLink to="/settings" hash="scheduling" small>Settings</ButtonLink>}>
          {cron.offReason ?? "Scheduling is switched off. Nothing fires until it is switched on."}
        </Notice>
      )}
      {status.failingModels.map((failing) => (
        <Notice key={`${failing.provider} ${failing.model}`} icon={TriangleAlert} tone="bad" action={<ButtonLink to="/settings" hash="model" small>Settings</ButtonLink>}>
          <p className={styles.failing}><strong>{failing.model} · {failing.provider}</strong> has not answered since {whenWithin(failing.sinceMs, now)}: {firstLine(failing.words)}</p>
          <p className={styles.cause}>{failing.mend}</p>
        </Notice>
      ))}
      <Failing now={now} model={status.model} />
      {cron.pause && (
        <Notice
          icon={Pause}
          tone="accent"
          action={
            <Button small isPending={resume.isPending} onPress={() => resume.mutate({}, { onError: (error) => toast({ title: "It was not resumed", about: error.message }) })}>
              Resume
            </Button>
          }
        >
          {pauseWords(cron.pause, now)}
        </Notice>
      )}
    </div>
  );
}

/** Without a tray, closing the window is no way to quit, so the way stands here. */
function NoTray({ shell }: { shell: ShellInfo }) {
  const platform = usePlatform();
  const quit = () => void platform.quit().catch((error: unknown) => toast({ title: "Rouse was not quit", about: String(error) }));
  return (
    <Notice icon={PanelTop} action={<Button small onPress={quit}>Quit Rouse</Button>}>
      {"This desktop shows no tray icon. Rouse goes on when the window is closed; start it again, or click a notification, to get the window back. "}
      {shell.engine === "elsewhere" ? "Quitting it stops no job." : "While it is not running, no job fires."}
    </Notice>
  );
}

/** Jobs that fail, or were paused for it: the first few by name, the rest by number. */
function Failing({ now, model }: { now: number; model: string | null }) {
  const { jobs: failing, hasMore } = useFailingJobs();
  const others = failing.length - failingShown;
  return (
    <>
      {failing.slice(0, failingShown).map(({ job, incident }) => incident && isMended(incident, model) ? (
        <Notice key={job.id} icon={TriangleAlert} action={<OpenJob job={job} />}>
          <p className={styles.failing}><strong>{job.name}</strong> {incidentWords(incident, now)}</p>
          <p className={styles.cause}>There was no model then. Now there is one; a run that succeeds clears this.</p>
        </Notice>
      ) : (
        <Notice key={job.id} icon={TriangleAlert} tone="bad" action={<OpenJob job={job} />}>
          <p className={styles.failing}><strong>{job.name}</strong> {incident && incidentWords(incident, now)}</p>
          {incident && <p className={styles.cause}>{firstLine(incident.cause)}</p>}
          {incident && lacksModel(incident.cause) && <Link to="/settings" hash="model" className={styles.link}>Set a model up</Link>}
        </Notice>
      ))}
      {others > 0 && (
        <Notice icon={TriangleAlert} tone="bad" action={<ButtonLink to="/jobs" search={{ filter: "failing" }} small>Show them</ButtonLink>}>
          {hasMore && "Over "}
          {plural(others, "more job")} {others === 1 && !hasMore ? "fails" : "fail"}.
        </Notice>
      )}
    </>
  );
}

function OpenJob({ job: { id, name } }: { job: Job }) {
  return <ButtonLink to="/jobs/$jobId" params={{ jobId: id }} small aria-label={`Open ${name}`}>Open</ButtonLink>;
}

function NextUpSection() {
  const { data, error, refetch } = useFirstJobs();
  const jobs = data?.jobs;
  const next = jobs?.filter(({ job }) => job.state.nextRunAtMs !== undefined).slice(0, upNext);
  return (
    <Section title="Next up" aside={jobs && jobs.length > 0 && <ButtonLink to="/jobs" search={{}} look="ghost" small>All jobs</ButtonLink>}>
      {error && !next && <Failure title="The jobs could not be read." error={error} onRetry={() => void refetch()} />}
      {!next && !error && <SkeletonRows rows={upNext} />}
      {next?.length === 0 && (
        <p className={styles.none}>
          <CalendarClock size={16} aria-hidden />
          Nothing is scheduled. A job made with “New job” shows up here with its next time.
        </p>
      )}
      {next && next.length > 0 && <NextUp jobs={next} />}
    </Section>
  );
}

function Lately() {
  const { data, error, refetch } = useNewestRuns();
  const runs = data?.runs.slice(0, lately);
  return (
    <Section title="Lately" aside={runs && runs.length > 0 && <ButtonLink to="/runs" search={{}} look="ghost" small>All runs</ButtonLink>}>
      {error && !runs && <Failure title="The runs could not be read." error={error} onRetry={() => void refetch()} />}
      {!runs && !error && <SkeletonRows rows={lately} />}
      {runs?.length === 0 && (
        <p className={styles.none}>
          <History size={16} aria-hidden />
          Nothing has run yet.
        </p>
      )}
      {runs && runs.length > 0 && (
        <ul className={styles.rows} aria-label="Newest runs">
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

