/* Runs that change while they stand far down in a list. The newest page is fetched again with every event; the pages below
   it are not, so a run there that has just ended (the first of a hundred that were queued) is fetched by itself. */

import type { InfiniteData, QueryClient } from "@tanstack/react-query";

import type { Platform, RunsListResult, RunView } from "@/platform";

import { keys } from "./keys";

type Pages = InfiniteData<RunsListResult, string | undefined>;

/** Beyond so many it is cheaper to read the pages again. */
const mostByOne = 20;

/** Puts the present state of these runs into the loaded pages that show them. */
export async function refreshOldRuns(client: QueryClient, platform: Platform, ids: ReadonlySet<string>): Promise<void> {
  const shown = shownBelow(client, ids);
  if (shown.length === 0) return;
  if (shown.length > mostByOne) {
    await client.invalidateQueries({ queryKey: keys.allRunPages });
    return;
  }
  const details = await Promise.all(shown.map((id) => platform.rpc("runs.get", { id })));
  const fresh = new Map(details.map(({ run }) => [run.id, run]));
  client.setQueriesData<Pages>({ queryKey: keys.allRunPages }, (pages) => pages && withFresh(pages, fresh));
}

/** Those of `ids` that stand in a loaded page and in no newest page. */
function shownBelow(client: QueryClient, ids: ReadonlySet<string>): string[] {
  const heads = client.getQueriesData<RunsListResult>({ queryKey: keys.runsHeads }).flatMap(([, head]) => head?.runs ?? []);
  const above = new Set(heads.map((run) => run.id));
  const pages = client.getQueriesData<Pages>({ queryKey: keys.allRunPages }).flatMap(([, data]) => data?.pages ?? []);
  const below = pages.flatMap((page) => page.runs).filter((run) => ids.has(run.id) && !above.has(run.id));
  return [...new Set(below.map((run) => run.id))];
}

function withFresh(pages: Pages, fresh: ReadonlyMap<string, RunView>): Pages {
  return { ...pages, pages: pages.pages.map((page) => ({ ...page, runs: page.runs.map((run) => fresh.get(run.id) ?? run) })) };
}
