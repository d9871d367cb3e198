/* Result of a check: tests and problems of a tool. */

import { CircleCheck, CircleX } from "lucide-react";

import { InlineCode } from "@/components/InlineCode";
import { MovingArc } from "@/domain/ringIcons";
import { ToolTests } from "@/domain/ToolTests";
import { testCounts, testsLabel } from "@/domain/toolBuilds";
import { showInvisible } from "@/format/visible";
import type { ToolBuild } from "@/platform";

import styles from "./Builds.module.css";

/** True if a person may install the version. */
export function isPassed({ state }: ToolBuild): boolean {
  return state === "passed" || state === "accepted" || state === "replaced";
}

/** Shown while the tests run. */
export function Checking() {
  return (
    <div>
      <p role="status" className={styles.progress}>
        <span aria-hidden>
          <MovingArc size={16} />
        </span>
        Checking the folder …
      </p>
      <p className={styles.note}>Rouse runs every test in its sandbox, without a network. This takes at most 2 min.</p>
    </div>
  );
}

export function CheckResult({ build }: { build: ToolBuild }) {
  const { name, tests, errors } = build;
  const hasPassed = isPassed(build);
  const Icon = hasPassed ? CircleCheck : CircleX;
  return (
    <div className={styles.part}>
      <p role="status" className={hasPassed ? styles.good : styles.bad}>
        <Icon size={14} aria-hidden /> {name} {hasPassed ? "passed" : "did not pass"} its check.{" "}
        {testsLabel(testCounts(build))}.
      </p>
      <CheckErrors errors={errors} />
      {tests.length > 0 && <ToolTests tests={tests} label={`Tests of ${name}`} />}
    </div>
  );
}

/** Problems of the manifest and the script. */
export function CheckErrors({ errors }: { errors: readonly string[] }) {
  if (errors.length === 0) return null;
  return (
    <ul className={styles.errors} aria-label="Errors">
      {errors.map((error, i) => (
        <li key={i}>
          <InlineCode text={showInvisible(error)} />
        </li>
      ))}
    </ul>
  );
}
