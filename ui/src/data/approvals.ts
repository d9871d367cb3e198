/* Questions to a person, their answers, and the grants made of them. An answer that comes too late is no error: it tells
   what was decided instead, and every view shows that. */

import { useQuery, useQueryClient } from "@tanstack/react-query";

import { useNow } from "@/components/useNow";
import type { Answer, ApprovalsDecideResult, ApprovalsListResult, ApprovalView, JobView, RunDetail } from "@/platform";

import { keys } from "./keys";
import { usePlatform } from "./platform";

/** Enough to see what was decided lately. */
const newestAsked = 50;

/** The questions that wait, the first to expire first. */
export function useOpenApprovals() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.openApprovals, queryFn: () => platform.rpc("approvals.list", {}), select: ({ approvals }) => approvals });
}

/** The newest questions that wait no more. */
export function useAnsweredApprovals() {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.newestApprovals,
    queryFn: () => platform.rpc("approvals.list", { all: true, limit: newestAsked }),
    select: ({ approvals }) => approvals.filter(({ state }) => state !== "pending"),
  });
}

export function useApproval(id: string) {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.approval(id), queryFn: () => platform.rpc("approvals.get", { id }) });
}

/** All grants as they are now: nothing is sent when one ends by time, so what counts then is seen by the clock. */
export function useGrants() {
  const platform = usePlatform();
  const now = useNow(1_000);
  const { data, error, isPending, refetch } = useQuery({ queryKey: keys.grants, queryFn: () => platform.rpc("grants.list", {}), select: ({ grants }) => grants });
  return { error, isPending, refetch, data: data?.map((grant) => ({ ...grant, isGood: grant.isGood && (grant.expiresAtMs ?? Infinity) > now })) };
}

/** Gives an answer and puts what it led to in place, without waiting for the event. */
export function useAnswer(): (id: string, answer: Answer) => Promise<ApprovalsDecideResult> {
  const platform = usePlatform();
  const client = useQueryClient();
  return async (id, answer) => {
    const decided = await platform.rpc("approvals.decide", { id, answer, from: "page" });
    client.setQueryData(keys.approval(id), decided.approval);
    client.setQueryData<ApprovalsListResult>(keys.openApprovals, (list) => list && { approvals: list.approvals.filter((one) => one.id !== id) });
    for (const queryKey of [keys.approvals, keys.grants, keys.runs, keys.status, keys.run(decided.approval.runId)]) void client.invalidateQueries({ queryKey });
    return decided;
  };
}

/** The run and the job behind a question, as far as they are there. */
export function useApprovalContext(approval: ApprovalView | undefined): { detail: RunDetail | undefined; job: JobView | undefined } {
  const platform = usePlatform();
  const { runId = "", jobId = null } = approval ?? {};
  const run = useQuery({ queryKey: keys.run(runId), queryFn: () => platform.rpc("runs.get", { id: runId }), enabled: approval !== undefined });
  const job = useQuery({ queryKey: keys.job(jobId ?? ""), queryFn: () => platform.rpc("cron.get", { id: jobId ?? "" }), enabled: jobId !== null });
  return { detail: run.data, job: job.data };
}
