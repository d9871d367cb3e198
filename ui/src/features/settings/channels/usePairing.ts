/* State of a pairing, followed until its end. Each answer of `channels.pairing` comes with a new state, or after a while. */

import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useState } from "react";

import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import type { PairingView } from "@/platform";

/** Pairing of a channel. `start` makes a new link. */
export function usePairing(name: string) {
  const platform = usePlatform();
  const client = useQueryClient();
  const [pairing, setPairing] = useState<PairingView>();
  const [error, setError] = useState<unknown>();
  const [isConfirming, setConfirming] = useState(false);

  const start = useCallback(async () => {
    setError(undefined);
    try {
      setPairing(await platform.rpc("channels.pair", { name }));
    } catch (cause) {
      setError(cause);
    }
  }, [platform, name]);

  const confirm = async (accept: boolean) => {
    setConfirming(true);
    try {
      setPairing(await platform.rpc("channels.confirmPairing", { name, accept }));
      await client.invalidateQueries({ queryKey: keys.channels });
    } catch (cause) {
      setError(cause);
    }
    setConfirming(false);
  };

  const known = pairing?.state;
  const link = pairing?.link;
  useEffect(() => {
    if (known !== "waiting") return undefined;
    const stopped = new AbortController();
    const follow = async (): Promise<void> => {
      const { pairing: next } = await platform.rpc("channels.pairing", { name, known });
      if (stopped.signal.aborted) return;
      if (next === null) throw new Error("Rouse was restarted. Make a new link.");
      if (next.state === known) return follow();
      setPairing(next);
    };
    follow().catch((cause: unknown) => {
      if (!stopped.signal.aborted) setError(cause);
    });
    return () => stopped.abort();
  }, [platform, name, known, link]);

  return { pairing, error, start, confirm: (accept: boolean) => void confirm(accept), isConfirming };
}
