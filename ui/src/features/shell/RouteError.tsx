/* Replaces a page that failed to render. A missing chunk means that Rouse is not running, or was updated and the
   page must reload. */

import { useEffect, useState } from "react";

import { Page } from "@/components/Page";
import { Failure } from "@/components/Placeholders";
import { useConnection } from "@/data/connection";

import { isOutdated } from "./outdatedChunk";

export function RouteError({ error, reset }: { error: unknown; reset: () => void }) {
  const known = error instanceof Error ? error : new Error(String(error));
  if (isOutdated(known)) return <OutdatedPage />;
  return (
    <Page title="This page could not be shown">
      <Failure title="This page failed to render. Your jobs keep running." error={known} onRetry={reset} />
    </Page>
  );
}

/** Browsers cache failed imports, so only a reload retries. */
function OutdatedPage() {
  const connection = useConnection();
  const [wasLost, setWasLost] = useState(false);
  const isLost = connection === "lost";
  if (isLost && !wasLost) setWasLost(true);
  const isBack = wasLost && connection === "open";
  useEffect(() => {
    if (isBack) window.location.reload();
  }, [isBack]);
  if (wasLost) {
    return (
      <Page title="Rouse is not running">
        <Failure
          title="Rouse is not responding."
          error={new Error("Start the app, or run `rouse serve` in a terminal. The page loads once Rouse responds.")}
        />
      </Page>
    );
  }
  return (
    <Page title="Rouse was updated">
      <Failure
        title="This page is out of date."
        error={new Error("Reload it to update. Nothing is lost.")}
        onRetry={() => window.location.reload()}
      />
    </Page>
  );
}
