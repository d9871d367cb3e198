/* Debounced value, compared by content. */

import { useEffect, useState } from "react";

import { isEqualJson } from "@/format/json";

export function useDebounced<V>(value: V, afterMs = 180): V {
  const [settled, setSettled] = useState(value);
  const differs = !isEqualJson(settled, value);
  useEffect(() => {
    if (!differs) return;
    const timer = setTimeout(() => setSettled(value), afterMs);
    return () => clearTimeout(timer);
  });
  return settled;
}
