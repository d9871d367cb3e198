/* Whether the window is as narrow as a phone, for what a style sheet alone cannot know, such as how high the rows of a long list are. */

import { useSyncExternalStore } from "react";

/** The same width as in the style sheets of rows. */
const narrow = "(max-width: 520px)";

function watch(watcher: () => void): () => void {
  const media = window.matchMedia(narrow);
  media.addEventListener("change", watcher);
  return () => media.removeEventListener("change", watcher);
}

export function useNarrow(): boolean {
  return useSyncExternalStore(watch, () => window.matchMedia(narrow).matches);
}
