/* Saves a setting and tracks the save state. */

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import type { ConfigView } from "@/platform";

import { settingError, settingPatch } from "./configPatch";

export type SaveState = { kind: "idle" } | { kind: "saving" } | { kind: "saved" } | { kind: "failed"; message: string };

const savedForMs = 2_500;

/** State of the last change; `saved` expires. */
export function useSaveState(): [SaveState, (work: () => Promise<unknown>, about?: string) => Promise<boolean>] {
  const [saveState, setSaveState] = useState<SaveState>({ kind: "idle" });
  useEffect(() => {
    if (saveState.kind !== "saved") return;
    const timer = setTimeout(() => setSaveState({ kind: "idle" }), savedForMs);
    return () => clearTimeout(timer);
  }, [saveState]);
  const follow = async (work: () => Promise<unknown>, about = "") => {
    setSaveState({ kind: "saving" });
    try {
      await work();
      setSaveState({ kind: "saved" });
      return true;
    } catch (error) {
      setSaveState({ kind: "failed", message: settingError(about, error) });
      return false;
    }
  };
  return [saveState, follow];
}

/** Patches the settings and updates the cache. */
export function usePatch() {
  const platform = usePlatform();
  const client = useQueryClient();
  return async (patch: Record<string, unknown>) => {
    const config = await platform.rpc("config.patch", { patch });
    client.setQueryData<ConfigView>(keys.config, config);
    for (const queryKey of [keys.providers, keys.status]) void client.invalidateQueries({ queryKey });
  };
}

export function useSetting(key: string): { saveState: SaveState; set: (value: unknown) => Promise<boolean> } {
  const patch = usePatch();
  const [saveState, follow] = useSaveState();
  return { saveState, set: (value) => follow(() => patch(settingPatch(key, value)), key) };
}

/** Typed value; resets when the saved value changes. */
export function useTypedValue<T>(value: T, same: (a: T, b: T) => boolean = Object.is): [T, (typed: T) => void] {
  const [known, setKnown] = useState(value);
  const [typed, setTyped] = useState(value);
  if (!same(known, value)) {
    setKnown(value);
    setTyped(value);
  }
  return [typed, setTyped];
}
