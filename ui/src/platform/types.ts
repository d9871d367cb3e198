/* Interface to the host. Nothing else in the UI accesses network, window or storage; lint rules enforce this. */

import type { DeviceAccess } from "./device";
import type { EventView, Methods, PairingOffer } from "./gen";

export type Method = keyof Methods;
export type ParamsOf<M extends Method> = Methods[M]["params"];
export type ResultOf<M extends Method> = Methods[M]["result"];

/** `seq` grows by one. After a gap all queries are invalid. */
export type HostEvent = EventView;

/** State of the event stream; `lost` means unreachable and retrying. */
export type Connection = "connecting" | "open" | "lost";

export interface EventListener {
  onEvent: (event: HostEvent) => void;
  onConnection: (connection: Connection) => void;
}

/** Capabilities beyond the gateway's methods. */
export interface Capabilities {
  /** Runs in the desktop app's window. */
  readonly window: boolean;
  /** Can start Rouse at login. */
  readonly autostart: boolean;
}

/** Another computer of the settings, and its connection. */
export interface Computer {
  name: string;
  address: string;
  state: "connecting" | "connected" | "failed";
  /** Why the connection failed. */
  problem?: string;
}

/** Desktop shell of this window. */
export interface ShellInfo {
  /** The desktop shows a tray icon. */
  tray: boolean;
  /** Engine in this process, in another process, or on the computer whose pages are shown. */
  engine: "starting" | "here" | "elsewhere" | "anotherComputer" | "failed";
  /** Computer whose pages are shown; null for this one. */
  computer: string | null;
  /** Other computers of the settings. */
  computers: Computer[];
}

/** Pairing of this browser. */
export interface Pairing {
  readonly suggestedName: string;
  /** What the code offers. */
  offer: () => Promise<PairingOffer>;
  /** Pairs this browser and signs it in. */
  pair: (name: string) => Promise<void>;
}

export interface Platform {
  readonly capabilities: Capabilities;
  /** Calls a gateway method. Rejects with `RpcError`. */
  rpc: <M extends Method>(method: M, params: ParamsOf<M>) => Promise<ResultOf<M>>;
  /** Streams events after `after` (default: from now on) and reconnects. Returns the stop function. */
  subscribe: (after: number | undefined, listener: EventListener) => () => void;
  /** Signs in: by a one-time code in the address, or as a paired device. */
  signIn: () => Promise<void>;
  /** Paired device of the session; null for the computer itself, which may do everything. */
  device: () => DeviceAccess | null;
  /** Pairing by a link; null unless the address had a pairing code. */
  pairing: () => Pairing | null;
  /** Opens an https address outside Rouse. Ask the user first. */
  openExternal: (url: string) => Promise<void>;
  copyText: (text: string) => Promise<void>;
  /** Saves JSON text or a PDF as a file. Resolves to the path, or null in a browser. */
  saveFile: (name: string, content: string | Uint8Array<ArrayBuffer>) => Promise<string | null>;
  /** External address of a UI path, for "Copy link". */
  linkTo: (path: string) => string;
  /** Handles navigation from notifications, the tray and second starts. */
  onNavigate: (go: (path: string) => void) => () => void;
  autostart: { get: () => Promise<boolean>; set: (on: boolean) => Promise<void> };
  /** Null in a browser. */
  shellInfo: () => Promise<ShellInfo | null>;
  onShellChanged: (changed: () => void) => () => void;
  /** Shows the pages of another computer, or of this one (null), in a new page; rejects in a browser. */
  showComputer: (name: string | null) => Promise<void>;
  /** Quits the app; rejects in a browser. */
  quit: () => Promise<void>;
  /** Display preferences; nothing important. */
  preference: { get: (name: string) => string | null; set: (name: string, value: string | null) => void };
}

/** Failed call with the gateway's error code. */
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

/** Error codes used by views, and two of the transport. */
export const errorCode = {
  unreachable: -1,
  unauthenticated: -2,
  invalidParams: -32602,
  notFound: -32004,
  stale: -32009,
  exists: -32010,
  conflict: -32011,
  forbidden: -32013,
} as const;

/** Invalid fields of a call. */
export function fieldErrors(error: unknown): { path: string; message: string }[] {
  if (!(error instanceof RpcError) || error.code !== errorCode.invalidParams) return [];
  const { fields } = (error.data ?? {}) as { fields?: { path: string; message: string }[] };
  return fields ?? [];
}
