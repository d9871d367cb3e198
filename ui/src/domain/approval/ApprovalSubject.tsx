/* Tool of an approval, or coding agent and action. */

import type { ApprovalView } from "@/platform";

import { actionOf } from "./subject";

export function ApprovalSubject({ approval }: { approval: Pick<ApprovalView, "agent" | "preview" | "tool"> }) {
  const { agent, tool } = approval;
  if (agent === null) return <code>{tool}</code>;
  return (
    <>
      <code>{agent}</code>: <bdi>{actionOf(approval)}</bdi>
    </>
  );
}
