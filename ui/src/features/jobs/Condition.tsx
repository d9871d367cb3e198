/* A condition on the result of a tool call, and what it says of the last one. Nothing is asked of the engine while the
   words are being typed; an answer is about the words that were tried, and goes when they change. */

import { useMutation } from "@tanstack/react-query";

import { Button } from "@/components/Button";
import { Code, pretty } from "@/components/Code";
import { Time } from "@/components/Time";
import { Worded } from "@/components/Worded";
import { usePlatform } from "@/data/platform";
import type { CronTryConditionResult } from "@/platform";

import { TextOf, useBound } from "./bound";
import styles from "./Condition.module.css";
import { sentence } from "./fields";

export function Condition({ jobId }: { jobId: string | undefined }) {
  const { value: cel } = useBound("condition");
  const platform = usePlatform();
  const tried = useMutation({ mutationFn: (cel: string) => platform.rpc("cron.tryCondition", { id: jobId ?? null, cel }) });
  const isAboutThis = tried.variables === cel;
  return (
    <div className={styles.condition}>
      <TextOf
        name="condition"
        label="Condition"
        mono
        placeholder="json(result.stdout) < 20"
        help="In CEL, over result, previous (the result before), state and event (what fired it, or null). A result that is text can be read with json(result.body)."
      />
      <div>
        <Button small isPending={tried.isPending} isDisabled={cel.trim() === ""} onPress={() => tried.mutate(cel)}>
          {jobId === undefined ? "Check" : "Try on the last result"}
        </Button>
      </div>
      <div role="status" className={styles.answer}>
        {isAboutThis && tried.error && <p className={styles.bad}>It could not be tried. <Worded text={tried.error.message} /></p>}
        {isAboutThis && tried.data && <Answer answer={tried.data} />}
      </div>
    </div>
  );
}

function Answer({ answer: { problem, holds, on } }: { answer: CronTryConditionResult }) {
  return (
    <>
      {problem !== null && <p className={styles.bad}>{sentence(problem)}</p>}
      {holds === true && <p>Yes: this would be told.</p>}
      {holds === false && <p>No: nobody would be told.</p>}
      {problem === null && holds === null && <p>It can be read. There is no result yet to try it on; run the job once.</p>}
      {on !== null && (
        <>
          <p className={styles.quiet}>The last result, <Time at={on.atMs} />:</p>
          <Code label="Last result" text={pretty(on.result)} />
        </>
      )}
    </>
  );
}
