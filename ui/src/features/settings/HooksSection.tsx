/* Hooks: commands of the person's that are told of a run or asked about it. They are shown here and changed in the settings file
   alone, because whoever could name one could run anything; the page names the file and shows how. */

import { CircleX } from "lucide-react";

import { Code } from "@/components/Code";
import { Folded } from "@/components/Folded";
import { Section } from "@/components/Page";
import { Failure } from "@/components/States";
import { Time } from "@/components/Time";
import { usePlatform } from "@/data/platform";
import { useHooks } from "@/data/queries";
import { duration, plural } from "@/format/amount";
import type { ConfigView, HookView } from "@/platform";

import { Setting } from "./Setting";
import styles from "./Settings.module.css";

const example = `[[hooks]]
on = "before_tool_call"
command = ["/home/me/bin/guard"]
timeout = "5s"
`;

const points: Record<string, string> = {
  after_tools_resolved: "When the tools of a run are known",
  before_tool_call: "Before a tool is called",
  after_tool_call: "After a tool was called",
  run_started: "When a run begins",
  run_finished: "When a run has ended",
  before_delivery: "Before something is delivered",
};

export function HooksSection({ config }: { config: ConfigView }) {
  const { data: hooks, error, refetch } = useHooks();
  const { copyText } = usePlatform();
  return (
    <Section title="Hooks" id="hooks">
      {error && !hooks && <Failure title="The hooks could not be listed." error={error} onRetry={() => void refetch()} />}
      <div className={styles.list}>
        {hooks?.length === 0 && <Setting title="None yet" help="Commands of yours that are told of a run, or asked before a tool is called or something is delivered." />}
        {hooks?.map((hook, i) => <Setting key={i} title={points[hook.on] ?? hook.on} help={<About hook={hook} />} />)}
      </div>
      <Folded title="How to set one up" summary="In the settings file, read at the next start">
        <p className={styles.how}>
          Write this into <code>{config.path}</code> and start Rouse again. The command reads one line of JSON; one that is asked answers with nothing, which is a
          yes, or with <code>{'{"decision": "deny", "reason": "…"}'}</code>. One that fails or takes too long says no.
        </p>
        <Code label="Example of a hook" text={example} onCopy={copyText} unfolded />
      </Folded>
    </Section>
  );
}

function About({ hook: { on, isAsked, command, timeoutMs, calls, failures, last } }: { hook: HookView }) {
  return (
    <>
      <code>{command.map(quoted).join(" ")}</code>
      <p>
        {isAsked ? "Asked, at most" : "Told, at most"} {duration(timeoutMs)} · <code>{on}</code>
        {" · "}
        {last === null ? "not needed since Rouse began" : <>{plural(calls, "time")}{failures > 0 && `, ${failures.toLocaleString()} failed`} · last <Time at={last.atMs} as="log" />, took {duration(last.tookMs)}</>}
      </p>
      {last?.problem != null && (
        <p className={styles.problem}>
          <CircleX size={13} aria-hidden /> The last one failed: {last.problem}
        </p>
      )}
    </>
  );
}

/** An argument as it would be typed, so that its ends can be seen. */
function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : JSON.stringify(argument);
}
