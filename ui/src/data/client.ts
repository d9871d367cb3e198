/* Query cache. Data stays fresh until an event invalidates it. Failed calls are retried by the user. */

import { QueryClient } from "@tanstack/react-query";

import { RpcError, errorCode } from "@/platform";

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: Infinity,
        gcTime: 5 * 60_000,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        networkMode: "always",
        retry: (failures, error) => isUnreachable(error) && failures < 2,
        retryDelay: 300,
      },
      mutations: { networkMode: "always" },
    },
  });
}

export function isUnreachable(error: unknown): boolean {
  return error instanceof RpcError && error.code === errorCode.unreachable;
}

export function isUnauthenticated(error: unknown): boolean {
  return error instanceof RpcError && error.code === errorCode.unauthenticated;
}
