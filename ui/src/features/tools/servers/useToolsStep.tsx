/* Last step of an installation, and the whole review: the tools that wait, or why the server did not start. */

import { CircleCheck } from "lucide-react";
import { type ReactNode, useId, useState } from "react";

import { Button } from "@/components/Button";
import { InlineCode } from "@/components/InlineCode";
import { useClickGuard } from "@/components/useClickGuard";
import { useExtensionCall } from "@/data/extensions";
import type { ServerToolsPage } from "@/platform";

import { ActionError, Starting, StepStart } from "./DialogParts";
import { HeldTools } from "./HeldTools";
import { ComponentChanges } from "./PackageFacts";
import styles from "./Servers.module.css";

interface Options {
  name: string;
  /** A coding agent has no tools: the step only tells whether it started. */
  isAgent?: boolean;
  /** How a person signs in at a coding agent. */
  signIn?: string;
  /** Result of the installation; none before. */
  found: ServerToolsPage | undefined;
  onClose: () => void;
  /** Returns to the definition. */
  onChange?: () => void;
}

export function useToolsStep({ name, isAgent = false, signIn, found: installed, onClose, onChange }: Options) {
  const review = useExtensionCall("extensions.review");
  const accept = useExtensionCall("extensions.accept");
  const [reviewed, setReviewed] = useState<ServerToolsPage>();
  const formId = useId();
  const found = reviewed ?? installed;
  const isArmed = useClickGuard(found?.page.hash ?? "");
  const start = () => {
    accept.reset();
    review.mutate({ name }, { onSuccess: setReviewed });
  };
  const change = () => {
    setReviewed(undefined);
    review.reset();
    onChange?.();
  };
  const failure = review.error?.message ?? (reviewed ? undefined : installed?.error);
  // A review has none, so those of the update stay.
  const changes = installed?.componentChanges && <ComponentChanges changes={installed.componentChanges} />;
  const agentTitle = installed === undefined ? `Test start of ${name}` : `${name} is installed`;
  const common = { title: isAgent ? agentTitle : `Tools of ${name}`, start };
  if (review.isPending)
    return { ...common, body: <Starting name={name} />, footer: <Button onPress={onClose}>Close</Button> };
  if (failure != null)
    return {
      ...common,
      body: (
        <Unavailable name={name} isAgent={isAgent} isNew={installed !== undefined} reason={failure}>
          {changes}
        </Unavailable>
      ),
      footer: (
        <>
          <Button onPress={onClose}>Close</Button>
          {onChange && <Button onPress={change}>Change</Button>}
          <Button look="primary" onPress={start}>
            Try again
          </Button>
        </>
      ),
    };
  if (!found) return { ...common, body: null, footer: null };
  if (isAgent)
    return {
      ...common,
      body: <AgentReady name={name} signIn={signIn} />,
      footer: (
        <Button look="primary" onPress={onClose}>
          Done
        </Button>
      ),
    };
  const isEmpty = found.page.tools.length === 0;
  return {
    ...common,
    body: (
      <StepStart>
        {changes}
        <HeldTools
          key={found.page.hash}
          found={found}
          formId={formId}
          onAccept={(access) => accept.mutate({ name, accept: found.page.hash, access }, { onSuccess: onClose })}
        />
        {accept.error && <ActionError error={accept.error} />}
      </StepStart>
    ),
    footer: isEmpty ? (
      <Button onPress={onClose}>Close</Button>
    ) : (
      <>
        <Button onPress={onClose}>Later</Button>
        {accept.error && <Button onPress={start}>Read again</Button>}
        <Button look="primary" type="submit" form={formId} isDisabled={!isArmed} isPending={accept.isPending}>
          Accept
        </Button>
      </>
    ),
  } satisfies { title: string; body: ReactNode; footer: ReactNode; start: () => void };
}

function AgentReady({ name, signIn }: Pick<Options, "name" | "signIn">) {
  return (
    <StepStart>
      <p role="status" className={styles.stored}>
        <CircleCheck size={14} aria-hidden /> {name} started and can work on tasks.
      </p>
      {signIn !== undefined && (
        <p>
          Not signed in yet? <InlineCode text={signIn} />
        </p>
      )}
      <p className={styles.note}>
        To use it in a job, choose “Agent task” and select {name} under “Coding agent”. Models get the tool{" "}
        <code>delegate</code>, whose calls need your approval.
      </p>
    </StepStart>
  );
}

interface UnavailableProps {
  name: string;
  isAgent: boolean;
  isNew: boolean;
  reason: string;
  children?: ReactNode;
}

function Unavailable({ name, isAgent, isNew, reason, children }: UnavailableProps) {
  const what = isAgent ? `${name} did not start.` : `The server ${name} is not available.`;
  const newWhat = isAgent
    ? `${name} is installed, but did not start.`
    : `${name} is installed, but its server is not available.`;
  return (
    <StepStart>
      <div role="alert">
        <p className={styles.error}>{isNew ? newWhat : what}</p>
        <p>
          <InlineCode text={reason} />
        </p>
      </div>
      {children}
    </StepStart>
  );
}
