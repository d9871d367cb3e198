/* The day as a strip: runs and slots put into equal parts of it, so that a job that runs every minute draws as much as
   one that runs once an hour and no tick hides another. */

import { stateTone, type Tone } from "@/domain/runState";
import type { RunView } from "@/platform";

export interface Day {
  begin: number;
  end: number;
}

/** The local day around `now`; 23 or 25 hours long when clocks change. */
export function dayAround(now: number): Day {
  const begin = new Date(now);
  begin.setHours(0, 0, 0, 0);
  const end = new Date(begin);
  end.setDate(end.getDate() + 1);
  return { begin: begin.getTime(), end: end.getTime() };
}

/** Where the hours `every` apart stand, as instants. */
export function hoursOf(day: Day, every: number): number[] {
  return Array.from({ length: 24 / every + 1 }, (_, i) => new Date(day.begin).setHours(i * every));
}

export interface PastTick {
  kind: "past";
  at: number;
  runs: RunView[];
  tone: Tone;
}

export interface FutureTick {
  kind: "future";
  at: number;
  names: string[];
}

const parts = 144;

function gather<T>(day: Day, items: readonly { at: number; item: T }[]): { at: number; items: T[] }[] {
  const size = (day.end - day.begin) / parts;
  const buckets = new Map<number, T[]>();
  for (const { at, item } of items) {
    if (at < day.begin || at >= day.end) continue;
    const index = Math.floor((at - day.begin) / size);
    buckets.set(index, [...(buckets.get(index) ?? []), item]);
  }
  return [...buckets].map(([index, gathered]) => ({ at: day.begin + (index + 0.5) * size, items: gathered }));
}

/** The worst of what happened gives a tick its tone. */
const byWeight: readonly Tone[] = ["bad", "accent", "good", "calm"];

export function pastTicks(day: Day, runs: readonly RunView[]): PastTick[] {
  return gather(day, runs.map((run) => ({ at: run.startedAtMs ?? run.createdAtMs, item: run }))).map(({ at, items }) => ({
    kind: "past",
    at,
    runs: items,
    tone: byWeight.find((tone) => items.some((run) => stateTone(run.state) === tone)) ?? "calm",
  }));
}

export function futureTicks(day: Day, slots: readonly { at: number; name: string }[]): FutureTick[] {
  return gather(day, slots.map(({ at, name }) => ({ at, item: name }))).map(({ at, items }) => ({ kind: "future", at, names: items }));
}
