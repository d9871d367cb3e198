/* In-memory platform: answers methods from a table, records calls, emits events. Methods without an answer fail. */

import { vi } from "vitest";

import {
  type Connection,
  errorCode,
  type EventListener,
  type HostEvent,
  type Method,
  type ParamsOf,
  type Platform,
  type ResultOf,
  RpcError,
} from "@/platform";

import { aChannelList, aStatus } from "./fixtures";

type Answers = { [M in Method]?: (params: ParamsOf<M>) => ResultOf<M> | Promise<ResultOf<M>> };

const nothingSpent = { tokens: 0, costMicroUsd: 0, unpricedTokens: 0 };

export interface FakeHost extends Platform {
  answers: Answers;
  calls: { method: Method; params: unknown }[];
  called: (method: Method) => unknown[];
  emit: (kind: HostEvent["kind"], data: Record<string, unknown>, seq?: number) => void;
  connection: (state: Connection) => void;
}

export function fakeHost(answers: Answers = {}): FakeHost {
  const listeners = new Set<EventListener>();
  const calls: FakeHost["calls"] = [];
  const kept = new Map<string, string>();
  let seq = 0;
  const host: FakeHost = {
    answers: {
      "system.status": () => aStatus(),
      "cron.list": () => ({ jobs: [], broken: [], nextCursor: null }),
      "runs.list": () => ({ runs: [], nextCursor: null, total: 0 }),
      "approvals.list": () => ({ approvals: [] }),
      "hooks.list": () => ({ hooks: [] }),
      "skills.list": () => ({
        skills: [],
        ownFolder: "/home/ada/skills",
        installedFolder: "/home/ada/skills/installed",
      }),
      "extensions.list": () => ({ extensions: [] }),
      "tools.builds": () => ({ builds: [] }),
      "channels.list": () => aChannelList(),
      "secrets.list": () => ({ secrets: [], warning: null }),
      "devices.list": () => ({ devices: [], names: [] }),
      "mcpAccess.list": () => ({ tokens: [], url: "http://127.0.0.1:7717/mcp" }),
      "cron.estimate": () => ({
        text: "No finished runs yet, so there is no estimate.",
        basedOnRuns: 0,
        runsPerMonth: 30,
        tokensPerRun: null,
        costPerRunMicroUsd: null,
        tokensPerMonth: null,
        costPerMonthMicroUsd: null,
      }),
      "cron.check": () => ({ warnings: [] }),
      "providers.list": () => ({ active: null, providers: [] }),
      "models.providers": () => ({ presets: [], ollamaNeedsModel: false, suggested: [] }),
      "models.pullStatus": () => ({ pull: null }),
      "spending.get": () => ({
        today: nothingSpent,
        month: nothingSpent,
        dayEndsAtMs: 0,
        tokensPerDay: null,
        usdPerDay: null,
      }),
      ...answers,
    },
    calls,
    called: (method) => calls.filter((call) => call.method === method).map((call) => call.params),
    emit: (kind, data, at) => {
      seq = at ?? seq + 1;
      listeners.forEach((listener) => listener.onEvent({ seq, kind, atMs: 0, data }));
    },
    connection: (state) => listeners.forEach((listener) => listener.onConnection(state)),
    capabilities: { window: false, autostart: false },
    rpc: async <M extends Method>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> => {
      calls.push({ method, params });
      const answer = host.answers[method];
      if (!answer) throw new RpcError(errorCode.notFound, `The test gave no answer for ${method}.`);
      return answer(params);
    },
    subscribe: (_after, listener) => {
      listeners.add(listener);
      listener.onConnection("open");
      return () => listeners.delete(listener);
    },
    signIn: () => Promise.resolve(),
    device: () => null,
    pairing: () => null,
    openExternal: vi.fn(() => Promise.resolve()),
    copyText: vi.fn(() => Promise.resolve()),
    saveFile: vi.fn(() => Promise.resolve(null)),
    linkTo: (path) => `http://127.0.0.1:7420${path}`,
    onNavigate: () => () => undefined,
    shellInfo: () => Promise.resolve(null),
    onShellChanged: () => () => undefined,
    showComputer: vi.fn(() => Promise.resolve()),
    quit: vi.fn(() => Promise.resolve()),
    autostart: { get: () => Promise.resolve(false), set: () => Promise.resolve() },
    preference: {
      get: (name) => kept.get(name) ?? null,
      set: (name, value) => {
        if (value === null) kept.delete(name);
        else kept.set(name, value);
      },
    },
  };
  return host;
}
