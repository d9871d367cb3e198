/* One setting that is saved as soon as it is changed, and says so beside itself. */

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import type { ConfigView } from "@/platform";

import { complaintAbout, patchFor } from "./patch";

export type Fate = { kind: "idle" } | { kind: "saving" } | { kind: "saved" } | { kind: "failed"; message: string };

const savedForMs = 2_500;

/** What became of the newest change; `saved` goes away by itself. */
export function useFate(): [Fate, (work: () => Promise<unknown>, about?: string) => Promise<boolean>] {
  const [fate, setFate] = useState<Fate>({ kind: "idle" });
  useEffect(() => {
    if (fate.kind !== "saved") return;
    const timer = setTimeout(() => setFate({ kind: "idle" }), savedForMs);
    return () => clearTimeout(timer);
  }, [fate]);
  const follow = async (work: () => Promise<unknown>, about = "") => {
    setFate({ kind: "saving" });
    try {
      await work();
      setFate({ kind: "saved" });
      return true;
    } catch (error) {
      setFate({ kind: "failed", message: complaintAbout(about, error) });
      return false;
    }
  };
  return [fate, follow];
}

/** Changes the file and puts what it says now in place, without waiting for the event. */
export function usePatch() {
  const platform = usePlatform();
  const client = useQueryClient();
  return async (patch: Record<string, unknown>) => {
    const config = await platform.rpc("config.patch", { patch });
    client.setQueryData<ConfigView>(keys.config, config);
    for (const queryKey of [keys.providers, keys.status]) void client.invalidateQueries({ queryKey });
  };
}

export function useSetting(key: string): { fate: Fate; set: (value: unknown) => Promise<boolean> } {
  const patch = usePatch();
  const [fate, follow] = useFate();
  return { fate, set: (value) => follow(() => patch(patchFor(key, value)), key) };
}

/** What is being typed; begins anew whenever the saved value changes. */
export function useTyped<T>(value: T, same: (a: T, b: T) => boolean = Object.is): [T, (typed: T) => void] {
  const [known, setKnown] = useState(value);
  const [typed, setTyped] = useState(value);
  if (!same(known, value)) {
    setKnown(value);
    setTyped(value);
  }
  return [typed, setTyped];
}
