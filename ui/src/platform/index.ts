/* Selects the platform at run time, so that one build serves window and browser. */

import { tauri } from "./tauri";
import type { Platform } from "./types";
import { web } from "./web";

export const platform: Platform = "__TAURI_INTERNALS__" in window ? tauri : web;

export { errorCode, fieldErrors, RpcError } from "./types";
export type {
  Capabilities,
  Computer,
  Connection,
  EventListener,
  HostEvent,
  Method,
  Pairing,
  ParamsOf,
  Platform,
  ResultOf,
  ShellInfo,
} from "./types";
export type { DeviceAccess } from "./device";
export { methodScopes, runStateLabels, runTriggerLabels, waitLabels } from "./gen";
export type * from "./gen";
