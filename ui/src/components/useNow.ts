/* Current time for display. Components with the same interval share a timer. */

import { useSyncExternalStore } from "react";

const watchers = new Map<number, Set<() => void>>();
const timers = new Map<number, ReturnType<typeof setInterval>>();

function watch(everyMs: number, watcher: () => void): () => void {
  const group = watchers.get(everyMs) ?? new Set();
  watchers.set(everyMs, group.add(watcher));
  if (!timers.has(everyMs))
    timers.set(
      everyMs,
      setInterval(() => group.forEach((w) => w()), everyMs),
    );
  return () => {
    group.delete(watcher);
    if (group.size > 0) return;
    clearInterval(timers.get(everyMs));
    timers.delete(everyMs);
  };
}

/** Current time, rounded down to `everyMs`. */
export function useNow(everyMs = 30_000): number {
  return useSyncExternalStore(
    (watcher) => watch(everyMs, watcher),
    () => Math.floor(Date.now() / everyMs) * everyMs,
  );
}
