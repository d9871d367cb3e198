/* Permissions: approvals, hosts, folders, sandbox and grants. */

import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { Switch } from "@/components/Choice";
import { TextArea } from "@/components/Field";
import { Collapsible } from "@/components/Collapsible";
import { VisibleText } from "@/components/VisibleText";
import { useGrants } from "@/data/approvals";
import { coverSentence } from "@/domain/approval/grantDraft";
import { GrantSentenceText } from "@/domain/approval/GrantSentenceText";
import { argumentsLine } from "@/format/text";
import { showUnambiguous } from "@/format/visible";
import type { Approvals } from "@/platform";

import { JobSelect, JobDurationField, useJobField } from "./jobFields";
import styles from "./JobEditor.module.css";

const approvalPolicies: readonly { id: Approvals; label: string; about: string }[] = [
  { id: "ask", label: "Ask me", about: "The run waits for your decision. Other runs continue." },
  { id: "deny", label: "Deny", about: "The agent continues without the call." },
  {
    id: "skip",
    label: "Hide tools that need approval",
    about: "Only tools with a grant stay available.",
  },
];

/** The permission requests of a coding agent. */
const approvalPoliciesOfAgent: typeof approvalPolicies = [
  { id: "ask", label: "Ask me", about: "The task waits for your decision. Other runs continue." },
  { id: "deny", label: "Deny", about: "The task fails at the first permission request." },
];

/** Only a hook can require approval of a fixed call. */
const approvalPoliciesOfCall: typeof approvalPolicies = [
  { id: "ask", label: "Ask me", about: "The run waits for your decision. Other runs continue." },
  { id: "deny", label: "Deny", about: "The run fails and names the hook." },
];

export function PermissionFields({
  jobId,
  isAgent,
  isDelegated = false,
  isCommand = false,
}: {
  jobId: string | undefined;
  isAgent: boolean;
  /** A coding agent works on the task, with the hosts and the sandbox of its own definition. */
  isDelegated?: boolean;
  isCommand?: boolean;
}) {
  const { value: approvals, error: approvalsError } = useJobField("approvals");
  const { value: hosts, error: hostsError } = useJobField("hosts");
  const { value: folders, error: foldersError } = useJobField("folders");
  const sandbox = useJobField("sandbox");
  const isWrong = approvalsError !== undefined || hostsError !== undefined || foldersError !== undefined;
  // Hosts do not limit unsandboxed commands and coding agents, so the field shows only to be emptied.
  const [hadHosts] = useState(hosts !== "");
  const hasHosts = (!isCommand && !isDelegated) || hadHosts || hosts !== "";
  const hasSandbox = isAgent && (!isDelegated || sandbox.value === "open");
  const summary = [
    isCommand && "your full permissions, no sandbox",
    isAgent ? approvalSummary[approvals] : approvals !== "ask" && "denies approvals",
    hasHosts && (hosts.trim() === "" ? "any public host" : "listed hosts only"),
    isAgent && folders.trim() !== "" && "extra folders",
    hasSandbox && sandbox.value === "open" && "unsandboxed commands",
  ];
  return (
    <Collapsible
      key={String(isWrong)}
      title="Permissions"
      summary={summary.filter((part) => part !== false).join(" · ")}
      defaultExpanded={isWrong}
    >
      <div className={styles.fields}>
        <div className={styles.pair}>
          <JobSelect
            name="approvals"
            label="Approvals"
            help={isAgent ? undefined : "Applies when a hook requires approval."}
            choices={approvalChoices({ approvals, isAgent, isDelegated })}
          />
          {approvals === "ask" && (
            <JobDurationField
              name="approvalTime"
              label="Approval timeout"
              least={60}
              most={604_800}
              defaultSeconds={1_800}
              help="The call is denied afterwards. [default: 30 minutes]"
            />
          )}
        </div>
        {hasHosts && <HostsField isAgent={isAgent} />}
        {isAgent && <FoldersField />}
        {hasSandbox && (
          <Switch
            isSelected={sandbox.value === "open"}
            onChange={(open) => sandbox.onChange(open ? "open" : "required")}
            help={
              sandbox.value === "open"
                ? "Commands run with your full permissions. Each one needs approval."
                : "Commands run in the sandbox or not at all."
            }
          >
            Run commands outside the sandbox
          </Switch>
        )}
        {jobId !== undefined && <JobGrants jobId={jobId} />}
      </div>
    </Collapsible>
  );
}

interface ApprovalContext {
  approvals: Approvals;
  isAgent: boolean;
  isDelegated: boolean;
}

/** A stored policy stays selectable. */
function approvalChoices({ approvals, isAgent, isDelegated }: ApprovalContext): typeof approvalPolicies {
  if (approvals === "skip" || (isAgent && !isDelegated)) return approvalPolicies;
  return isDelegated ? approvalPoliciesOfAgent : approvalPoliciesOfCall;
}

/** Grants of the job. Shown here because an edit does not revoke grants. */
function JobGrants({ jobId }: { jobId: string }) {
  const grants = useGrants().data?.filter((grant) => grant.jobId === jobId && grant.isValid) ?? [];
  if (grants.length === 0) return null;
  return (
    <div className={styles.group}>
      <span className={styles.label} aria-hidden>
        Grants
      </span>
      <ul className={styles.granted} aria-label="Grants">
        {grants.map(({ id, tool, covers }) => (
          <li key={id}>
            <code>{tool}</code> <GrantSentenceText sentence={coverSentence(covers)} />
            {covers.kind === "exact" && (
              <>
                : <VisibleText text={showUnambiguous(argumentsLine(covers.arguments))} />
              </>
            )}
          </li>
        ))}
      </ul>
      <p className={styles.note}>
        Editing the job keeps its grants.{" "}
        <Link to="/grants" className={styles.link}>
          Revoke
        </Link>{" "}
        those that no longer fit.
      </p>
    </div>
  );
}

const approvalSummary: Record<Approvals, string> = {
  ask: "asks for approval",
  deny: "denies approvals",
  skip: "hides tools that need approval",
};

function FoldersField() {
  const { error, ...field } = useJobField("folders");
  return (
    <TextArea
      mono
      rows={2}
      label="Folders"
      {...field}
      error={error}
      help="Readable folders besides the workspace, one per line. Add :write to allow changes. [default: none]"
      placeholder="~/Notes"
      spellCheck="false"
    />
  );
}

function HostsField({ isAgent }: { isAgent: boolean }) {
  const { error, ...field } = useJobField("hosts");
  return (
    <TextArea
      mono
      rows={2}
      label="Hosts"
      {...field}
      error={error}
      help={`One per line, port optional. [default: any public host${isAgent ? "; no network for commands" : ""}]`}
      placeholder="example.com"
      spellCheck="false"
    />
  );
}
