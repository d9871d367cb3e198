/* Run list, newest first. The filter is in the URL. */

import { useNavigate, useSearch } from "@tanstack/react-router";
import { History, SearchX } from "lucide-react";
import { use, useMemo } from "react";

import { Button, ButtonLink } from "@/components/Button";
import { Page } from "@/components/Page";
import { rowHeight, rowHeightOfTwo } from "@/components/sizes";
import { Empty, Failure, SkeletonRows } from "@/components/Placeholders";
import { useNarrow } from "@/components/useNarrow";
import { useNow } from "@/components/useNow";
import { toast } from "@/components/Toasts";
import { ScrollerContext, VirtualList } from "@/components/VirtualList";
import { useRetryRun } from "@/data/actions";
import { useRuns } from "@/data/runs";
import { useStartedToast } from "@/data/useStartedToast";
import { RunRow } from "@/domain/RunRow";
import { plural } from "@/format/amount";
import type { RunView } from "@/platform";

import { RunFilters } from "./RunFilters";
import styles from "./RunsPage.module.css";
import { type RunsSearch, toParams } from "./searchParams";

export function RunsPage() {
  const search = useSearch({ from: "/runs" });
  const navigate = useNavigate();
  const now = useNow(60_000);
  // Stable for a day, although `now` changes every minute.
  const written = JSON.stringify(toParams(search, now));
  const params = useMemo(() => JSON.parse(written) as ReturnType<typeof toParams>, [written]);
  const list = useRuns(params);
  const setSearch = (next: RunsSearch) => void navigate({ to: "/runs", search: next, replace: true });
  const filtered = Object.keys(search).length > 0;

  return (
    <Page title="Runs">
      {(filtered || list.runs?.length !== 0) && (
        <div className={styles.bar}>
          <RunFilters search={search} onChange={setSearch} />
          <span className={styles.total} role="status">
            {list.total !== undefined && plural(list.total, "run")}
          </span>
        </div>
      )}
      <Content list={list} filtered={filtered} onClear={() => setSearch({})} />
    </Page>
  );
}

function Content({
  list,
  filtered,
  onClear,
}: {
  list: ReturnType<typeof useRuns>;
  filtered: boolean;
  onClear: () => void;
}) {
  const keys = useRowKeys(filtered);
  const height = useNarrow() ? rowHeightOfTwo : rowHeight;
  if (list.error && !list.runs)
    return <Failure title="Could not load runs." error={list.error} onRetry={list.refetch} />;
  if (!list.runs) return <SkeletonRows rows={14} />;
  if (list.runs.length === 0 && filtered) {
    return (
      <Empty icon={SearchX} title="No matching runs" action={<Button onPress={onClear}>Clear filters</Button>}>
        No run matches these filters.
      </Empty>
    );
  }
  if (list.runs.length === 0) {
    return (
      <Empty
        icon={History}
        title="No runs yet"
        action={
          <ButtonLink to="/jobs/new" search={{}} look="primary">
            New job
          </ButtonLink>
        }
      >
        Every run appears here with its outcome, steps and cost.
      </Empty>
    );
  }
  return (
    <VirtualList
      keys={keys}
      label="Runs"
      rowHeight={height}
      items={list.runs}
      itemKey={(run) => run.id}
      more={list.more}
      total={list.total}
      onEnd={list.loadMore}
    >
      {(run, place) => <RunRow run={run} tabIndex={place.tabIndex} />}
    </VirtualList>
  );
}

/** Shortcuts of the focused row. */
function useRowKeys(filtered: boolean) {
  const navigate = useNavigate();
  const retry = useRetryRun();
  const started = useStartedToast();
  const scroller = use(ScrollerContext);
  const again = (run: RunView) =>
    retry.mutate(
      { id: run.id },
      {
        onSuccess: ({ runId }) => {
          // At the top of the list, the new run is visible.
          if (filtered || (scroller?.scrollTop ?? 0) > 0) started(run.jobName, runId);
        },
        onError: (error) => toast({ title: `Could not start ${run.jobName}`, about: error.message }),
      },
    );
  const edit = ({ jobId }: RunView) => {
    if (jobId !== null) void navigate({ to: "/jobs/$jobId", params: { jobId } });
  };
  return [
    { key: "e", label: "Edit job", run: edit },
    { key: "r", label: "Run again", run: again },
  ];
}
