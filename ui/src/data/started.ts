/* That a run was started from where it cannot be seen. The line goes when the run has ended, for then it tells of nothing any
   more, but not before it can be read. */

import { QueryObserver, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";

import { toast } from "@/components/Toasts";
import { isLive } from "@/domain/runState";

import { keys } from "./keys";
import { usePlatform } from "./platform";

const readMs = 2_000;

export function useStartedToast() {
  const platform = usePlatform();
  const client = useQueryClient();
  const router = useRouter();
  return (name: string, runId: string | null) => {
    const title = `Started “${name}”`;
    if (runId === null) {
      toast({ title });
      return;
    }
    const run = new QueryObserver(client, { queryKey: keys.run(runId), queryFn: () => platform.rpc("runs.get", { id: runId }) });
    const action = { label: "See the run", onAction: () => void router.navigate({ to: "/runs/$runId", params: { runId } }) };
    const readAt = Date.now() + readMs;
    const close = toast({ title, action }, undefined, () => run.destroy());
    run.subscribe(({ data }) => {
      if (!data || isLive(data.run.state)) return;
      run.destroy();
      setTimeout(close, readAt - Date.now());
    });
  };
}
