/* Result of a check of a built tool in the timeline: tests and errors. */

import { Link } from "@tanstack/react-router";

import { InlineCode } from "@/components/InlineCode";
import { VisibleText } from "@/components/VisibleText";
import { testCounts, testsLabel } from "@/domain/toolBuilds";
import type { ToolCheckResult } from "@/domain/toolCheck";
import { ToolTests } from "@/domain/ToolTests";
import { showInvisible, showOneLine } from "@/format/visible";

import styles from "./ToolCheckFacts.module.css";

export function ToolCheckFacts({ check }: { check: ToolCheckResult }) {
  const { name, hash, hasPassed, errors, tests } = check;
  return (
    <div className={styles.check}>
      <p className={hasPassed ? undefined : styles.failed}>
        <Link
          to="/tools/built/$toolName"
          params={{ toolName: name }}
          search={hash === undefined ? {} : { hash }}
          className={styles.name}
        >
          <VisibleText text={showOneLine(name)} />
        </Link>
        {` · ${testsLabel(testCounts(check))}`}
      </p>
      {errors.length > 0 && (
        <ul className={styles.errors} aria-label={`Errors of ${showOneLine(name)}`}>
          {errors.map((error, i) => (
            <li key={i}>
              <InlineCode text={showInvisible(error)} />
            </li>
          ))}
        </ul>
      )}
      {tests.length > 0 && <ToolTests tests={tests} label={`Tests of ${showOneLine(name)}`} />}
    </div>
  );
}
