/* Buckets the day's runs and slots, so that frequent jobs do not hide others. */

import { stateTone, type Tone } from "@/domain/runState";
import type { RunView } from "@/platform";

export interface Day {
  begin: number;
  end: number;
}

/** Local day; 23 or 25 hours long at clock changes. */
export function dayAround(now: number): Day {
  const begin = new Date(now);
  begin.setHours(0, 0, 0, 0);
  const end = new Date(begin);
  end.setDate(end.getDate() + 1);
  return { begin: begin.getTime(), end: end.getTime() };
}

/** Every nth hour as an instant. */
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

function bucketByTime<T>(day: Day, items: readonly { at: number; item: T }[]): { at: number; items: T[] }[] {
  const size = (day.end - day.begin) / parts;
  const buckets = new Map<number, T[]>();
  for (const { at, item } of items) {
    if (at < day.begin || at >= day.end) continue;
    const index = Math.floor((at - day.begin) / size);
    buckets.set(index, [...(buckets.get(index) ?? []), item]);
  }
  return [...buckets].map(([index, gathered]) => ({ at: day.begin + (index + 0.5) * size, items: gathered }));
}

/** The most severe tone of a bucket wins. */
const tonesBySeverity: readonly Tone[] = ["bad", "accent", "good", "calm"];

export function pastTicks(day: Day, runs: readonly RunView[]): PastTick[] {
  return bucketByTime(
    day,
    runs.map((run) => ({ at: run.startedAtMs ?? run.createdAtMs, item: run })),
  ).map(({ at, items }) => ({
    kind: "past",
    at,
    runs: items,
    tone: tonesBySeverity.find((tone) => items.some((run) => stateTone(run.state) === tone)) ?? "calm",
  }));
}

export function futureTicks(day: Day, slots: readonly { at: number; name: string }[]): FutureTick[] {
  return bucketByTime(
    day,
    slots.map(({ at, name }) => ({ at, item: name })),
  ).map(({ at, items }) => ({ kind: "future", at, names: items }));
}
