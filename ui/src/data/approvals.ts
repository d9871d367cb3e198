/* Approvals, decisions and grants. A late decision is no error; the result holds the earlier decision. */

import { useQuery, useQueryClient } from "@tanstack/react-query";

import { useNow } from "@/components/useNow";
import type {
  ApprovalsDecideResult,
  ApprovalsListResult,
  ApprovalView,
  DecisionDraft,
  JobView,
  RunDetail,
} from "@/platform";

import { keys } from "./keys";
import { usePlatform } from "./platform";

const newestLimit = 50;

/** Pending approvals, first to expire first. */
export function useOpenApprovals() {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.openApprovals,
    queryFn: () => platform.rpc("approvals.list", {}),
    select: ({ approvals }) => approvals,
  });
}

/** Newest decided approvals. */
export function useDecidedApprovals() {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.newestApprovals,
    queryFn: () => platform.rpc("approvals.list", { all: true, limit: newestLimit }),
    select: ({ approvals }) => approvals.filter(({ state }) => state !== "pending"),
  });
}

export function useApproval(id: string) {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.approval(id), queryFn: () => platform.rpc("approvals.get", { id }) });
}

/** All grants. Expiry has no event, so active grants are filtered by the clock. */
export function useGrants() {
  const platform = usePlatform();
  const now = useNow(1_000);
  const { data, error, isPending, refetch } = useQuery({
    queryKey: keys.grants,
    queryFn: () => platform.rpc("grants.list", {}),
    select: ({ grants }) => grants,
  });
  return {
    error,
    isPending,
    refetch,
    data: data?.map((grant) => ({ ...grant, isValid: grant.isValid && (grant.expiresAtMs ?? Infinity) > now })),
  };
}

/** Sends a decision and updates the cache without waiting for the event. */
export function useDecide(): (id: string, decision: DecisionDraft) => Promise<ApprovalsDecideResult> {
  const platform = usePlatform();
  const client = useQueryClient();
  return async (id, decision) => {
    const decided = await platform.rpc("approvals.decide", { id, decision, from: "page" });
    client.setQueryData(keys.approval(id), decided.approval);
    client.setQueryData<ApprovalsListResult>(
      keys.openApprovals,
      (list) => list && { approvals: list.approvals.filter((one) => one.id !== id) },
    );
    for (const queryKey of [keys.approvals, keys.grants, keys.runs, keys.status, keys.run(decided.approval.runId)])
      void client.invalidateQueries({ queryKey });
    return decided;
  };
}

/** Run and job of an approval, if any. */
export function useApprovalContext(approval: ApprovalView | undefined): {
  detail: RunDetail | undefined;
  job: JobView | undefined;
} {
  const platform = usePlatform();
  const { runId = "", jobId = null } = approval ?? {};
  const run = useQuery({
    queryKey: keys.run(runId),
    queryFn: () => platform.rpc("runs.get", { id: runId }),
    enabled: approval !== undefined,
  });
  const job = useQuery({
    queryKey: keys.job(jobId ?? ""),
    queryFn: () => platform.rpc("cron.get", { id: jobId ?? "" }),
    enabled: jobId !== null,
  });
  return { detail: run.data, job: job.data };
}
