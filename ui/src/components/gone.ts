/* Since when the engine has not been heard of, for everything that would otherwise go on as if it were there: what it said is as
   old as that, and nobody takes an answer. Nothing while it is there, or has been away no longer than a blink. */

import { createContext, use } from "react";

import { useNow } from "./useNow";

export const GoneSinceContext = createContext<number | undefined>(undefined);

/** Now, for what is told of the engine: it stands still while that is away, for nothing comes nearer or goes on then. */
export function useShownNow(everyMs?: number): number {
  const ticking = useNow(everyMs);
  return use(GoneSinceContext) ?? ticking;
}
