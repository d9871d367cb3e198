/* Toast with a link to a run started out of sight. */

import { useRouter } from "@tanstack/react-router";

import { toast } from "@/components/Toasts";

export function useStartedToast() {
  const router = useRouter();
  return (name: string, runId: string | null) => {
    const action =
      runId === null
        ? undefined
        : { label: "View run", onAction: () => void router.navigate({ to: "/runs/$runId", params: { runId } }) };
    toast({ title: `Started “${name}”`, action });
  };
}
