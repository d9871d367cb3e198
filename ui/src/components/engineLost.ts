/* Start of the engine's unreachability; undefined while reachable. */

import { createContext, use } from "react";

import { useNow } from "./useNow";

export const EngineLostContext = createContext<number | undefined>(undefined);

/** Current time that stands still while the engine is lost. */
export function useEngineNow(everyMs?: number): number {
  const ticking = useNow(everyMs);
  return use(EngineLostContext) ?? ticking;
}
