/* The half of the sign-in that goes to no other listener. A cookie goes to every port of this computer; what is kept here goes
   to none: the page shows a hash of it, of its own port and of the life of the engine, which is worth nothing elsewhere or
   later. */

import { preference } from "./preference";

const kept = "page-key";
let shown: Promise<string | null> | undefined;

async function prove(): Promise<string | null> {
  const key = preference.get(kept);
  if (key === null) return null;
  const life = await (await fetch("/auth/life", { cache: "no-store" })).text();
  const said = new TextEncoder().encode(`Rouse's page at ${location.port}\n${life}\n${key}`);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", said));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const page = {
  keep(key: string) {
    preference.set(kept, key);
    shown = undefined;
  },
  /** What this page shows to the engine that is alive; null when nobody has signed in here. */
  proof(): Promise<string | null> {
    shown ??= prove().catch((error: unknown) => {
      shown = undefined;
      throw error;
    });
    return shown;
  },
  /** Another engine may be alive by now. */
  forget() {
    shown = undefined;
  },
};
