/* Paired device: a key pair of this browser, made here and not extractable. Owns the pairing and the sign-in by
   signature. Only the public key and signatures leave the browser. */

import type { DeviceScope, DeviceView, PairingOffer } from "./gen";
import { preference } from "./preference";
import { errorCode, RpcError } from "./types";

/** What the device of this session may do. */
export interface DeviceAccess {
  name: string;
  scope: DeviceScope;
}

interface StoredDevice {
  id: string;
  key: CryptoKey;
}

interface SignedIn extends DeviceAccess {
  pageKey: string;
}

const accessName = "device-access";
const curve = { name: "ECDSA", namedCurve: "P-256" };

function whenDone<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("IndexedDB failed"));
  });
}

async function devices(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  const opening = indexedDB.open("rouse", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("devices");
  return (await whenDone(opening)).transaction("devices", mode).objectStore("devices");
}

async function storedDevice(): Promise<StoredDevice | undefined> {
  if (typeof indexedDB === "undefined") return undefined;
  return (await whenDone((await devices("readonly")).get("own"))) as StoredDevice | undefined;
}

function base64url(bytes: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function post<T>(path: string, body: unknown): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      credentials: "same-origin",
      body: JSON.stringify(body),
    });
  } catch {
    throw new RpcError(errorCode.unreachable, "Rouse is not running or not reachable.");
  }
  const answer = (await response.json().catch(() => ({}))) as T & { error?: string };
  if (response.ok) return answer;
  const code = response.status === 401 ? errorCode.unauthenticated : errorCode.conflict;
  throw new RpcError(code, answer.error ?? `Rouse answered with status ${response.status}.`);
}

/** Signs in with the stored key. Null if this browser is not paired. */
async function signInWithKey(): Promise<SignedIn | null> {
  const own = await storedDevice();
  if (own === undefined) return null;
  const { nonce } = await post<{ nonce: string }>("/auth/challenge", { device: own.id });
  const text = `Rouse device sign-in\n${location.origin}\n${own.id}\n${nonce}`;
  const algorithm = { name: "ECDSA", hash: "SHA-256" };
  const signature = await crypto.subtle.sign(algorithm, own.key, new TextEncoder().encode(text));
  return post<SignedIn>("/auth/sign-in", { device: own.id, nonce, signature: base64url(signature) });
}

export const device = {
  signInWithKey,
  /** What a pairing code offers. */
  offer: (code: string) => post<PairingOffer>("/auth/pairing", { code }),
  /** Makes a key pair, pairs it, and stores it. */
  async pair(code: string, name: string): Promise<void> {
    // A browser that stores no key must not use up the code.
    await devices("readonly");
    const pair = await crypto.subtle.generateKey(curve, false, ["sign", "verify"]);
    const publicKey = base64url(await crypto.subtle.exportKey("raw", pair.publicKey));
    const { id } = await post<DeviceView>("/auth/pair", { code, name, publicKey });
    await whenDone((await devices("readwrite")).put({ id, key: pair.privateKey } satisfies StoredDevice, "own"));
  },
  /** Access of the session; null for a session of the computer itself. */
  access(): DeviceAccess | null {
    const stored = preference.get(accessName);
    return stored === null ? null : (JSON.parse(stored) as DeviceAccess);
  },
  keepAccess(access: DeviceAccess | null) {
    preference.set(accessName, access === null ? null : JSON.stringify({ name: access.name, scope: access.scope }));
  },
  /** Suggested name, such as "Safari on iPhone". */
  suggestedName(agent: string = navigator.userAgent): string {
    const of = (table: readonly (readonly [RegExp, string])[]) => table.find(([pattern]) => pattern.test(agent))?.[1];
    const system = of(systems) ?? "this device";
    const browser = of(browsers);
    return browser === undefined ? system : `${browser} on ${system}`;
  },
};

const systems = [
  [/iPhone/, "iPhone"],
  [/iPad/, "iPad"],
  [/Android/, "Android"],
  [/Macintosh/, "Mac"],
  [/Windows/, "Windows"],
  [/Linux|X11/, "Linux"],
] as const;

const browsers = [
  [/Firefox|FxiOS/, "Firefox"],
  [/Edg/, "Edge"],
  [/Chrome|CriOS/, "Chrome"],
  [/Safari/, "Safari"],
] as const;
