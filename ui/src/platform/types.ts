/* The whole door to the host. Nothing else in the UI reaches outside the page: not the network, not the window, not
   storage. One could get it wrong by giving a feature its own way out; the lint rules refuse that. */

import type { EventView, Methods } from "./wire";

export type Method = keyof Methods;
export type ParamsOf<M extends Method> = Methods[M]["params"];
export type ResultOf<M extends Method> = Methods[M]["result"];

/** One numbered event. `seq` grows by one; a gap means that events were missed and views must be fetched again. */
export type HostEvent = EventView;

/** What the event stream is doing: `lost` means that the host cannot be reached and is being tried again. */
export type Connection = "connecting" | "open" | "lost";

export interface EventListener {
  onEvent: (event: HostEvent) => void;
  onConnection: (connection: Connection) => void;
}

/** What this host can do beyond the gateway's methods. */
export interface Capabilities {
  /** Runs as the desktop app's window. */
  readonly window: boolean;
  /** Can start Rouse with the computer. */
  readonly autostart: boolean;
}

/** What the desktop offers, when this page is the app's window. */
export interface ShellInfo {
  /** Whether there is a tray icon. */
  tray: boolean;
  /** Whether the engine is in the window's own process, or this window is attached to one elsewhere. */
  engine: "starting" | "here" | "elsewhere" | "failed";
}

export interface Platform {
  readonly capabilities: Capabilities;
  /** Calls one gateway method. Rejects with `RpcError`. */
  rpc: <M extends Method>(method: M, params: ParamsOf<M>) => Promise<ResultOf<M>>;
  /** Streams events after `after` (from now on when undefined), reconnecting by itself. Returns the way to stop. */
  subscribe: (after: number | undefined, listener: EventListener) => () => void;
  /** Trades a one-time code from the page's address for a session, if there is one. */
  signIn: () => Promise<void>;
  /** Opens an https address outside Rouse. Ask the person first. */
  openExternal: (url: string) => Promise<void>;
  copyText: (text: string) => Promise<void>;
  /** Saves a text as a file for the person. Answers where it is, when this page can know: a browser keeps that to itself. */
  saveFile: (name: string, text: string) => Promise<string | null>;
  /** The address of a path of this UI that works outside this window, for "Copy link". */
  linkTo: (path: string) => string;
  /** Follows the host's wish to show a page (a click on a notification, the tray, a second start). */
  onNavigate: (go: (path: string) => void) => () => void;
  autostart: { get: () => Promise<boolean>; set: (on: boolean) => Promise<void> };
  /** Nothing in a browser; there is no shell around it. */
  shellInfo: () => Promise<ShellInfo | null>;
  onShellChanged: (changed: () => void) => () => void;
  /** Ends the app around this page. A browser has none, and offers no way to it. */
  quit: () => Promise<void>;
  /** Small wishes about how this screen looks; nothing that matters lives here. */
  preference: { get: (name: string) => string | null; set: (name: string, value: string | null) => void };
}

/** Why a call failed, with the gateway's code to branch on. */
export class RpcError extends Error {
  override readonly name = "RpcError";

  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
  }
}

/** The gateway's codes that views branch on, and two that the transport itself gives. */
export const errorCode = {
  unreachable: -1,
  unauthenticated: -2,
  invalidParams: -32602,
  notFound: -32004,
  stale: -32009,
  exists: -32010,
  conflict: -32011,
} as const;

/** The fields that a call got wrong, when it says so. */
export function fieldErrors(error: unknown): { path: string; message: string }[] {
  if (!(error instanceof RpcError) || error.code !== errorCode.invalidParams) return [];
  const { fields } = (error.data ?? {}) as { fields?: { path: string; message: string }[] };
  return fields ?? [];
}
