/* First start: four optional steps, until dismissed. */

import { useQuery } from "@tanstack/react-query";
import { Check, X } from "lucide-react";
import type { ReactNode } from "react";

import { Button, ButtonLink, IconButton } from "@/components/Button";
import { Switch } from "@/components/Choice";
import { cx } from "@/components/cx";
import { toast } from "@/components/Toasts";
import { useCall } from "@/data/actions";
import { useDelivery } from "@/data/deliveries";
import { useFirstJobs } from "@/data/jobs";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { useCanStartAtLogin, useProviders } from "@/data/queries";
import { ConnectModel } from "@/connect/ConnectModel";
import { ModelTest } from "@/connect/ModelTest";
import { canNotify, deliveryOutcome } from "@/domain/labels";
import { plural } from "@/format/amount";
import type { SystemStatus } from "@/platform";

import styles from "./FirstStart.module.css";

export function FirstStart({ status }: { status: SystemStatus }) {
  const canStartAtLogin = useCanStartAtLogin();
  const dismiss = useCall("system.dismissFirstStart", [keys.status]);
  return (
    <section className={styles.card} aria-labelledby="first-start">
      <div className={styles.head}>
        <div>
          <h2 id="first-start">Welcome to Rouse</h2>
          <p className={styles.about}>Runs your jobs on time and reports the results. Set it up in any order.</p>
        </div>
        <IconButton icon={X} label="Dismiss" small onPress={() => dismiss.mutate({})} />
      </div>
      <ol className={styles.steps}>
        <ExampleStep status={status} />
        {canNotify(status.notifications) && <NotificationStep />}
        <ModelStep status={status} />
        {canStartAtLogin && <AutostartStep />}
        <OwnJobStep status={status} />
      </ol>
    </section>
  );
}

function OwnJobStep({ status: { firstStart } }: { status: SystemStatus }) {
  const { data } = useFirstJobs();
  const own = data?.jobs.filter(({ job }) => job.id !== firstStart.exampleJobId).length ?? 0;
  if (own > 0) {
    return (
      <Step
        done
        title="Create your first job"
        action={
          <ButtonLink to="/jobs" search={{}} small>
            View jobs
          </ButtonLink>
        }
      >
        {data?.nextCursor === null ? `You have ${plural(own, "job")}.` : `You have over ${plural(own, "job")}.`}
      </Step>
    );
  }
  return (
    <Step
      done={false}
      title="Create your first job"
      action={
        <ButtonLink to="/jobs/new" search={{}} small>
          New job
        </ButtonLink>
      }
    >
      A reminder, a tool call, or an agent task: once, at an interval, or on days you choose.
    </Step>
  );
}

function ExampleStep({ status: { firstStart } }: { status: SystemStatus }) {
  const { exampleJobId, exampleRunId } = firstStart;
  if (exampleRunId !== null) {
    return (
      <Step
        done
        title="The example job has run"
        action={
          <ButtonLink to="/runs/$runId" params={{ runId: exampleRunId }} small>
            View run
          </ButtonLink>
        }
      >
        The run shows what the job did, when, and for how long.
      </Step>
    );
  }
  return (
    <Step
      done={false}
      title="Watch a job run"
      action={
        exampleJobId !== null && (
          <ButtonLink to="/jobs/$jobId" params={{ jobId: exampleJobId }} small>
            View job
          </ButtonLink>
        )
      }
    >
      {exampleJobId === null
        ? "The example job was deleted. Any of your jobs shows the same."
        : "The example job runs within ten seconds."}
    </Step>
  );
}

/** Shown only where notifications work. */
function NotificationStep() {
  const test = useCall("deliveries.test");
  const delivery = useDelivery(test.data);
  const isShown = delivery?.state === "delivered";
  const send = () =>
    test.mutate({}, { onError: (error) => toast({ title: "Could not send the test", about: error.message }) });
  return (
    <Step
      done={isShown}
      title="Notifications"
      action={
        <Button small isPending={test.isPending} onPress={send}>
          {delivery ? "Send again" : "Send test"}
        </Button>
      }
    >
      <span role="status">
        {delivery
          ? `${delivery.state === "failed" || delivery.state === "suppressed" ? "Nothing was shown. " : ""}${deliveryOutcome(delivery)}`
          : "Runs with a result notify you. Clicking a notification opens the run."}
      </span>
    </Step>
  );
}

function ModelStep({ status: { model } }: { status: SystemStatus }) {
  const { data } = useProviders();
  const look = useCall("providers.list", [keys.providers, keys.status]);
  const active = data?.providers.find(({ name }) => name === data.active);
  if (model !== null) {
    const has = active?.state ?? "untried";
    const about = {
      answered: `${model} is in use.`,
      untried: `Found ${model}. Test whether it can call tools.`,
      failing: `${model} is not responding.`,
    }[has];
    return (
      <Step
        done={has === "answered"}
        title="Connect a model"
        action={
          <ButtonLink to="/settings" hash="model" small>
            {has === "answered" ? "Change" : "Settings"}
          </ButtonLink>
        }
        below={active && has !== "answered" && <ModelTest provider={active.name} model={active.model} />}
      >
        {about}
      </Step>
    );
  }
  return (
    <Step
      done={false}
      title="Connect a model"
      action={
        <Button small isPending={look.isPending} onPress={() => look.mutate({ refresh: true })}>
          Search again
        </Button>
      }
      below={<ConnectModel taken={[]} />}
    >
      Agents need a model; reminders and tool calls do not. Choose a provider, enter its API key, and test it.
    </Step>
  );
}

function AutostartStep() {
  const { autostart } = usePlatform();
  const { data: on, refetch } = useQuery({ queryKey: ["autostart"], queryFn: () => autostart.get() });
  const set = (next: boolean) =>
    void autostart.set(next).then(
      () => refetch(),
      (error: unknown) => toast({ title: "Could not change the setting", about: String(error) }),
    );
  return (
    <Step
      done={on === true}
      title="Start at login"
      action={
        <Switch aria-label="Start at login" isSelected={on === true} isDisabled={on === undefined} onChange={set} />
      }
    >
      Jobs run only while Rouse is running. It stays in the tray.
    </Step>
  );
}

interface StepProps {
  done: boolean;
  title: string;
  action: ReactNode;
  children: ReactNode;
  /** Full-width content below. */
  below?: ReactNode;
}

function Step({ done, title, action, children, below }: StepProps) {
  return (
    <li className={styles.step}>
      <span className={cx(styles.mark, done && styles.done)}>
        {done && <Check size={13} strokeWidth={2.6} aria-hidden />}
        <span className="visually-hidden">{done ? "Done" : "To do"}</span>
      </span>
      <div className={styles.text}>
        <h3>{title}</h3>
        <p>{children}</p>
      </div>
      {action}
      {below !== undefined && below !== false && <div className={styles.below}>{below}</div>}
    </li>
  );
}
