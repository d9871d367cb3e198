/* Says a question aloud as soon as it comes, whatever is being read: the one thing in Rouse that may interrupt. Those that
   were there already are not said again. */

import { useEffect, useRef, useState } from "react";

import type { ApprovalView } from "@/platform";

export function NewQuestions({ waiting }: { waiting: readonly ApprovalView[] | undefined }) {
  const known = useRef<ReadonlySet<string>>(undefined);
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!waiting) return;
    const before = known.current;
    known.current = new Set(waiting.map(({ id }) => id));
    const fresh = before === undefined ? undefined : waiting.find(({ id }) => !before.has(id));
    if (fresh) setSaid(`${fresh.jobName} needs you: may ${fresh.tool} run?`);
    else if (waiting.length === 0) setSaid("");
  }, [waiting]);
  return (
    <div className="visually-hidden" aria-live="assertive">
      {said}
    </div>
  );
}
