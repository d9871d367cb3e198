/* A page that broke while it was being drawn. The rest of the frame stays. */

import { Page } from "@/components/Page";
import { Failure } from "@/components/States";

export function RouteFailure({ error, reset }: { error: unknown; reset: () => void }) {
  return (
    <Page title="This page could not be shown">
      <Failure title="Something went wrong while drawing this page. Your jobs go on running." error={error instanceof Error ? error : new Error(String(error))} onRetry={reset} />
    </Page>
  );
}
