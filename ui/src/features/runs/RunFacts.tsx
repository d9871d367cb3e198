/* Facts of a run. The cost of a live run is the sum of the steps. */

import { Link } from "@tanstack/react-router";

import { type Fact, Facts } from "@/components/Facts";
import { useEngineNow } from "@/components/engineLost";
import { Time } from "@/components/Time";
import { useChannels } from "@/data/channels";
import { isLive } from "@/domain/runState";
import { totalUsage } from "@/domain/steps";
import { recipientLabel } from "@/domain/channels";
import { deliveryLabel } from "@/domain/labels";
import { isJsonObject } from "@/format/json";
import { count, duration, money, plural } from "@/format/amount";
import {
  type ApprovalView,
  type DeliveryView,
  type RunDetail,
  runTriggerLabels,
  type RunView,
  type Usage,
} from "@/platform";

import styles from "./RunPage.module.css";

/** Lateness that counts as on time. */
const onTimeMs = 1_000;

export function RunFacts({ detail: { run, steps, deliveries, approvals, payload } }: { detail: RunDetail }) {
  const live = isLive(run.state);
  const agent = codingAgentOf(payload);
  const usage = live ? totalUsage(steps) : run.usage;
  const tokens = usage.inputTokens + usage.outputTokens;
  const paid = (run.model !== null && !live) || tokens > 0 || (usage.costMicroUsd ?? 0) > 0;
  const soFar = live ? " so far" : "";
  return (
    <div className={styles.facts}>
      <Facts
        facts={[
          { name: "Trigger", value: triggerFact(run) },
          run.slotAtMs !== null && { name: "Scheduled", value: scheduledFact(run.firstSlotAtMs, run.slotAtMs) },
          run.catchUpSlotAtMs !== null && { name: "Catch-up for", value: <Time at={run.catchUpSlotAtMs} as="when" /> },
          run.startedAtMs !== null && { name: "Started", value: startedFact(run.startedAtMs, run.lateByMs) },
          waitingFact(approvals) ?? durationFact(run, approvals),
          run.attempt > 1 && { name: "Attempt", value: run.attempt },
          run.nextAttemptAtMs !== null && {
            name: run.waitsFor === null ? "Next attempt" : "Resumes",
            value: <Time at={run.nextAttemptAtMs} as="when" />,
          },
          agent !== undefined && { name: "Coding agent", value: <code>{agent}</code> },
          run.model !== null && { name: "Model", value: run.model },
          run.fallbackReason !== null && { name: "Fallback", value: run.fallbackReason, wide: true },
          tokens > 0 && { name: `Tokens${soFar}`, value: tokensFact(usage) },
          paid && { name: `Cost${soFar}`, value: money(usage.costMicroUsd) },
          deliveries.length > 0 && { name: "Delivery", value: <DeliveryLines deliveries={deliveries} />, wide: true },
        ]}
      />
    </div>
  );
}

/** Coding agent of the payload at the start of the run. */
function codingAgentOf(payload: unknown): string | undefined {
  const agent = isJsonObject(payload) && payload.kind === "agentTurn" ? payload.agent : undefined;
  return typeof agent === "string" ? agent : undefined;
}

function triggerFact(run: RunView) {
  const word = runTriggerLabels[run.trigger];
  const slots = run.slotCount > 1 ? `, for ${run.slotCount} slots` : "";
  if (run.retryOf === null) return word + slots;
  return (
    <Link to="/runs/$runId" params={{ runId: run.retryOf }} className={styles.link} title="Original run">
      {word + slots}
    </Link>
  );
}

/** Slot, or range of slots. */
function scheduledFact(first: number | null, last: number) {
  return (
    <>
      {first !== null && (
        <>
          <Time at={first} as="when" /> to{" "}
        </>
      )}
      <Time at={last} as="when" />
    </>
  );
}

function startedFact(at: number, lateByMs: number | null) {
  return (
    <>
      <Time at={at} as="when" />
      {lateByMs !== null && (
        <span className={styles.aside}>{lateByMs < onTimeMs ? " on time" : ` ${duration(lateByMs)} late`}</span>
      )}
    </>
  );
}

/** Wait for the user, while pending. */
function waitingFact(approvals: readonly ApprovalView[]): Fact | undefined {
  const waiting = approvals.filter(({ state }) => state === "pending").map(({ requestedAtMs }) => requestedAtMs);
  return waiting.length === 0
    ? undefined
    : { name: "Waiting for you", value: <Elapsed since={Math.min(...waiting)} /> };
}

/** Duration without approval waits, and these waits. */
function durationFact(run: RunView, approvals: readonly ApprovalView[]): Fact | undefined {
  if (run.durationMs !== null) {
    const waited = Math.min(approvalWaitMs(run, approvals), run.durationMs);
    return {
      name: "Duration",
      value:
        waited === 0 ? (
          duration(run.durationMs)
        ) : (
          <>
            {duration(run.durationMs - waited)}
            <span className={styles.aside}>, plus {duration(waited)} waiting for you</span>
          </>
        ),
    };
  }
  // Nothing runs between attempts.
  if (run.startedAtMs !== null && isLive(run.state) && run.nextAttemptAtMs === null)
    return { name: "Running for", value: <Elapsed since={run.startedAtMs} /> };
  return undefined;
}

/** Overlapping waits count once. */
function approvalWaitMs({ startedAtMs, finishedAtMs }: RunView, approvals: readonly ApprovalView[]): number {
  let counted = startedAtMs ?? 0;
  let waited = 0;
  for (const { requestedAtMs, decidedAtMs } of approvals.toSorted((a, b) => a.requestedAtMs - b.requestedAtMs)) {
    const from = Math.max(requestedAtMs, counted);
    const until = Math.min(decidedAtMs ?? from, finishedAtMs ?? Infinity);
    if (until <= from) continue;
    waited += until - from;
    counted = until;
  }
  return waited;
}

function Elapsed({ since }: { since: number }) {
  const now = useEngineNow(1_000);
  return <span className="tabular">{duration(Math.max(0, Math.round((now - since) / 1_000) * 1_000))}</span>;
}

function tokensFact(usage: Usage) {
  const cached = usage.cachedInputTokens > 0 ? `, ${count(usage.cachedInputTokens)} of them cached` : "";
  return (
    <span
      title={`${usage.inputTokens.toLocaleString()} in${cached}, ${usage.outputTokens.toLocaleString()} out`}
    >{`${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out`}</span>
  );
}

/** Groups equal deliveries. */
function groupDeliveries(deliveries: readonly DeliveryView[]): [DeliveryView, ...DeliveryView[]][] {
  const groups = new Map<string, [DeliveryView, ...DeliveryView[]]>();
  for (const delivery of deliveries) {
    const { state, channel, to, attempts, reason, heldUntilMs } = delivery;
    const key = JSON.stringify([state, channel, to, attempts, reason, heldUntilMs]);
    const group = groups.get(key);
    if (group) group.push(delivery);
    else groups.set(key, [delivery]);
  }
  return [...groups.values()];
}

function DeliveryLines({ deliveries }: { deliveries: readonly DeliveryView[] }) {
  const { data, isPending } = useChannels({ enabled: deliveries.some(({ to }) => to !== null) });
  return groupDeliveries(deliveries).map(([delivery, ...others]) => (
    <DeliveryLine
      key={delivery.id}
      delivery={delivery}
      count={others.length + 1}
      recipient={isPending ? undefined : recipientLabel(data?.channels ?? [], delivery)}
    />
  ));
}

interface DeliveryLineProps {
  delivery: DeliveryView;
  count: number;
  recipient: string | undefined;
}

/** `Not delivered · phone, Anna · 3 attempts · The bot is blocked.` */
function DeliveryLine({ delivery, count: times, recipient }: DeliveryLineProps) {
  const { state, channel, attempts, reason, heldUntilMs } = delivery;
  const facts = [
    recipient === undefined ? channel : `${channel}, ${recipient}`,
    attempts > 1 && plural(attempts, "attempt"),
    state !== "held" && reason,
  ];
  return (
    <div title={delivery.body}>
      {deliveryLabel(delivery)}
      {times > 1 && `, ${plural(times, "time")}`}
      <span className={styles.aside}>
        {state === "held" && heldUntilMs !== null && (
          <>
            {" "}
            until <Time at={heldUntilMs} as="within" />
          </>
        )}
        {facts.filter(Boolean).map((fact) => ` · ${fact}`)}
      </span>
    </div>
  );
}
