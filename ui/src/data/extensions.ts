/* Installed MCP servers and coding agents, and changes of them. A server's state changes without an event, so lists refetch on every
   mount, with each run, and while a server starts or a sign-in waits for the browser. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import type { ExtensionsListResult, ExtensionView, Method, ServerState, SignInState } from "@/platform";

import { useCall } from "./actions";
import { keys } from "./keys";
import { usePlatform } from "./platform";

const unsettledRefetchMs = 5_000;

/** Installed MCP servers, by name. */
export function useServers() {
  return useExtensions(serversOf);
}

/** Installed coding agents, by name. */
export function useCodingAgents() {
  return useExtensions(codingAgentsOf);
}

const serversOf = ({ extensions }: ExtensionsListResult) => extensions.filter(({ isCodingAgent }) => !isCodingAgent);
const codingAgentsOf = ({ extensions }: ExtensionsListResult) =>
  extensions.filter(({ isCodingAgent }) => isCodingAgent);

function useExtensions(select: (found: ExtensionsListResult) => ExtensionView[]) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.extensions,
    queryFn: () => platform.rpc("extensions.list", {}),
    select,
    staleTime: 0,
    refetchInterval: ({ state: { data } }) => refetchDelay(data?.extensions.map(({ state }) => state)),
  });
}

/** Known coding agents. They change only with the engine. */
export function useAgentPresets() {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.agentPresets,
    queryFn: () => platform.rpc("agents.presets", {}),
    select: ({ presets }) => presets,
    staleTime: Infinity,
  });
}

/** Definition, status and tools of a server; disabled without a name. */
export function useExtension(name: string | undefined) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.extension(name ?? ""),
    queryFn: () => platform.rpc("extensions.get", { name: name ?? "" }),
    enabled: name !== undefined,
    staleTime: 0,
    refetchInterval: ({ state: { data } }) => refetchDelay(data && [data.status.state], data?.signIn?.state),
  });
}

function refetchDelay(states: readonly ServerState[] = [], signIn?: SignInState): number | false {
  return (states.includes("starting") || signIn === "pending") && unsettledRefetchMs;
}

/** Waits for the end of a pending sign-in and refetches the servers then. One call waits for some seconds only. */
export function useSignInEnd(name: string, isPending: boolean) {
  const platform = usePlatform();
  const client = useQueryClient();
  useEffect(() => {
    if (!isPending) return;
    let isGone = false;
    const wait = async () => {
      let state: SignInState = "pending";
      while (state === "pending" && !isGone) ({ state } = await platform.rpc("extensions.awaitSignIn", { name }));
      if (!isGone) await client.invalidateQueries({ queryKey: keys.extensions });
    };
    // Without the engine, the next refetch shows the state.
    wait().catch(() => undefined);
    return () => {
      isGone = true;
    };
  }, [platform, client, name, isPending]);
}

/** Change of a server or tool. The tools, grants, jobs and the state of a built tool change with it. */
export function useExtensionCall<M extends Method & `extensions.${string}`>(method: M) {
  return useCall(method, [
    keys.extensions,
    keys.toolBuilds,
    keys.tools,
    keys.toolsOfDrafts,
    keys.eachJob,
    keys.checks,
    keys.grants,
    keys.secrets,
  ]);
}

const installPollMs = 1_000;

/** What the installation of a server does; null without an installation. */
export function useInstallStep(name: string) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.installStep(name),
    queryFn: () => platform.rpc("extensions.installStatus", { name }),
    select: ({ step }) => step,
    staleTime: 0,
    gcTime: 0,
    retry: false,
    refetchInterval: installPollMs,
  });
}
