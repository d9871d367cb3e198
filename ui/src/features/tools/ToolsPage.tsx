/* Tool catalog, or the effective tools of a job. */

import { useNavigate, useSearch } from "@tanstack/react-router";
import { SearchX, ShieldCheck } from "lucide-react";
import { useState } from "react";

import { Button, ButtonLink } from "@/components/Button";
import { SearchField } from "@/components/Field";
import { FilterMenu } from "@/components/FilterMenu";
import { Notice } from "@/components/Notice";
import { Page } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/Placeholders";
import { useJobs } from "@/data/jobs";
import { useEffectiveTools, useJob, useTools } from "@/data/queries";
import { plural } from "@/format/amount";
import type { ToolView } from "@/platform";

import { SkillsSection } from "./SkillsSection";
import { ToolRow } from "./ToolRow";
import styles from "./ToolsPage.module.css";

export function ToolsPage() {
  const { job } = useSearch({ from: "/tools" });
  const offeredTo = useJob(job);
  const navigate = useNavigate();
  const jobs = useJobs().data ?? [];
  const catalogue = useTools();
  const effective = useEffectiveTools(job);
  const { error, refetch } = job === undefined ? catalogue : effective.error ? effective : offeredTo;
  // Approval labels depend on the job, so wait for the job.
  const data = job === undefined ? catalogue.data : offeredTo.data && effective.data?.tools;
  const why = job === undefined ? undefined : (effective.data?.problem ?? effective.data?.ceiling);
  const withheld = job === undefined ? [] : (effective.data?.withheld ?? []);
  const [words, setWords] = useState("");
  const shown = data?.filter((tool) => fits(tool, words));
  const clear = () => {
    setWords("");
    void navigate({ to: "/tools", search: {}, replace: true });
  };
  return (
    <Page
      title="Tools"
      actions={
        <ButtonLink to="/grants" icon={ShieldCheck} look="ghost">
          Grants
        </ButtonLink>
      }
    >
      <div className={styles.bar}>
        <SearchField
          label="Search tools"
          placeholder="Search"
          value={words}
          onChange={setWords}
          className={styles.search}
        />
        <FilterMenu
          label="Job"
          choices={jobs.map((view) => ({ id: view.job.id, label: view.job.name }))}
          value={job === undefined ? [] : [job]}
          onChange={([next]) =>
            void navigate({ to: "/tools", search: next === undefined ? {} : { job: next }, replace: true })
          }
        />
        <span className={styles.total} role="status">
          {shown && plural(shown.length, "tool")}
        </span>
      </div>
      {why != null && <Notice tone="accent">{why}</Notice>}
      {withheld.map(({ name, reason }) => (
        <Notice key={name} tone="accent">{`${name} is granted but not available. ${reason}`}</Notice>
      ))}
      {error && !data && <Failure title="Could not load tools." error={error} onRetry={() => void refetch()} />}
      {!error && !data && <SkeletonRows rows={10} />}
      {shown?.length === 0 && (
        <Empty icon={SearchX} title="No matching tools" action={<Button onPress={clear}>Show all tools</Button>}>
          {job !== undefined && words === "" ? "This job uses no tools." : "No tool matches this search."}
        </Empty>
      )}
      {shown && shown.length > 0 && (
        <ul aria-label="Tools" className={styles.rows}>
          {shown.map((tool) => (
            <li key={tool.name}>
              <ToolRow tool={tool} job={offeredTo.data?.job} />
            </li>
          ))}
        </ul>
      )}
      {job === undefined && <SkillsSection />}
    </Page>
  );
}

function fits({ name, label, description }: ToolView, words: string): boolean {
  const text = `${name} ${label ?? ""} ${description}`.toLocaleLowerCase();
  return words
    .toLocaleLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
