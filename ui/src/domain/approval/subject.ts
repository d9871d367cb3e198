/* Subject of an approval: the tool of the call, or the action for which a coding agent asks permission. */

import type { ApprovalView } from "@/platform";

type Subject = Pick<ApprovalView, "agent" | "preview" | "tool">;

/** Action of a coding agent: the first line of the preview, which is its title. */
export function actionOf({ preview }: Pick<ApprovalView, "preview">): string {
  return preview.split("\n").find((line) => line.trim() !== "") ?? "an action";
}

/** `write_file`, or `claude-code: Edit notes.md`. */
export function subjectText(approval: Subject): string {
  return approval.agent === null ? approval.tool : `${approval.agent}: ${actionOf(approval)}`;
}
