/* Filters of the run list. */

import { useEffect, useState } from "react";

import { Button } from "@/components/Button";
import { SearchField } from "@/components/Field";
import { FilterMenu } from "@/components/FilterMenu";
import { useJobs } from "@/data/jobs";
import { runStates, StateGlyph, stateLabel } from "@/domain/runState";
import { runTriggers } from "@/domain/labels";
import { runTriggerLabels } from "@/platform";

import styles from "./RunsPage.module.css";
import { type RunsSearch, type RunTimeFilter, times } from "./searchParams";

const timeWords: Record<RunTimeFilter, string> = { today: "Today", week: "Last 7 days", month: "Last 30 days" };

interface Props {
  search: RunsSearch;
  onChange: (search: RunsSearch) => void;
}

export function RunFilters({ search, onChange }: Props) {
  const jobs = useJobs().data ?? [];
  const set = (part: Partial<RunsSearch>) =>
    onChange(Object.fromEntries(Object.entries({ ...search, ...part }).filter(([, value]) => value)));
  return (
    <div className={styles.filters}>
      {search.digest !== undefined && (
        <Button small onPress={() => set({ digest: undefined })}>
          From one digest ×
        </Button>
      )}
      <SearchWords value={search.q ?? ""} onChange={(q) => set({ q })} />
      <FilterMenu
        label="Job"
        choices={jobs.map(({ job }) => ({ id: job.id, label: job.name }))}
        value={search.job === undefined ? [] : [search.job]}
        onChange={([job]) => set({ job })}
      />
      <FilterMenu
        label="State"
        several
        choices={runStates.map((id) => ({ id, label: stateLabel(id), icon: <StateGlyph state={id} size={15} /> }))}
        value={search.state ?? []}
        onChange={(state) => set({ state: state.length > 0 ? state : undefined })}
      />
      <FilterMenu
        label="Trigger"
        choices={runTriggers.map((id) => ({ id, label: runTriggerLabels[id] }))}
        value={search.trigger === undefined ? [] : [search.trigger]}
        onChange={([trigger]) => set({ trigger })}
      />
      <FilterMenu
        label="Time"
        choices={times.map((id) => ({ id, label: timeWords[id] }))}
        value={search.time === undefined ? [] : [search.time]}
        onChange={([time]) => set({ time })}
      />
    </div>
  );
}

/** Debounced search; applied at once on blur and Enter. */
function SearchWords({ value, onChange }: { value: string; onChange: (q: string) => void }) {
  const [typed, setTyped] = useState(value);
  const [known, setKnown] = useState(value);
  if (known !== value) {
    setKnown(value);
    setTyped(value);
  }
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => onChange(typed), 200);
    return () => clearTimeout(timer);
  });
  const now = () => {
    if (typed !== value) onChange(typed);
  };
  return (
    <SearchField
      label="Search runs"
      placeholder="Names and transcripts"
      value={typed}
      onChange={setTyped}
      onSubmit={now}
      onBlur={now}
      className={styles.search}
    />
  );
}
