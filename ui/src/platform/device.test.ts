// @vitest-environment node
/* Pairing and sign-in of a browser, with real keys and a database in memory. */

import { webcrypto } from "node:crypto";

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { device } from "./device";
import { errorCode } from "./types";

const origin = "https://box.example.org";

let calls: { path: string; body: Record<string, string> }[];
let answers: Record<string, () => { status?: number; body: unknown }>;

/** An IndexedDB request that succeeds in the next microtask. */
function done<T>(result: T) {
  const request: { result: T; onsuccess?: () => void; onupgradeneeded?: () => void } = { result };
  queueMicrotask(() => {
    request.onupgradeneeded?.();
    request.onsuccess?.();
  });
  return request;
}

beforeEach(() => {
  calls = [];
  answers = { "/auth/pair": () => ({ body: { id: "d1" } }) };
  const stored = new Map<string, unknown>();
  const store = {
    get: (key: string) => done(stored.get(key)),
    put: (value: unknown, key: string) => done(stored.set(key, value)),
  };
  const database = { createObjectStore: () => store, transaction: () => ({ objectStore: () => store }) };
  vi.stubGlobal("indexedDB", { open: () => done(database) });
  vi.stubGlobal("location", new URL(`${origin}/runs`));
  vi.stubGlobal("fetch", (path: string, init: { body: string }) => {
    calls.push({ path, body: JSON.parse(init.body) as Record<string, string> });
    const { status = 200, body } = answers[path]?.() ?? { status: 404, body: {} };
    return Promise.resolve(Response.json(body, { status }));
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

test("browser without a key does not sign in", async () => {
  await expect(device.signInWithKey()).resolves.toBeNull();
  expect(calls).toEqual([]);
});

test("paired browser signs nonce, device and origin", async () => {
  await device.pair("code", "Phone");
  const { publicKey = "", ...paired } = calls[0]?.body ?? {};
  expect(paired).toEqual({ code: "code", name: "Phone" });
  answers["/auth/challenge"] = () => ({ body: { nonce: "n1" } });
  answers["/auth/sign-in"] = () => ({ body: { pageKey: "k", name: "Phone", scope: "read" } });
  await expect(device.signInWithKey()).resolves.toEqual({ pageKey: "k", name: "Phone", scope: "read" });
  const { signature = "", ...signed } = calls.at(-1)?.body ?? {};
  expect(signed).toEqual({ device: "d1", nonce: "n1" });
  const raw = Buffer.from(publicKey, "base64url");
  expect(raw).toHaveLength(65);
  const curve = { name: "ECDSA", namedCurve: "P-256" };
  const key = await webcrypto.subtle.importKey("raw", raw, curve, false, ["verify"]);
  const verified = (text: string) =>
    webcrypto.subtle.verify(
      { name: "ECDSA", hash: "SHA-256" },
      key,
      Buffer.from(signature, "base64url"),
      new TextEncoder().encode(text),
    );
  await expect(verified(`Rouse device sign-in\n${origin}\nd1\nn1`)).resolves.toBe(true);
  await expect(verified("Rouse device sign-in\nhttps://evil.example\nd1\nn1")).resolves.toBe(false);
});

test("refused pairing shows the reason and stores no key", async () => {
  answers["/auth/pair"] = () => ({ status: 409, body: { error: "There is already a device Phone." } });
  await expect(device.pair("code", "Phone")).rejects.toMatchObject({ message: "There is already a device Phone." });
  await expect(device.signInWithKey()).resolves.toBeNull();
});

test("revoked device is unauthenticated", async () => {
  await device.pair("code", "Phone");
  answers["/auth/challenge"] = () => ({ status: 401, body: { error: "This device is not paired, or was revoked." } });
  await expect(device.signInWithKey()).rejects.toMatchObject({ code: errorCode.unauthenticated });
});

test.each([
  [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Mobile/15E148 Safari/604.1",
    "Safari on iPhone",
  ],
  ["Mozilla/5.0 (Linux; Android 16; K) Chrome/142.0.0.0 Mobile Safari/537.36", "Chrome on Android"],
  ["Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0", "Firefox on Linux"],
  ["something", "this device"],
])("name of %s is suggested", (agent, name) => {
  expect(device.suggestedName(agent)).toBe(name);
});
