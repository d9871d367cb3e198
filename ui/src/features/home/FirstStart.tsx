/* The first start: four short steps, each skippable, of which the first has usually happened by itself. It goes away for
   good when it is put away. */

import { useQuery } from "@tanstack/react-query";
import { Check, X } from "lucide-react";
import { type ReactNode, useState } from "react";

import { Button, ButtonLink, IconButton } from "@/components/Button";
import { Switch } from "@/components/Choice";
import { cx } from "@/components/cx";
import { toast } from "@/components/Toasts";
import { useCall } from "@/data/actions";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import type { SystemStatus } from "@/platform";

import styles from "./FirstStart.module.css";

export function FirstStart({ status }: { status: SystemStatus }) {
  const { capabilities } = usePlatform();
  const dismiss = useCall("system.dismissFirstStart", [keys.status]);
  return (
    <section className={styles.card} aria-labelledby="first-start">
      <div className={styles.head}>
        <div>
          <h2 id="first-start">Welcome to Rouse</h2>
          <p className={styles.about}>It wakes jobs on time and tells you what came of them. A few things to look at, in any order.</p>
        </div>
        <IconButton icon={X} label="Put this away" small onPress={() => dismiss.mutate({})} />
      </div>
      <ol className={styles.steps}>
        <ExampleStep status={status} />
        <NotificationStep status={status} />
        <ModelStep status={status} />
        {capabilities.autostart && <AutostartStep />}
        <Step done={false} title="Make your own first job" action={<ButtonLink to="/jobs/new" search={{}} small>New job</ButtonLink>}>
          A reminder, a tool call, or a task for a model; once, every few minutes, or on days you choose.
        </Step>
      </ol>
    </section>
  );
}

function ExampleStep({ status: { firstStart } }: { status: SystemStatus }) {
  const { exampleJobId, exampleRunId } = firstStart;
  if (exampleRunId !== null) {
    return (
      <Step done title="A job has run by itself" action={<ButtonLink to="/runs/$runId" params={{ runId: exampleRunId }} small>See its run</ButtonLink>}>
        The example job fired on its own and left a run: what it did, when, and how long it took.
      </Step>
    );
  }
  return (
    <Step done={false} title="See a job fire" action={exampleJobId !== null && <ButtonLink to="/jobs/$jobId" params={{ jobId: exampleJobId }} small>See the job</ButtonLink>}>
      {exampleJobId === null ? "The example job has been deleted; any job of yours shows the same." : "The example job fires within ten seconds of the first start."}
    </Step>
  );
}

function NotificationStep({ status: { notifications } }: { status: SystemStatus }) {
  const test = useCall("deliveries.test");
  const [sent, setSent] = useState(false);
  const send = () =>
    test.mutate({}, {
      onSuccess: () => setSent(true),
      onError: (error) => toast({ title: "The test was not sent", about: error.message }),
    });
  return (
    <Step
      done={notifications.available && sent}
      title="Notifications"
      action={
        <Button small isPending={test.isPending} onPress={send}>
          {sent ? "Send again" : "Send a test"}
        </Button>
      }
    >
      {!notifications.available ? (notifications.reason ?? "Notifications cannot be shown here.") : sent ? "Sent. A click on it leads back here. If nothing came, look at the system's notification settings." : "A run that has something to tell tells it natively; a click opens the run."}
    </Step>
  );
}

function ModelStep({ status: { model } }: { status: SystemStatus }) {
  const look = useCall("providers.list", [keys.providers, keys.status]);
  if (model !== null) {
    return (
      <Step done title="A model" action={<ButtonLink to="/settings" small>Change</ButtonLink>}>
        Found: {model}.
      </Step>
    );
  }
  return (
    <Step
      done={false}
      title="A model"
      action={
        <Button small isPending={look.isPending} onPress={() => look.mutate({ refresh: true })}>
          Look again
        </Button>
      }
    >
      None found. Start Ollama, LM Studio or llama.cpp on this computer, or set a provider’s key; it is found by itself. Jobs without a model work now.
    </Step>
  );
}

function AutostartStep() {
  const { autostart } = usePlatform();
  const { data: on, refetch } = useQuery({ queryKey: ["autostart"], queryFn: () => autostart.get() });
  const set = (next: boolean) =>
    void autostart.set(next).then(() => refetch(), (error: unknown) => toast({ title: "That did not work", about: String(error) }));
  return (
    <Step done={on === true} title="Start with the computer" action={<Switch aria-label="Start with the computer" isSelected={on === true} isDisabled={on === undefined} onChange={set} />}>
      Jobs fire only while Rouse runs. It stays out of sight in the tray.
    </Step>
  );
}

function Step({ done, title, action, children }: { done: boolean; title: string; action: ReactNode; children: ReactNode }) {
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
    </li>
  );
}
