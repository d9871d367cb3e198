/* A value once it has held still for a moment, so that not every letter is asked about. */

import { useEffect, useState } from "react";

import { same } from "@/format/json";

export function useSettled<V>(value: V, afterMs = 180): V {
  const [settled, setSettled] = useState(value);
  const differs = !same(settled, value);
  useEffect(() => {
    if (!differs) return;
    const timer = setTimeout(() => setSettled(value), afterMs);
    return () => clearTimeout(timer);
  });
  return settled;
}
