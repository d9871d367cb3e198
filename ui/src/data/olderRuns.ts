/* Updates runs on older pages. Events refetch only the newest page, so an older run is fetched alone. */

import type { InfiniteData, QueryClient } from "@tanstack/react-query";

import type { Platform, RunsListResult, RunView } from "@/platform";

import { keys } from "./keys";

type Pages = InfiniteData<RunsListResult, string | undefined>;

/** Above this number the pages are refetched. */
const maxSingleFetches = 20;

/** Updates these runs in the loaded older pages. */
export async function refreshOlderRuns(
  client: QueryClient,
  platform: Platform,
  ids: ReadonlySet<string>,
): Promise<void> {
  const shown = loadedBelowHead(client, ids);
  if (shown.length === 0) return;
  if (shown.length > maxSingleFetches) {
    await client.invalidateQueries({ queryKey: keys.allRunPages });
    return;
  }
  const details = await Promise.all(shown.map((id) => platform.rpc("runs.get", { id })));
  const fresh = new Map(details.map(({ run }) => [run.id, run]));
  client.setQueriesData<Pages>({ queryKey: keys.allRunPages }, (pages) => pages && replaceRuns(pages, fresh));
}

/** Ids that are on a loaded older page but not on a newest page. */
function loadedBelowHead(client: QueryClient, ids: ReadonlySet<string>): string[] {
  const heads = client
    .getQueriesData<RunsListResult>({ queryKey: keys.runsHeads })
    .flatMap(([, head]) => head?.runs ?? []);
  const above = new Set(heads.map((run) => run.id));
  const pages = client.getQueriesData<Pages>({ queryKey: keys.allRunPages }).flatMap(([, data]) => data?.pages ?? []);
  const below = pages.flatMap((page) => page.runs).filter((run) => ids.has(run.id) && !above.has(run.id));
  return [...new Set(below.map((run) => run.id))];
}

function replaceRuns(pages: Pages, fresh: ReadonlyMap<string, RunView>): Pages {
  return {
    ...pages,
    pages: pages.pages.map((page) => ({ ...page, runs: page.runs.map((run) => fresh.get(run.id) ?? run) })),
  };
}
