/* CEL condition on a tool result, with a test against the last result. A test result disappears when the condition
   changes. */

import { toSentence } from "@/format/text";
import { useMutation } from "@tanstack/react-query";

import { Button } from "@/components/Button";
import { Code, pretty } from "@/components/Code";
import { Time } from "@/components/Time";
import { InlineCode } from "@/components/InlineCode";
import { usePlatform } from "@/data/platform";
import type { CronTryConditionResult } from "@/platform";

import { JobTextField, useJobField } from "./jobFields";
import styles from "./ConditionField.module.css";

export function ConditionField({ jobId }: { jobId: string | undefined }) {
  const { value: cel } = useJobField("condition");
  const platform = usePlatform();
  const test = useMutation({
    mutationFn: (cel: string) => platform.rpc("cron.tryCondition", { id: jobId ?? null, cel }),
  });
  const isCurrent = test.variables === cel;
  return (
    <div className={styles.condition}>
      <JobTextField
        name="condition"
        label="Condition"
        mono
        placeholder="json(result.stdout) < 20"
        help="CEL over result, previous, state and event. Parse JSON text with json(result.body)."
      />
      <div>
        <Button small isPending={test.isPending} isDisabled={cel.trim() === ""} onPress={() => test.mutate(cel)}>
          {jobId === undefined ? "Check" : "Test with the last result"}
        </Button>
      </div>
      <div role="status" className={styles.answer}>
        {isCurrent && test.error && (
          <p className={styles.bad}>
            Could not test the condition. <InlineCode text={test.error.message} />
          </p>
        )}
        {isCurrent && test.data && <TestResult answer={test.data} />}
      </div>
    </div>
  );
}

function TestResult({ answer: { problem, holds, on } }: { answer: CronTryConditionResult }) {
  return (
    <>
      {problem !== null && <p className={styles.bad}>{toSentence(problem)}</p>}
      {holds === true && <p>True: you would be notified.</p>}
      {holds === false && <p>False: you would not be notified.</p>}
      {problem === null && holds === null && <p>Valid. No result to test with yet: run the job once.</p>}
      {on !== null && (
        <>
          <p className={styles.quiet}>
            Last result, <Time at={on.atMs} />:
          </p>
          <Code label="Last result" text={pretty(on.result)} />
        </>
      )}
    </>
  );
}
