/* True if the window is phone-sized; for sizes that CSS alone cannot set. */

import { useSyncExternalStore } from "react";

import { narrowWidth } from "./sizes";

const narrow = `(max-width: ${narrowWidth}px)`;

function watch(watcher: () => void): () => void {
  const media = window.matchMedia(narrow);
  media.addEventListener("change", watcher);
  return () => media.removeEventListener("change", watcher);
}

export function useNarrow(): boolean {
  return useSyncExternalStore(watch, () => window.matchMedia(narrow).matches);
}
