/* A page that broke while it was being drawn. The rest of the frame stays. A part of the program that cannot be loaded is missing
   because Rouse does not run, and comes when it runs again; or else because Rouse was updated under this page, and loading
   the page anew brings the parts that fit. */

import { useEffect, useState } from "react";

import { Page } from "@/components/Page";
import { Failure } from "@/components/States";
import { useConnection } from "@/data/connection";

import { isOutdated } from "./outdated";

export function RouteFailure({ error, reset }: { error: unknown; reset: () => void }) {
  const known = error instanceof Error ? error : new Error(String(error));
  if (isOutdated(known)) return <Missing />;
  return (
    <Page title="This page could not be shown">
      <Failure title="Something went wrong while drawing this page. Your jobs go on running." error={known} onRetry={reset} />
    </Page>
  );
}

/** Browsers remember that a part could not be loaded, so that only the page as a whole can be tried again. */
function Missing() {
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
        <Failure title="This page comes from Rouse, which does not answer." error={new Error("Start the app, or run `rouse serve` in a terminal. The page is shown as soon as it answers.")} />
      </Page>
    );
  }
  return (
    <Page title="Rouse was updated">
      <Failure title="This page is older than the Rouse that it talks to." error={new Error("Loading it anew brings the two together. Nothing is lost by it.")} onRetry={() => window.location.reload()} />
    </Page>
  );
}
