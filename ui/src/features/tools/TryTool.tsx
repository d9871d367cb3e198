/* Calls a tool manually. The call is a run; this page keeps only the run's id. */

import { Play } from "lucide-react";
import { useRef, useState } from "react";

import { Button } from "@/components/Button";
import { useTryTool } from "@/data/actions";
import { ArgumentFields } from "@/domain/arguments/ArgumentFields";
import { argumentProblems } from "@/domain/arguments/schema";
import { type ApprovalNeed, approvalNeed } from "@/domain/tools";
import { fieldErrors, type ToolView } from "@/platform";

import styles from "./TryTool.module.css";
import { TrialResult } from "./TrialResult";

const incomplete = "Some arguments are missing or invalid.";

export function TryTool({ tool }: { tool: ToolView }) {
  const [values, setValues] = useState<Record<string, unknown>>({});
  const [problem, setProblem] = useState<string>();
  const [runId, setRunId] = useState<string>();
  const attempt = useTryTool();
  const button = useRef<HTMLSpanElement>(null);
  const change = (next: Record<string, unknown>) => {
    setValues(next);
    setProblem(undefined);
  };
  const call = () => {
    if (attempt.isPending) return;
    if (Object.keys(argumentProblems(tool.parameters, values)).length > 0) {
      setProblem(incomplete);
      return;
    }
    setProblem(undefined);
    attempt.mutate(
      { tool: tool.name, arguments: values },
      {
        onSuccess: (begun) => setRunId(begun.runId),
        onError: (error) => setProblem(fieldErrors(error)[0]?.message ?? error.message),
      },
    );
  };
  return (
    <div className={styles.parts}>
      <form
        className={styles.form}
        aria-label={`Try ${tool.name}`}
        onSubmit={(event) => {
          event.preventDefault();
          call();
        }}
      >
        <ArgumentFields tool={tool} value={values} onChange={change} error={problem} />
        <div className={styles.call}>
          <span ref={button}>
            <Button type="submit" look="primary" icon={Play} isPending={attempt.isPending}>
              Call
            </Button>
          </span>
          <p className={styles.hint}>{hintOf(tool)}</p>
        </div>
      </form>
      {runId !== undefined && <TrialResult key={runId} runId={runId} from={button} />}
    </div>
  );
}

function hintOf(tool: ToolView): string {
  const { domain, origin } = tool;
  const where = domain === "container" ? " Runs in the sandbox." : "";
  const server = origin === null ? "" : ` Starts the MCP server ${origin.extension} if needed.`;
  return hints[approvalNeed(tool)](tool) + where + server;
}

const beforehand = "Shows a preview first";

const hints: Record<ApprovalNeed, (tool: ToolView) => string> = {
  never: ({ readOnly }) => (readOnly ? "Read-only." : "Runs right away."),
  some: () => `Read-only calls run right away. ${beforehand} for other calls.`,
  first: () => `${beforehand} where a model would need approval.`,
  always: () => `${beforehand}, every time.`,
};
