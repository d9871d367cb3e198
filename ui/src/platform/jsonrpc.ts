/* JSON-RPC 2.0 envelopes, shared by both hosts. */

import { type HostEvent, RpcError } from "./types";

interface Answer {
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

let lastId = 0;

export function request(method: string, params: unknown) {
  lastId += 1;
  return { jsonrpc: "2.0", id: lastId, method, params };
}

/** The result inside an answer; throws what the gateway reported. */
export function unwrap(answer: unknown): unknown {
  const { result, error } = answer as Answer;
  if (error) throw new RpcError(error.code, error.message, error.data);
  return result;
}

/** The event inside a notification, or undefined for anything else. */
export function eventOf(message: unknown): HostEvent | undefined {
  const { method, params } = message as { method?: string; params?: HostEvent };
  return method === "event" && params && typeof params.seq === "number" ? params : undefined;
}
