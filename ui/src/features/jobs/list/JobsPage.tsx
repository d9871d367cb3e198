/* Job list. The filter is in the URL. Shows no counts until all jobs are loaded. */

import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus, SearchX } from "lucide-react";
import { useDeferredValue, useMemo, useState } from "react";

import { Button, ButtonLink } from "@/components/Button";
import { Chips } from "@/components/Choice";
import { SearchField } from "@/components/Field";
import { Page } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/Placeholders";
import { VirtualList } from "@/components/VirtualList";
import { Allowed, useMay } from "@/data/access";
import { useOpenApprovals } from "@/data/approvals";
import { useJobs } from "@/data/jobs";
import { useStatus } from "@/data/queries";
import { plural } from "@/format/amount";
import type { JobView } from "@/platform";

import { BrokenJobs } from "./BrokenJobs";
import { countJobs, filterJobs, type JobFilter } from "./jobFilters";
import { HeartbeatRow } from "./HeartbeatRow";
import { JobRow } from "./JobRow";
import styles from "./JobsPage.module.css";
import { useRowOrder } from "./rowOrder";
import type { JobsSearch } from "@/features/jobs/searchParams";
import { EmptyJobs } from "./EmptyJobs";
import { useJobActions } from "@/features/jobs/useJobActions";

export function JobsPage() {
  const { data: jobs, broken, isWhole, error, refetch } = useJobs();
  const hasJobs = jobs !== undefined && jobs.length > 0;
  return (
    <Page
      title="Jobs"
      actions={
        <Allowed to="cron.add">
          <ButtonLink to="/jobs/new" search={{}} look="primary" icon={Plus}>
            New job
          </ButtonLink>
        </Allowed>
      }
    >
      {error && !jobs ? (
        <Failure title="Could not load jobs." error={error} onRetry={refetch} />
      ) : !jobs ? (
        <SkeletonRows rows={12} />
      ) : null}
      <BrokenJobs jobs={broken} />
      {jobs?.length === 0 && (
        <>
          <Allowed to="cron.add">
            <EmptyJobs />
          </Allowed>
          <div className={styles.alone}>
            <HeartbeatRow />
          </div>
        </>
      )}
      {hasJobs && <List jobs={jobs} isWhole={isWhole} />}
    </Page>
  );
}

function List({ jobs: ordered, isWhole }: { jobs: JobView[]; isWhole: boolean }) {
  const jobs = useRowOrder(ordered);
  const search = useSearch({ from: "/jobs" });
  const navigate = useNavigate();
  const [q, setQ] = useState(search.q ?? "");
  const words = useDeferredValue(q);
  const filter = search.filter ?? "all";
  const shown = useMemo(() => filterJobs(jobs, { ...search, q: words }), [jobs, search, words]);
  const actions = useJobActions();
  const mayChange = useMay("cron.update");
  const cron = useStatus().data?.cron;
  const waiting = useOpenApprovals().data;
  const asking = useMemo(() => new Set(waiting?.map(({ jobId }) => jobId)), [waiting]);
  const setSearch = (next: JobsSearch) => void navigate({ to: "/jobs", search: next, replace: true });
  const keep = () => setSearch({ ...search, q: q === "" ? undefined : q });
  const clear = () => {
    setQ("");
    setSearch({});
  };
  return (
    <>
      <div className={styles.bar}>
        <SearchField
          label="Search jobs"
          placeholder="Search"
          value={q}
          onChange={setQ}
          onBlur={keep}
          onSubmit={keep}
          className={styles.search}
        />
        <Filters
          jobs={isWhole ? jobs : undefined}
          filter={filter}
          onChange={(next) => setSearch({ ...search, filter: next === "all" ? undefined : next })}
        />
        <span className={styles.total} role="status">
          {isWhole ? shown.length !== jobs.length && plural(shown.length, "job") : "Loading more…"}
        </span>
      </div>
      {filter === "all" && "heartbeat".includes(words.trim().toLowerCase()) && <HeartbeatRow />}
      {shown.length === 0 && !isWhole ? (
        <SkeletonRows rows={12} />
      ) : shown.length === 0 ? (
        <Empty icon={SearchX} title="No matching jobs" action={<Button onPress={clear}>Show all jobs</Button>}>
          No job matches this search and filter.
        </Empty>
      ) : (
        <VirtualList
          label="Jobs"
          items={shown}
          itemKey={({ job }) => job.id}
          keys={[
            { key: "e", label: "Edit", run: ({ job }) => actions.open(job.id) },
            ...(mayChange
              ? [
                  { key: "r", label: "Run now", run: ({ job }: JobView) => actions.run(job) },
                  {
                    key: "p",
                    label: "Pause or resume",
                    run: ({ job }: JobView) => void actions.setEnabled(job, !job.enabled),
                  },
                ]
              : []),
          ]}
        >
          {(view, place) => (
            <JobRow
              view={view}
              isAwaitingApproval={asking.has(view.job.id)}
              cron={cron}
              place={place}
              actions={actions}
            />
          )}
        </VirtualList>
      )}
    </>
  );
}

const filterWords: Record<JobFilter, string> = { all: "All", active: "Active", paused: "Paused", failing: "Failing" };

function Filters({
  jobs,
  filter,
  onChange,
}: {
  jobs: JobView[] | undefined;
  filter: JobFilter;
  onChange: (filter: JobFilter) => void;
}) {
  const counts = useMemo(() => jobs && countJobs(jobs), [jobs]);
  const options = (Object.keys(filterWords) as JobFilter[]).map((id) => ({
    id,
    label: (
      <>
        {filterWords[id]} <span className={styles.count}>{counts?.[id].toLocaleString()}</span>
      </>
    ),
  }));
  return <Chips label="Job filter" options={options} value={filter} onChange={onChange} />;
}
