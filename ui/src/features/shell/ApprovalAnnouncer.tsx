/* Announces new approvals to screen readers, assertively. */

import { useEffect, useRef, useState } from "react";

import { subjectText } from "@/domain/approval/subject";
import type { ApprovalView } from "@/platform";

export function ApprovalAnnouncer({ waiting }: { waiting: readonly ApprovalView[] | undefined }) {
  const known = useRef<ReadonlySet<string>>(undefined);
  const [announcement, setAnnouncement] = useState("");
  useEffect(() => {
    if (!waiting) return;
    const before = known.current;
    known.current = new Set(waiting.map(({ id }) => id));
    const fresh = before === undefined ? undefined : waiting.find(({ id }) => !before.has(id));
    if (fresh) setAnnouncement(`${fresh.jobName} needs your approval for ${subjectText(fresh)}.`);
    else if (waiting.length === 0) setAnnouncement("");
  }, [waiting]);
  return (
    <div className="visually-hidden" aria-live="assertive">
      {announcement}
    </div>
  );
}
