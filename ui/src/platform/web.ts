/* Gateway of a browser: POST /rpc and a WebSocket on the page's origin, with session cookie and page proof. Never
   takes an address or a token from the URL; the one-time code in the hash is used once. A paired device signs in again
   without a question when its session ends. */

import { copyText } from "./clipboard";
import { device } from "./device";
import { eventOf, request, unwrap } from "./jsonrpc";
import { pageProof } from "./pageProof";
import { preference } from "./preference";
import {
  type EventListener,
  type Method,
  type ParamsOf,
  type Platform,
  type ResultOf,
  RpcError,
  errorCode,
} from "./types";

const retryAfterMs = [250, 500, 1000, 2000, 4000];

async function send(path: string, body: unknown): Promise<Response> {
  try {
    const proof = await pageProof.proof();
    return await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...(proof === null ? {} : { "rouse-page": proof }) },
      credentials: "same-origin",
      body: JSON.stringify(body),
    });
  } catch {
    throw new RpcError(errorCode.unreachable, "Rouse is not running or not reachable.");
  }
}

function known(response: Response): Response {
  if (response.status === 401 || response.status === 403) {
    throw new RpcError(errorCode.unauthenticated, "This page is not signed in.");
  }
  return response;
}

let signingIn: Promise<boolean> | undefined;

/** Signs in with the key of a paired browser. Resolves to false if this browser is not paired, or was revoked. */
function signInAsDevice(): Promise<boolean> {
  signingIn ??= device
    .signInWithKey()
    .then(
      (signedIn) => {
        if (signedIn === null) return false;
        pageProof.keep(signedIn.pageKey);
        device.keepAccess(signedIn);
        return true;
      },
      () => false,
    )
    .finally(() => (signingIn = undefined));
  return signingIn;
}

async function rpc<M extends Method>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> {
  const body = request(method, params);
  let response = await send("/rpc", body);
  if (response.status === 401) {
    // The engine may have restarted.
    pageProof.forget();
    response = await send("/rpc", body);
    if (response.status === 401 && (await signInAsDevice())) response = await send("/rpc", body);
  }
  known(response);
  let answer: unknown;
  try {
    answer = await response.json();
  } catch {
    throw new RpcError(errorCode.unreachable, `Rouse answered with status ${response.status}.`);
  }
  return unwrap(answer) as ResultOf<M>;
}

/** Keeps a socket open. Resumes after the last delivered event. */
function subscribe(after: number | undefined, listener: EventListener): () => void {
  let last = after;
  let attempt = 0;
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let socket: WebSocket | undefined;

  const again = () => {
    if (stopped) return;
    listener.onConnection("lost");
    timer = setTimeout(() => void connect(), retryAfterMs[Math.min(attempt, retryAfterMs.length - 1)]);
    attempt += 1;
  };

  const connect = async () => {
    listener.onConnection(attempt === 0 ? "connecting" : "lost");
    pageProof.forget();
    let proof: string | null;
    try {
      proof = await pageProof.proof();
    } catch {
      again();
      return;
    }
    if (stopped) return;
    const parts = [...(last === undefined ? [] : [`after=${last}`]), ...(proof === null ? [] : [`page=${proof}`])];
    const query = parts.length === 0 ? "" : `?${parts.join("&")}`;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    socket = new WebSocket(`${scheme}://${location.host}/ws${query}`);
    socket.onopen = () => {
      attempt = 0;
      listener.onConnection("open");
    };
    socket.onmessage = (message: MessageEvent<string>) => {
      const event = eventOf(JSON.parse(message.data));
      if (!event) return;
      if (event.seq > 0) last = event.seq;
      listener.onEvent(event);
    };
    socket.onclose = again;
  };

  void connect();
  return () => {
    stopped = true;
    clearTimeout(timer);
    socket?.close();
  };
}

/** A code of `rouse open` or of a pairing. */
function codeInAddress() {
  const [, kind, code] = /^#(code|pair)=([\w-]+)$/.exec(location.hash) ?? [];
  return kind === undefined || code === undefined ? undefined : { kind, code };
}

let pairingCode: string | undefined;

/** Removes the code from the address first, so that no history or copied link contains it. A pasted code changes only
    the hash, so the page reloads. */
async function signIn(): Promise<void> {
  addEventListener("hashchange", () => {
    if (codeInAddress() !== undefined) location.reload();
  });
  const { kind, code } = codeInAddress() ?? {};
  if (code === undefined) {
    // Without a page key there is no session. A session that ended is renewed by the first call.
    if ((await pageProof.proof().catch(() => undefined)) === null) await signInAsDevice();
    return;
  }
  history.replaceState(history.state, "", location.pathname + location.search);
  if (kind === "pair") {
    pairingCode = code;
    return;
  }
  device.keepAccess(null);
  const signedIn = (await known(await send("/auth/exchange", { code })).json()) as { pageKey: string };
  pageProof.keep(signedIn.pageKey);
}

export const web: Platform = {
  capabilities: { window: false, autostart: false },
  rpc,
  subscribe,
  signIn,
  device: () => device.access(),
  pairing() {
    const code = pairingCode;
    if (code === undefined) return null;
    return {
      suggestedName: device.suggestedName(),
      offer: () => device.offer(code),
      pair: async (name) => {
        await device.pair(code, name);
        if (!(await signInAsDevice())) throw new RpcError(errorCode.unauthenticated, "The sign-in failed. Reload.");
        pairingCode = undefined;
      },
    };
  },
  openExternal(url) {
    window.open(url, "_blank", "noopener,noreferrer");
    return Promise.resolve();
  },
  copyText,
  saveFile(name, content) {
    const type = typeof content === "string" ? "application/json" : "application/pdf";
    const url = URL.createObjectURL(new Blob([content], { type }));
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
    // By then the download holds a reference.
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    return Promise.resolve(null);
  },
  linkTo: (path) => new URL(path, location.origin).href,
  onNavigate: () => () => undefined,
  autostart: {
    get: () => Promise.resolve(false),
    set: () => Promise.reject(new RpcError(errorCode.unreachable, "Only the app can start at login.")),
  },
  shellInfo: () => Promise.resolve(null),
  onShellChanged: () => () => undefined,
  showComputer: () => Promise.reject(new RpcError(errorCode.unreachable, "Only the app can show other computers.")),
  quit: () => Promise.reject(new RpcError(errorCode.unreachable, "Only the app can be quit from its window.")),
  preference,
};
