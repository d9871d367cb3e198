/* Provides the platform to hooks; replaced in tests. */

import { createContext, use } from "react";

import { type Platform, platform } from "@/platform";

export const PlatformContext = createContext<Platform>(platform);

export function usePlatform(): Platform {
  return use(PlatformContext);
}
