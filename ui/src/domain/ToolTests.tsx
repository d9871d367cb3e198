/* Results of the tests of a built tool. Names, messages and logs come from the tool, so invisible characters are
   marked. */

import { Check, CircleX } from "lucide-react";

import { Code } from "@/components/Code";
import { cx } from "@/components/cx";
import { InlineCode } from "@/components/InlineCode";
import { VisibleText } from "@/components/VisibleText";
import { showInvisible, showOneLine } from "@/format/visible";

import type { ShownTest } from "./toolBuilds";
import styles from "./ToolTests.module.css";

interface Props {
  tests: readonly ShownTest[];
  label: string;
}

export function ToolTests({ tests, label }: Props) {
  return (
    <ul className={styles.tests} aria-label={label}>
      {tests.map((test, i) => (
        <Test key={i} test={test} />
      ))}
    </ul>
  );
}

function Test({ test: { name, passed, message, log = [] } }: { test: ShownTest }) {
  const Icon = passed ? Check : CircleX;
  return (
    <li className={cx(styles.test, !passed && styles.failed)}>
      <span className={styles.icon}>
        <Icon size={13} aria-hidden />
        <span className="visually-hidden">{passed ? "Passed:" : "Failed:"}</span>
      </span>
      <div className={styles.facts}>
        <span>
          <VisibleText text={showOneLine(name)} />
        </span>
        {message !== undefined && (
          <span className={styles.message}>
            <InlineCode text={showInvisible(message)} />
          </span>
        )}
        {log.length > 0 && <Code label={`Log of ${showOneLine(name)}`} text={log.join("\n")} />}
      </div>
    </li>
  );
}
