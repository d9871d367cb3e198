// @vitest-environment node
/* Browser platform, over real sockets to a small server. */

import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { afterEach, beforeEach, expect, type Mock, test, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";

import { pageProof } from "./pageProof";
import { preference } from "./preference";
import { errorCode, type HostEvent, RpcError } from "./types";
import { web } from "./web";

interface Request {
  path: string;
  /** The proof of the page. */
  page?: string | undefined;
  body: { code?: string; method?: string; params?: unknown; id?: number; jsonrpc?: string };
}

let server: Server;
let sockets: WebSocketServer;
let requests: Request[];
let joined: { url: string; socket: WebSocket }[];
let answer: (request: Request) => { status?: number; body?: string };
let stops: (() => void)[];
let listeners: { name: string; listener: () => void }[];
let reloads: Mock<() => void>;

async function bodyOf(request: IncomingMessage): Promise<Request["body"]> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text || "{}") as Request["body"];
}

function result(value: unknown) {
  return { body: JSON.stringify({ jsonrpc: "2.0", id: 1, result: value }) };
}

beforeEach(async () => {
  requests = [];
  joined = [];
  stops = [];
  listeners = [];
  answer = () => result({});
  server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const seen = { path: request.url ?? "", page: request.headers["rouse-page"] as string | undefined, body };
      requests.push(seen);
      const { status = 200, body: text = "" } = answer(seen);
      response.writeHead(status, { "content-type": "application/json" }).end(text);
    });
  });
  sockets = new WebSocketServer({ server, path: "/ws" });
  sockets.on("connection", (socket, request) => joined.push({ url: request.url ?? "", socket }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  pageAt("/");
});

afterEach(async () => {
  stops.forEach((stop) => stop());
  sockets.clients.forEach((socket) => socket.terminate());
  sockets.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  vi.unstubAllGlobals();
  preference.set("page-key", null);
  pageProof.forget();
});

/** Places the page at an address of the server. */
function pageAt(path: string) {
  const url = new URL(path, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const toAbsolute = globalThis.fetch;
  reloads = vi.fn();
  vi.stubGlobal("location", Object.assign(url, { reload: reloads }));
  vi.stubGlobal("addEventListener", (name: string, listener: () => void) => listeners.push({ name, listener }));
  vi.stubGlobal("WebSocket", WebSocket);
  vi.stubGlobal("history", {
    state: null,
    replaceState: (_state: unknown, _title: string, to: string) => (url.href = new URL(to, url).href),
  });
  vi.stubGlobal("fetch", (to: string, init: RequestInit) => toAbsolute(new URL(to, url), init));
  return url;
}

function listening(after?: number) {
  const events: HostEvent[] = [];
  const connections: string[] = [];
  stops.push(
    web.subscribe(after, {
      onEvent: (event) => events.push(event),
      onConnection: (connection) => connections.push(connection),
    }),
  );
  return { events, connections };
}

function say(event: Partial<HostEvent>) {
  joined
    .at(-1)
    ?.socket.send(
      JSON.stringify({ jsonrpc: "2.0", method: "event", params: { kind: "run", atMs: 0, data: {}, ...event } }),
    );
}

test("RPC call returns its result", async () => {
  answer = () => result({ changed: true });
  await expect(web.rpc("runs.cancel", { id: "r1" })).resolves.toEqual({ changed: true });
  expect(requests[0]).toMatchObject({
    path: "/rpc",
    body: { jsonrpc: "2.0", method: "runs.cancel", params: { id: "r1" } },
  });
});

test("gateway error keeps code and data", async () => {
  answer = () => ({
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      error: { code: errorCode.stale, message: "It has changed.", data: { revision: 4 } },
    }),
  });
  const error: unknown = await web.rpc("runs.cancel", { id: "r1" }).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(RpcError);
  expect(error).toMatchObject({ code: errorCode.stale, message: "It has changed.", data: { revision: 4 } });
});

test.each([401, 403])("status %i means: not signed in", async (status) => {
  answer = () => ({ status });
  await expect(web.rpc("system.status", {})).rejects.toMatchObject({ code: errorCode.unauthenticated });
});

test("invalid or missing response counts as unreachable", async () => {
  answer = () => ({ status: 502, body: "<html>" });
  await expect(web.rpc("system.status", {})).rejects.toMatchObject({ code: errorCode.unreachable });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await expect(web.rpc("system.status", {})).rejects.toMatchObject({ code: errorCode.unreachable });
});

test("one-time code is exchanged once and removed", async () => {
  const address = pageAt("/runs/r1?x=1#code=abc-123_X");
  answer = () => ({ body: JSON.stringify({ pageKey: "k" }) });
  await web.signIn();
  expect(requests).toEqual([{ path: "/auth/exchange", body: { code: "abc-123_X" } }]);
  expect(address.href).toMatch(/\/runs\/r1\?x=1$/);
});

test("page proves itself to the engine and keeps its key", async () => {
  const { port } = pageAt("/#code=abc");
  let startId = "first";
  const proof = (of: string) =>
    createHash("sha256").update(`Rouse's page at http://127.0.0.1:${port}\n${of}\nk`).digest("hex");
  answer = ({ path, page: shown }) => {
    if (path === "/auth/start-id") return { body: startId };
    if (path === "/auth/exchange") return { body: JSON.stringify({ pageKey: "k" }) };
    return shown === proof(startId) ? result({}) : { status: 401 };
  };
  await web.signIn();
  await web.rpc("system.status", {});
  await web.rpc("system.status", {});
  expect(requests.map(({ path }) => path)).toEqual(["/auth/exchange", "/auth/start-id", "/rpc", "/rpc"]);
  startId = "second";
  await web.rpc("system.status", {});
  listening(5);
  await vi.waitFor(() => expect(joined[0]?.url).toBe(`/ws?after=5&page=${proof("second")}`));
  expect(JSON.stringify(requests)).not.toContain('"k"');
});

test("pasted code reloads the page", async () => {
  const address = pageAt("/runs");
  await web.signIn();
  const hashChanges = () => listeners.filter(({ name }) => name === "hashchange").forEach(({ listener }) => listener());
  address.hash = "#main";
  hashChanges();
  expect(reloads).not.toHaveBeenCalled();
  address.hash = "#code=abc";
  hashChanges();
  expect(reloads).toHaveBeenCalledOnce();
});

test("address without a valid code signs in nothing", async () => {
  for (const path of ["/", "/#code=", "/#code=a b", "/#gateway=http://evil.example", "/?code=abc"]) {
    pageAt(path);
    await web.signIn();
  }
  expect(requests).toEqual([]);
});

test("only events arrive, in order", async () => {
  const { events, connections } = listening();
  await vi.waitFor(() => expect(connections).toEqual(["connecting", "open"]));
  expect(joined[0]?.url).toBe("/ws");
  joined[0]?.socket.send(JSON.stringify({ jsonrpc: "2.0", id: 7, result: {} }));
  say({ seq: 41 });
  say({ seq: 42 });
  await vi.waitFor(() => expect(events.map((event) => event.seq)).toEqual([41, 42]));
});

test("stream resumes after the last numbered event", async () => {
  const { events, connections } = listening(5);
  await vi.waitFor(() => expect(joined[0]?.url).toBe("/ws?after=5"));
  say({ seq: 6 });
  say({ seq: 0, kind: "runText" });
  await vi.waitFor(() => expect(events).toHaveLength(2));
  joined[0]?.socket.terminate();
  await vi.waitFor(() => expect(connections).toContain("lost"));
  await vi.waitFor(() => expect(joined).toHaveLength(2), 3_000);
  expect(joined[1]?.url).toBe("/ws?after=6");
  await vi.waitFor(() => expect(connections.at(-1)).toBe("open"));
});

test("stopped stream stays stopped", async () => {
  const { connections } = listening();
  await vi.waitFor(() => expect(connections.at(-1)).toBe("open"));
  const closed = new Promise((resolve) => joined[0]?.socket.once("close", resolve));
  stops.pop()?.();
  await closed;
  expect(connections).toEqual(["connecting", "open"]);
});
