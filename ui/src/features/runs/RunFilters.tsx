/* The filters of the list of runs. */

import { useEffect, useState } from "react";

import { Button } from "@/components/Button";
import { SearchField } from "@/components/Field";
import { FilterMenu } from "@/components/FilterMenu";
import { useJobs } from "@/data/jobs";
import { runStates, StateGlyph, stateWord } from "@/domain/runState";
import { runTriggers, triggerWord } from "@/domain/words";

import styles from "./RunsPage.module.css";
import { type RunsSearch, type Time, times } from "./search";

const timeWords: Record<Time, string> = { today: "Today", week: "Last 7 days", month: "Last 30 days" };

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
        <Button small onPress={() => set({ digest: undefined })}>From one digest ×</Button>
      )}
      <Words value={search.q ?? ""} onChange={(q) => set({ q })} />
      <FilterMenu
        label="Job"
        choices={jobs.map(({ job }) => ({ id: job.id, label: job.name }))}
        value={search.job === undefined ? [] : [search.job]}
        onChange={([job]) => set({ job })}
      />
      <FilterMenu
        label="State"
        several
        choices={runStates.map((id) => ({ id, label: stateWord(id), icon: <StateGlyph state={id} size={15} /> }))}
        value={search.state ?? []}
        onChange={(state) => set({ state: state.length > 0 ? state : undefined })}
      />
      <FilterMenu
        label="Trigger"
        choices={runTriggers.map((id) => ({ id, label: triggerWord(id) }))}
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

/** Waits until the person has stopped typing, or goes on to something else, so that not every letter is asked for. */
function Words({ value, onChange }: { value: string; onChange: (q: string) => void }) {
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
  return <SearchField label="Search runs" placeholder="Names and transcripts" value={typed} onChange={setTyped} onSubmit={now} onBlur={now} className={styles.search} />;
}
