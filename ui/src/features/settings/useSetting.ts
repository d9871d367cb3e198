/* Saves a setting and tracks the save state. */

import { useEffect, useState } from "react";

import { usePatch } from "@/data/config";

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
