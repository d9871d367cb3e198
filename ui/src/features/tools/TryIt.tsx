/* Calling one tool by hand: its arguments, the call, and what came of it in the same place. The call is a run like any other,
   so that it can be found again; a call that changes something asks first, with the card that every question has. One could
   get it wrong by keeping the answer here: this page knows only which run it was, and reads the rest. */

import { Play } from "lucide-react";
import { useRef, useState } from "react";

import { Button } from "@/components/Button";
import { useTry } from "@/data/actions";
import { ArgumentFields } from "@/domain/arguments/ArgumentFields";
import { argumentProblems } from "@/domain/arguments/schema";
import { type Asks, asksOf } from "@/domain/tools";
import { fieldErrors, type ToolView } from "@/platform";

import styles from "./TryIt.module.css";
import { Trial } from "./Trial";

/** What is said above the fields that are marked. */
const incomplete = "Something is missing or cannot be read yet.";

export function TryIt({ tool }: { tool: ToolView }) {
  const [values, setValues] = useState<Record<string, unknown>>({});
  const [problem, setProblem] = useState<string>();
  const [runId, setRunId] = useState<string>();
  const attempt = useTry();
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
    attempt.mutate({ tool: tool.name, arguments: values }, {
      onSuccess: (begun) => setRunId(begun.runId),
      onError: (error) => setProblem(fieldErrors(error)[0]?.message ?? error.message),
    });
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
            <Button type="submit" look="primary" icon={Play} isPending={attempt.isPending}>Call it</Button>
          </span>
          <p className={styles.hint}>{hintOf(tool)}</p>
        </div>
      </form>
      {runId !== undefined && <Trial key={runId} runId={runId} from={button} />}
    </div>
  );
}

function hintOf(tool: ToolView): string {
  const where = tool.domain === "container" ? " It runs in the sandbox, as for a model." : "";
  return hints[asksOf(tool)](tool) + where;
}

const beforehand = "You see what would happen before it does";

const hints: Record<Asks, (tool: ToolView) => string> = {
  never: ({ readOnly }) => (readOnly ? "It only looks." : "It is called at once."),
  some: () => `What only looks is called at once. ${beforehand} where a call could change something.`,
  first: () => `${beforehand}, wherever a model would have to ask.`,
  always: () => `${beforehand}, each time.`,
};
