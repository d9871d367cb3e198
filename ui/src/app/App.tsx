/* Composition root: one platform, one query cache fed by one event stream, one router. */

import { QueryClientProvider } from "@tanstack/react-query";
import { type RouterHistory, RouterProvider } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { RouterProvider as AriaRouterProvider } from "react-aria-components";

import { createQueryClient } from "@/data/client";
import { FeedContext } from "@/data/connection";
import { EventFeed } from "@/data/events";
import { PlatformContext } from "@/data/platform";
import type { Platform } from "@/platform";

import { createAppRouter } from "./router";

interface Props {
  platform: Platform;
  /** Defaults to the browser's history. */
  history?: RouterHistory;
}

export function App({ platform, history }: Props) {
  const [{ client, feed, router }] = useState(() => {
    const client = createQueryClient();
    return { client, feed: new EventFeed(client, platform), router: createAppRouter(history) };
  });
  useEffect(() => feed.start(), [feed]);
  useEffect(() => platform.onNavigate((path) => void router.navigate({ href: path })), [platform, router]);
  return (
    <PlatformContext value={platform}>
      <QueryClientProvider client={client}>
        <FeedContext value={feed}>
          <AriaRouterProvider navigate={(path) => void router.navigate({ href: path })}>
            <RouterProvider router={router} />
          </AriaRouterProvider>
        </FeedContext>
      </QueryClientProvider>
    </PlatformContext>
  );
}
