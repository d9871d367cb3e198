/* Hands the host to the hooks, so that a test can put its own in place. */

import { createContext, use } from "react";

import { type Platform, platform } from "@/platform";

export const PlatformContext = createContext<Platform>(platform);

export function usePlatform(): Platform {
  return use(PlatformContext);
}
