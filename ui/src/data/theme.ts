/* Theme: light, dark or system. */

import { useState } from "react";

import type { Platform } from "@/platform";

import { usePlatform } from "./platform";

export type Theme = "system" | "light" | "dark";

function read(platform: Platform): Theme {
  const stored = platform.preference.get("theme");
  return stored === "light" || stored === "dark" ? stored : "system";
}

function apply(theme: Theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Applies the stored theme; called once, before the first paint. */
export function applyStoredTheme(platform: Platform) {
  apply(read(platform));
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const platform = usePlatform();
  const [theme, setTheme] = useState(() => read(platform));
  return [
    theme,
    (next) => {
      platform.preference.set("theme", next === "system" ? null : next);
      apply(next);
      setTheme(next);
    },
  ];
}
