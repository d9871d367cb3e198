/* Tool catalog by purpose, built tools and MCP servers, or the effective tools of a job. */

import { useNavigate, useSearch } from "@tanstack/react-router";
import { Hammer, Plus, SearchX, ShieldCheck } from "lucide-react";
import { useState } from "react";

import { Button, ButtonLink } from "@/components/Button";
import { SearchField } from "@/components/Field";
import { FilterMenu } from "@/components/FilterMenu";
import { Notice } from "@/components/Notice";
import { Page, Section } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/Placeholders";
import { Allowed } from "@/data/access";
import { useCodingAgents, useServers } from "@/data/extensions";
import { useJobs } from "@/data/jobs";
import { useEffectiveTools, useJob, useToolCatalog } from "@/data/queries";
import { useToolBuilds } from "@/data/toolBuilds";
import { groupTools, type ToolGroup } from "@/domain/toolGroups";
import { toolsOfServer } from "@/domain/tools";
import { plural } from "@/format/amount";
import type { ToolView } from "@/platform";

import { CodingAgentsSection } from "./agents/CodingAgentsSection";
import { BuildToolDialog } from "./builds/BuildToolDialog";
import { BuiltToolsSection } from "./builds/BuiltToolsSection";
import { AddServerDialog } from "./servers/AddServerDialog";
import { ServersSection } from "./servers/ServersSection";
import { SkillsSection } from "./skills/SkillsSection";
import { ToolRow } from "./ToolRow";
import styles from "./ToolsPage.module.css";

export function ToolsPage() {
  const { job } = useSearch({ from: "/tools" });
  return <ToolCatalog job={job} />;
}

/** All tools, or the effective tools of a job. */
export function ToolCatalog({ job }: { job?: string }) {
  const offeredTo = useJob(job);
  const navigate = useNavigate();
  const jobs = useJobs().data ?? [];
  const servers = useServers().data ?? [];
  const agents = useCodingAgents().data ?? [];
  const builds = useToolBuilds().data ?? [];
  const catalogue = useToolCatalog();
  const effective = useEffectiveTools(job);
  const { error, refetch } = job === undefined ? catalogue : effective.error ? effective : offeredTo;
  // Approval labels depend on the job, so wait for the job.
  const data = job === undefined ? catalogue.data?.tools : offeredTo.data && effective.data?.tools;
  const why = job === undefined ? undefined : (effective.data?.problem ?? effective.data?.ceiling);
  const withheld = job === undefined ? [] : (effective.data?.withheld ?? []);
  const [words, setWords] = useState("");
  const [dialog, setDialog] = useState<"server" | "folder" | "build">();
  const shown = data?.filter((tool) => fits(tool, words));
  const isNamed = job === undefined && hasNamed([...servers, ...agents, ...builds], words);
  const clear = () => {
    setWords("");
    void navigate({ to: "/tools", search: {}, replace: true });
  };
  return (
    <Page
      title="Tools"
      actions={
        <>
          <ButtonLink to="/grants" icon={ShieldCheck} look="ghost">
            Grants
          </ButtonLink>
          <Button icon={Plus} onPress={() => setDialog("server")}>
            Add MCP server
          </Button>
          <Allowed to="tools.build">
            <Button look="primary" icon={Hammer} onPress={() => setDialog("build")}>
              Build a tool
            </Button>
          </Allowed>
        </>
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
      {shown?.length === 0 && !isNamed && (
        <Empty icon={SearchX} title="No matching tools" action={<Button onPress={clear}>Show all tools</Button>}>
          {job !== undefined && words === "" ? "This job uses no tools." : "No tool matches this search."}
        </Empty>
      )}
      {shown &&
        [...groupTools(shown), ...(job === undefined ? [] : serverGroups(shown))].map(({ title, tools }) => (
          <Section key={title} title={title} className={styles.group}>
            <ul aria-label={title} className={styles.rows}>
              {tools.map((tool) => (
                <li key={tool.name}>
                  <ToolRow tool={tool} job={offeredTo.data?.job} />
                </li>
              ))}
            </ul>
          </Section>
        ))}
      {job === undefined && (
        <BuiltToolsSection
          words={words}
          hasWords={(text) => hasWords(text, words)}
          onBuild={() => setDialog("build")}
          onAddFolder={() => setDialog("folder")}
        />
      )}
      {job === undefined && catalogue.data && (
        <ServersSection
          tools={catalogue.data.tools}
          refused={catalogue.data.refused}
          words={words}
          hasWords={(text) => hasWords(text, words)}
          onAdd={() => setDialog("server")}
        />
      )}
      {job === undefined && <CodingAgentsSection words={words} hasWords={(text) => hasWords(text, words)} />}
      {job === undefined && <SkillsSection />}
      {(dialog === "server" || dialog === "folder") && (
        <AddServerDialog isToolFolder={dialog === "folder"} onClose={() => setDialog(undefined)} />
      )}
      {dialog === "build" && <BuildToolDialog onClose={() => setDialog(undefined)} />}
    </Page>
  );
}

/** Tools of MCP servers by server. */
function serverGroups(tools: readonly ToolView[]): ToolGroup[] {
  const servers = new Set(tools.flatMap(({ origin }) => (origin === null ? [] : [origin.extension])));
  return [...servers].map((title) => ({ title, tools: toolsOfServer(tools, title) }));
}

function fits({ name, label, description }: ToolView, words: string): boolean {
  return hasWords(`${name} ${label ?? ""} ${description}`, words);
}

/** Whether the search shows an entry outside the catalog. */
function hasNamed(entries: readonly { name: string; description?: string | null }[], words: string): boolean {
  return entries.some(({ name, description }) => hasWords(`${name} ${description ?? ""}`, words));
}

function hasWords(text: string, words: string): boolean {
  const lower = text.toLocaleLowerCase();
  return words
    .toLocaleLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}
