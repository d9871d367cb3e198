/* Hooks, read-only. Configured only in the settings file, because a hook can run anything. */

import { CircleX } from "lucide-react";

import { Code } from "@/components/Code";
import { Collapsible } from "@/components/Collapsible";
import { Section } from "@/components/Page";
import { Failure } from "@/components/Placeholders";
import { Time } from "@/components/Time";
import { usePlatform } from "@/data/platform";
import { useHooks } from "@/data/queries";
import { duration, plural } from "@/format/amount";
import type { ConfigView, HookView } from "@/platform";

import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";

const example = `[[hooks]]
on = "before_tool_call"
command = ["/home/me/bin/guard"]
timeout = "5s"
`;

const points: Record<string, string> = {
  after_tools_resolved: "After tools are resolved",
  before_tool_call: "Before a tool call",
  after_tool_call: "After a tool call",
  run_started: "Run started",
  run_finished: "Run finished",
  before_delivery: "Before delivery",
};

export function HooksSection({ config }: { config: ConfigView }) {
  const { data: hooks, error, refetch } = useHooks();
  const { copyText } = usePlatform();
  return (
    <Section title="Hooks" id="hooks">
      {error && !hooks && <Failure title="Could not load hooks." error={error} onRetry={() => void refetch()} />}
      <div className={styles.list}>
        {hooks?.length === 0 && (
          <SettingRow
            title="No hooks"
            help="Your commands, notified of runs or consulted before tool calls and deliveries."
          />
        )}
        {hooks?.map((hook, i) => (
          <SettingRow key={i} title={points[hook.on] ?? hook.on} help={<About hook={hook} />} />
        ))}
      </div>
      <Collapsible title="Add a hook" summary="In the settings file, applied after a restart">
        <p className={styles.how}>
          Add this to <code>{config.path}</code> and restart Rouse. The command reads one line of JSON. A consulted hook
          allows by printing nothing, and denies with <code>{'{"decision": "deny", "reason": "…"}'}</code>. An error or
          a timeout counts as deny.
        </p>
        <Code label="Hook example" text={example} onCopy={copyText} unfolded />
      </Collapsible>
    </Section>
  );
}

function About({ hook: { on, isConsulted, command, timeoutMs, calls, failures, last } }: { hook: HookView }) {
  return (
    <>
      <code>{command.map(quoted).join(" ")}</code>
      <p>
        {isConsulted ? "Consulted, timeout" : "Notified, timeout"} {duration(timeoutMs)} · <code>{on}</code>
        {" · "}
        {last === null ? (
          "not called since start"
        ) : (
          <>
            {plural(calls, "call")}
            {failures > 0 && `, ${failures.toLocaleString()} failed`} · last <Time at={last.atMs} as="log" />, took{" "}
            {duration(last.durationMs)}
          </>
        )}
      </p>
      {last?.problem != null && (
        <p className={styles.problem}>
          <CircleX size={13} aria-hidden /> Last call failed: {last.problem}
        </p>
      )}
    </>
  );
}

/** Quotes an argument as in a shell. */
function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : JSON.stringify(argument);
}
