/* What the job may do: what happens when a call needs a yes, which hosts it may reach, and whether commands that a model has
   chosen stay in the sandbox. The defaults are the careful ones, and are a full answer. What was granted to it stands below. */

import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { Switch } from "@/components/Choice";
import { TextArea } from "@/components/Field";
import { Folded } from "@/components/Folded";
import { Marks } from "@/components/Marks";
import { Worded } from "@/components/Worded";
import { useGrants } from "@/data/approvals";
import { coverWords } from "@/domain/approval/rules";
import { SaidWords } from "@/domain/approval/SaidWords";
import { valuesWords } from "@/domain/approval/words";
import { argumentsLine } from "@/format/text";
import { unmistakable } from "@/format/visible";
import type { Approvals } from "@/platform";

import { ChoiceOf, LengthOf, useBound } from "./bound";
import styles from "./Editor.module.css";

const answers: readonly { id: Approvals; label: string; about: string }[] = [
  { id: "ask", label: "Ask me, and wait", about: "The run waits for your answer; everything else goes on." },
  { id: "deny", label: "Answer no at once", about: "The model is told so, and goes on without it." },
  { id: "skip", label: "Do not offer such tools", about: "Tools that would have to ask are left out, but for those that a grant covers a call of." },
];

/** You have written the one call of such a job, so only a hook can want it asked. */
const answersOfCall: typeof answers = [
  { id: "ask", label: "Ask me, and wait", about: "The run waits for your answer; everything else goes on." },
  { id: "deny", label: "Answer no at once", about: "The run fails, and says which hook it was." },
];

export function MayFields({ jobId, isAgent, isCommand = false }: { jobId: string | undefined; isAgent: boolean; isCommand?: boolean }) {
  const { value: approvals, error: approvalsError } = useBound("approvals");
  const { value: hosts, error: hostsError } = useBound("hosts");
  const { value: folders, error: foldersError } = useBound("folders");
  const sandbox = useBound("sandbox");
  const isWrong = approvalsError !== undefined || hostsError !== undefined || foldersError !== undefined;
  // Your own command runs outside the sandbox, where no list of hosts bounds it; one that is there can be taken out.
  const [hadHosts] = useState(hosts !== "");
  const hasHosts = !isCommand || hadHosts || hosts !== "";
  const summary = [isCommand && "your own rights, outside the sandbox", isAgent ? short[approvals] : approvals !== "ask" && "asks nobody", hasHosts && (hosts.trim() === "" ? "any public address" : "only named hosts"), isAgent && folders.trim() !== "" && "named folders", isAgent && sandbox.value === "open" && "commands outside the sandbox"];
  return (
    <Folded key={String(isWrong)} title="What it may do" summary={summary.filter((part) => part !== false).join(" · ")} defaultExpanded={isWrong}>
      <div className={styles.fields}>
        <div className={styles.pair}>
          <ChoiceOf name="approvals" label={isAgent ? "When something needs your yes" : "When a hook wants your yes"} choices={isAgent || approvals === "skip" ? answers : answersOfCall} />
          {approvals === "ask" && <LengthOf name="approvalTime" label="A question waits" least={60} most={604_800} usual={1_800} help="Then the answer is no." />}
        </div>
        {hasHosts && <Hosts isAgent={isAgent} />}
        {isAgent && <Folders />}
        {isAgent && (
          <Switch
            isSelected={sandbox.value === "open"}
            onChange={(open) => sandbox.onChange(open ? "open" : "required")}
            help={sandbox.value === "open" ? "Commands that the model chooses run with all your rights, and can read and change whatever you can. Each one is asked for." : "Commands that the model chooses run in a sandbox, or not at all."}
          >
            Let its commands leave the sandbox
          </Switch>
        )}
        {jobId !== undefined && <Granted jobId={jobId} />}
      </div>
    </Folded>
  );
}

/** What it may do without asking. A change of the job leaves that as it is, so whoever changes it is shown it. */
function Granted({ jobId }: { jobId: string }) {
  const grants = useGrants().data?.filter((grant) => grant.jobId === jobId && grant.isGood) ?? [];
  if (grants.length === 0) return null;
  return (
    <div className={styles.group}>
      <span className={styles.label} aria-hidden>What it may do without asking</span>
      <ul className={styles.granted} aria-label="What it may do without asking">
        {grants.map(({ id, tool, covers, writesValues }) => (
          <li key={id}>
            <code>{tool}</code> <SaidWords said={coverWords(covers)} />
            {covers.kind === "exact" && <>: <Marks text={unmistakable(argumentsLine(covers.arguments))} /></>}
            {writesValues.length > 0 && <>. <Worded text={valuesWords({ writesValues }) ?? ""} /></>}
          </li>
        ))}
      </ul>
      <p className={styles.note}>Changing the job leaves this as it is. <Link to="/grants" className={styles.link}>Take it back</Link> if it is not meant for what the job does from now on.</p>
    </div>
  );
}

const short: Record<Approvals, string> = { ask: "asks you", deny: "is told no", skip: "is not offered what asks" };

function Folders() {
  const { error, ...field } = useBound("folders");
  return <TextArea mono rows={2} label="Folders" {...field} error={error} help="One a line, beside the workspace. Its calls may read them; add :write to let them change files too." placeholder="~/Notes" spellCheck="false" />;
}

function Hosts({ isAgent }: { isAgent: boolean }) {
  const { error, ...field } = useBound("hosts");
  return <TextArea mono rows={2} label="Hosts it may reach" {...field} error={error} help={`One a line, with or without a port. ${isAgent ? "With none named it may look at any public address, and its commands have no network." : "With none named its request may go to any public address; with some, to these alone."}`} placeholder="example.com" spellCheck="false" />;
}
