/* Proof that a request comes from this page. Cookies reach every port of this computer, so the page also sends a
   hash of its key, its origin and the engine's start id, which is useless elsewhere. */

import { preference } from "./preference";

const kept = "page-key";
let shown: Promise<string | null> | undefined;

async function prove(): Promise<string | null> {
  const key = preference.get(kept);
  if (key === null) return null;
  const startId = await (await fetch("/auth/start-id", { cache: "no-store" })).text();
  const message = new TextEncoder().encode(`Rouse's page at ${location.origin}\n${startId}\n${key}`);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", message));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const pageProof = {
  keep(key: string) {
    preference.set(kept, key);
    shown = undefined;
  },
  /** Proof for the running engine; null when not signed in. */
  proof(): Promise<string | null> {
    shown ??= prove().catch((error: unknown) => {
      shown = undefined;
      throw error;
    });
    return shown;
  },
  /** Forgets the proof; the engine may have restarted. */
  forget() {
    shown = undefined;
  },
};
