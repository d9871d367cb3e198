/* The facts of a run, in the order they are asked for: why, when, how long, what it cost, who was told. While it goes on, what it
   has cost is what its steps have: the run itself knows it only at its end. */

import { Link } from "@tanstack/react-router";

import { type Fact, Facts } from "@/components/Facts";
import { useShownNow } from "@/components/gone";
import { Time } from "@/components/Time";
import { isLive } from "@/domain/runState";
import { usageOf } from "@/domain/steps";
import { deliveryWord, triggerWord } from "@/domain/words";
import { count, duration, money, plural } from "@/format/amount";
import type { ApprovalView, DeliveryView, RunDetail, RunView, UsageView } from "@/platform";

import styles from "./RunPage.module.css";

/** Being less late than this is being on time. */
const onTimeMs = 1_000;

export function RunFacts({ detail: { run, steps, deliveries, approvals } }: { detail: RunDetail }) {
  const live = isLive(run.state);
  const usage = live ? usageOf(steps) : run.usage;
  const tokens = usage.inputTokens + usage.outputTokens;
  const paid = (run.model !== null && !live) || tokens > 0 || (usage.costMicroUsd ?? 0) > 0;
  const soFar = live ? " so far" : "";
  return (
    <div className={styles.facts}>
      <Facts
        facts={[
          { name: "Why it fired", value: why(run) },
          run.slotAtMs !== null && { name: "Scheduled", value: scheduled(run.firstSlotAtMs, run.slotAtMs) },
          run.makesUpForMs !== null && { name: "Makes up for", value: <Time at={run.makesUpForMs} as="when" /> },
          run.startedAtMs !== null && { name: "Started", value: started(run.startedAtMs, run.lateByMs) },
          asked(approvals) ?? took(run, approvals),
          run.attempt > 1 && { name: "Attempt", value: run.attempt },
          run.nextAttemptAtMs !== null && { name: run.waitsFor === null ? "Tries again" : "Goes on", value: <Time at={run.nextAttemptAtMs} as="when" /> },
          run.model !== null && { name: "Model", value: run.model },
          run.fellBack !== null && { name: "Instead of its own", value: run.fellBack, wide: true },
          tokens > 0 && { name: `Tokens${soFar}`, value: tokenWords(usage) },
          paid && { name: `Cost${soFar}`, value: money(usage.costMicroUsd) },
          deliveries.length > 0 && { name: "Delivery", value: alike(deliveries).map(([d, ...others]) => <Delivery key={d.id} delivery={d} count={others.length + 1} />), wide: true },
        ]}
      />
    </div>
  );
}

function why(run: RunView) {
  const word = triggerWord(run.trigger);
  const slots = run.standsFor > 1 ? `, for ${run.standsFor} slots` : "";
  if (run.retryOf === null) return word + slots;
  return (
    <Link to="/runs/$runId" params={{ runId: run.retryOf }} className={styles.link} title="The run it makes up for">
      {word + slots}
    </Link>
  );
}

/** The slot, or the first and the last of several. */
function scheduled(first: number | null, last: number) {
  return (
    <>
      {first !== null && <><Time at={first} as="when" /> to </>}
      <Time at={last} as="when" />
    </>
  );
}

function started(at: number, lateByMs: number | null) {
  return (
    <>
      <Time at={at} as="when" />
      {lateByMs !== null && <span className={styles.aside}>{lateByMs < onTimeMs ? " on time" : ` ${duration(lateByMs)} late`}</span>}
    </>
  );
}

/** How long it has waited for the person, while it does. */
function asked(approvals: readonly ApprovalView[]): Fact | undefined {
  const waiting = approvals.filter(({ state }) => state === "pending").map(({ askedAtMs }) => askedAtMs);
  return waiting.length === 0 ? undefined : { name: "Waiting for you", value: <Elapsed since={Math.min(...waiting)} /> };
}

/** How long it worked, and beside that how long it waited for the person: the time between its start and its end holds both. */
function took(run: RunView, approvals: readonly ApprovalView[]): Fact | undefined {
  if (run.durationMs !== null) {
    const waited = Math.min(waitedMs(run, approvals), run.durationMs);
    return { name: "Took", value: waited === 0 ? duration(run.durationMs) : <>{duration(run.durationMs - waited)}<span className={styles.aside}>, and waited {duration(waited)} for you</span></> };
  }
  // Between two attempts nothing is at work.
  if (run.startedAtMs !== null && isLive(run.state) && run.nextAttemptAtMs === null) return { name: "Running for", value: <Elapsed since={run.startedAtMs} /> };
  return undefined;
}

/** Of questions that waited at the same time the time counts once. */
function waitedMs({ startedAtMs, finishedAtMs }: RunView, approvals: readonly ApprovalView[]): number {
  let counted = startedAtMs ?? 0;
  let waited = 0;
  for (const { askedAtMs, decidedAtMs } of approvals.toSorted((a, b) => a.askedAtMs - b.askedAtMs)) {
    const from = Math.max(askedAtMs, counted);
    const until = Math.min(decidedAtMs ?? from, finishedAtMs ?? Infinity);
    if (until <= from) continue;
    waited += until - from;
    counted = until;
  }
  return waited;
}

function Elapsed({ since }: { since: number }) {
  const now = useShownNow(1_000);
  return <span className="tabular">{duration(Math.max(0, Math.round((now - since) / 1_000) * 1_000))}</span>;
}

function tokenWords(usage: UsageView) {
  const cached = usage.cachedInputTokens > 0 ? `, ${count(usage.cachedInputTokens)} of them cached` : "";
  return <span title={`${usage.inputTokens.toLocaleString()} in${cached}, ${usage.outputTokens.toLocaleString()} out`}>{`${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out`}</span>;
}

/** Deliveries that read the same stand on one line. */
function alike(deliveries: readonly DeliveryView[]): [DeliveryView, ...DeliveryView[]][] {
  const groups = new Map<string, [DeliveryView, ...DeliveryView[]]>();
  for (const delivery of deliveries) {
    const { state, channel, reason, heldUntilMs } = delivery;
    const key = JSON.stringify([state, channel, reason, heldUntilMs]);
    const group = groups.get(key);
    if (group) group.push(delivery);
    else groups.set(key, [delivery]);
  }
  return [...groups.values()];
}

function Delivery({ delivery, count: times }: { delivery: DeliveryView; count: number }) {
  return (
    <div title={delivery.body}>
      {deliveryWord(delivery.state)}{times > 1 && `, ${plural(times, "time")}`}
      <span className={styles.aside}>
        {delivery.state === "held" && delivery.heldUntilMs !== null && <> until <Time at={delivery.heldUntilMs} as="within" /></>}
        {delivery.state !== "held" && (delivery.reason === null ? ` by ${delivery.channel}` : `: ${delivery.reason}`)}
      </span>
    </div>
  );
}
