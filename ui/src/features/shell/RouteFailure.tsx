/* A page that broke while it was being drawn. The rest of the frame stays. A part of the program that is not there any more
   means that Rouse was updated under this page; loading the page anew brings the parts that fit. */

import { Page } from "@/components/Page";
import { Failure } from "@/components/States";

import { isOutdated } from "./outdated";

export function RouteFailure({ error, reset }: { error: unknown; reset: () => void }) {
  const known = error instanceof Error ? error : new Error(String(error));
  if (isOutdated(known)) {
    return (
      <Page title="Rouse was updated">
        <Failure title="This page is older than the Rouse that it talks to." error={new Error("Loading it anew brings the two together. Nothing is lost by it.")} onRetry={() => window.location.reload()} />
      </Page>
    );
  }
  return (
    <Page title="This page could not be shown">
      <Failure title="Something went wrong while drawing this page. Your jobs go on running." error={known} onRetry={reset} />
    </Page>
  );
}
