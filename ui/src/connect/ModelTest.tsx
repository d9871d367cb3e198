/* Model test with verdict: a turn that must call a tool, and a turn that must not. */

import { CircleCheck, CircleX, TriangleAlert } from "lucide-react";
import { useEffect, useRef } from "react";

import { Button } from "@/components/Button";
import { cx } from "@/components/cx";
import { Time } from "@/components/Time";
import { InlineCode } from "@/components/InlineCode";
import { useTestModel } from "@/data/models";
import type { ModelTestVerdict, ModelTestView } from "@/platform";

import styles from "./Connect.module.css";

const verdicts: Record<ModelTestVerdict, { word: string; icon: typeof CircleCheck; tone: string | undefined }> = {
  works: { word: "Works", icon: CircleCheck, tone: styles.good },
  noToolCall: { word: "No tool calls", icon: TriangleAlert, tone: styles.warn },
  needlessToolCall: { word: "Needless tool calls", icon: TriangleAlert, tone: styles.warn },
  failed: { word: "No answer", icon: CircleX, tone: styles.bad },
};

interface Props {
  provider: string;
  model: string;
  startsAtOnce?: boolean;
  /** Shows only the button. */
  isCompact?: boolean;
}

export function ModelTest({ provider, model, startsAtOnce = false, isCompact = false }: Props) {
  const test = useTestModel();
  const { mutate } = test;
  const started = useRef(false);
  useEffect(() => {
    if (startsAtOnce && !started.current) {
      started.current = true;
      mutate({ provider, model, makeDefault: true });
    }
  }, [startsAtOnce, mutate, provider, model]);
  const button = (
    <Button
      small
      isPending={test.isPending}
      onPress={() => mutate({ provider, model })}
      aria-label={`Test ${model} of ${provider}`}
    >
      {test.data || test.error ? "Test again" : "Test"}
    </Button>
  );
  if (isCompact) {
    return (
      <>
        <span role="status" className="visually-hidden">
          {test.isPending ? `Testing ${model}` : ""}
        </span>
        {test.error && (
          <span className={styles.error} role="alert">
            <InlineCode text={test.error.message} />
          </span>
        )}
        {button}
      </>
    );
  }
  return (
    <div className={styles.test}>
      <div role="status" className={styles.testText}>
        {test.isPending && (
          <p className={styles.about}>
            Testing <code>{model}</code>: one answer with a tool call, one without…
          </p>
        )}
        {test.data && <Verdict test={test.data} />}
      </div>
      {test.error && (
        <p className={styles.error} role="alert">
          Could not run the test. <InlineCode text={test.error.message} />
        </p>
      )}
      {button}
    </div>
  );
}

/** Verdict and advice. */
export function Verdict({ test, isDated = false }: { test: ModelTestView; isDated?: boolean }) {
  const { word, icon: Icon, tone } = verdicts[test.verdict];
  return (
    <p className={styles.verdict}>
      <span className={cx(styles.word, tone)}>
        <Icon size={14} aria-hidden /> {word}
      </span>{" "}
      <InlineCode text={test.message} />
      {isDated && (
        <>
          {" "}
          Tested <Time at={test.atMs} as="log" />.
        </>
      )}
    </p>
  );
}
