/* Whether the window is as narrow as a phone, for what a style sheet alone cannot know, such as how high the rows of a long list are. */

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
