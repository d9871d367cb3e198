/* Gateway of the app's window: command `rpc`, event `rouse://event`. The shell holds the session. Earlier events are
   covered by the first queries. */

import { invoke } from "@tauri-apps/api/core";
import { listen } from "@tauri-apps/api/event";

import { copyText } from "./clipboard";
import { request, unwrap } from "./jsonrpc";
import { preference } from "./preference";
import type { EventListener, HostEvent, Method, ParamsOf, Platform, ResultOf, ShellInfo } from "./types";

async function rpc<M extends Method>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> {
  const { method: name, params: body } = request(method, params);
  return unwrap(await invoke("rpc", { method: name, params: body })) as ResultOf<M>;
}

function listening(name: string, handle: (payload: unknown) => void, ready?: () => void): () => void {
  let stopped = false;
  let stop: (() => void) | undefined;
  void listen(name, ({ payload }) => handle(payload)).then((unlisten) => {
    if (stopped) unlisten();
    else {
      stop = unlisten;
      ready?.();
    }
  });
  return () => {
    stopped = true;
    stop?.();
  };
}

function subscribe(_after: number | undefined, listener: EventListener): () => void {
  listener.onConnection("connecting");
  return listening(
    "rouse://event",
    (event) => listener.onEvent(event as HostEvent),
    () => listener.onConnection("open"),
  );
}

/** Computer of this page, which stays the same until a new page loads; for links. */
let shownComputer: string | null = null;

async function shellInfo(): Promise<ShellInfo> {
  const info = await invoke<ShellInfo>("shell_info");
  shownComputer = info.computer;
  return info;
}

function linkTo(path: string): string {
  if (shownComputer === null) return `rouse:/${path}`;
  return `rouse:/${path}${path.includes("?") ? "&" : "?"}computer=${encodeURIComponent(shownComputer)}`;
}

export const tauri: Platform = {
  capabilities: { window: true, autostart: true },
  rpc,
  subscribe,
  signIn: () => Promise.resolve(),
  device: () => null,
  pairing: () => null,
  openExternal: (url) => invoke("open_external", { url }),
  copyText,
  // Webviews may drop downloads, so the shell writes the file.
  saveFile: (name, content) => {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    return invoke<string>("save_file", { name, bytes });
  },
  linkTo,
  onNavigate: (go) =>
    listening(
      "rouse://navigate",
      (path) => go(path as string),
      () => void invoke("page_listens"),
    ),
  autostart: {
    get: () => invoke<boolean>("autostart_get"),
    set: (on) => invoke("autostart_set", { on }),
  },
  shellInfo,
  showComputer: (name) => invoke("show_computer", { name }),
  quit: () => invoke("quit"),
  onShellChanged: (changed) => listening("rouse://shell", changed),
  preference,
};
