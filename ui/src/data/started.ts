/* That a run was started from where it cannot be seen. The line stays as long as any other: it leads to the run, so it must not
   go from under the pointer or the focus because the run was short. */

import { useRouter } from "@tanstack/react-router";

import { toast } from "@/components/Toasts";

export function useStartedToast() {
  const router = useRouter();
  return (name: string, runId: string | null) => {
    const action = runId === null ? undefined : { label: "See the run", onAction: () => void router.navigate({ to: "/runs/$runId", params: { runId } }) };
    toast({ title: `Started “${name}”`, action });
  };
}
