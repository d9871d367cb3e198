/* JSON-RPC 2.0 envelopes. */

import { type HostEvent, RpcError } from "./types";

interface RpcResponse {
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

let lastId = 0;

export function request(method: string, params: unknown) {
  lastId += 1;
  return { jsonrpc: "2.0", id: lastId, method, params };
}

/** Result of a response; throws an error response. */
export function unwrap(answer: unknown): unknown {
  const { result, error } = answer as RpcResponse;
  if (error) throw new RpcError(error.code, error.message, error.data);
  return result;
}

/** Event of a notification; undefined for other messages. */
export function eventOf(message: unknown): HostEvent | undefined {
  const { method, params } = message as { method?: string; params?: HostEvent };
  return method === "event" && params && typeof params.seq === "number" ? params : undefined;
}
