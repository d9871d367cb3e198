/* State of the event stream. */

import { createContext, use, useSyncExternalStore } from "react";

import type { Connection } from "@/platform";

import type { EventFeed } from "./events";

export const FeedContext = createContext<EventFeed | null>(null);

export function useConnection(): Connection {
  const feed = use(FeedContext);
  if (!feed) throw new Error("BUG: no event feed around this view");
  return useSyncExternalStore(feed.watch, feed.connection);
}
