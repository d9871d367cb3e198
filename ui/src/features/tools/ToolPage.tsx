/* One tool: what it does, in the words that a model gets; what it may do; its limits and its arguments; a call of it by hand;
   and the grants that let jobs call it without asking. */

import { Link, useParams } from "@tanstack/react-router";
import { SearchX } from "lucide-react";

import { ButtonLink } from "@/components/Button";
import { Code, pretty } from "@/components/Code";
import { Facts } from "@/components/Facts";
import { Folded } from "@/components/Folded";
import { Marks } from "@/components/Marks";
import { Page, Section } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/States";
import { Worded } from "@/components/Worded";
import { useGrants } from "@/data/approvals";
import { usePlatform } from "@/data/platform";
import { useTools } from "@/data/queries";
import { coverWords } from "@/domain/approval/rules";
import { SaidWords } from "@/domain/approval/SaidWords";
import { valuesWords } from "@/domain/approval/words";
import { asksWord, forPeople, toolFacts } from "@/domain/tools";
import { visible } from "@/format/visible";
import type { ToolView } from "@/platform";

import { argumentsOf } from "./schema";
import { Asks } from "./ToolRow";
import styles from "./ToolsPage.module.css";
import { TryIt } from "./TryIt";

export function ToolPage() {
  const { toolName } = useParams({ from: "/tools/$toolName" });
  const { data, error, refetch } = useTools();
  const tool = data?.find(({ name }) => name === toolName);
  if (tool) return <Shown tool={tool} />;
  return (
    <Page title="Tool">
      {data ? (
        <Empty icon={SearchX} title="There is no such tool" action={<ButtonLink to="/tools" search={{}}>All tools</ButtonLink>}>
          It may have come from a server that is not connected any more.
        </Empty>
      ) : error ? (
        <Failure title="The tools could not be read." error={error} onRetry={() => void refetch()} />
      ) : (
        <SkeletonRows rows={6} />
      )}
    </Page>
  );
}

function mostCalls(aMinute: number | null, anHour: number | null): string {
  if (aMinute === null || anHour === null) return "as often as needed";
  return `${aMinute.toLocaleString()} a minute, ${anHour.toLocaleString()} an hour`;
}

function Shown({ tool }: { tool: ToolView }) {
  const { name, label, description, approval, callsPerMinute, callsPerHour, parameters, canBeTried } = tool;
  const { copyText } = usePlatform();
  const told = forPeople(description);
  return (
    <Page title={label ?? name} about={<span className={styles.head}>{label !== null && <code>{name}</code>}<Asks tool={tool} /></span>}>
      <p className={styles.about} title={told === description ? undefined : description}><Worded text={told} /></p>
      <ul className={styles.facts} aria-label="What it may do">
        {toolFacts(tool).map((line) => <li key={line}>{line}</li>)}
      </ul>
      <div className={styles.limits}>
        <Facts
          facts={[
            { name: "Questions", value: asksWord(tool) },
            { name: "At most, all jobs together", value: mostCalls(callsPerMinute, callsPerHour), wide: true },
          ]}
        />
      </div>
      <Section title="Arguments">
        <Arguments schema={parameters} />
        <div className={styles.schema}>
          <Folded title="JSON Schema" summary="What its arguments are checked against">
            <Code label="JSON Schema" text={pretty(parameters)} onCopy={copyText} unfolded />
          </Folded>
        </div>
      </Section>
      {canBeTried && (
        <Section title="Try it">
          <TryIt key={name} tool={tool} />
        </Section>
      )}
      {approval !== "always" && <Grants tool={name} />}
    </Page>
  );
}

function Arguments({ schema }: { schema: Record<string, unknown> }) {
  const rows = argumentsOf(schema);
  if (rows.length === 0) return <p className={styles.none}>It takes no arguments.</p>;
  const hasWords = rows.some(({ about }) => about !== "");
  return (
    <table className={styles.arguments}>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Takes</th>
          {hasWords && <th scope="col">For</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, required, takes, about }) => (
          <tr key={name}>
            <td><code>{name}</code></td>
            <td>{required ? takes : `${takes}, optional`}</td>
            {hasWords && <td><Worded text={about} /></td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Grants({ tool }: { tool: string }) {
  const grants = useGrants().data?.filter((grant) => grant.tool === tool && grant.isGood) ?? [];
  if (grants.length === 0) return null;
  return (
    <Section title="Grants" aside={<ButtonLink to="/grants" look="ghost" small>All grants</ButtonLink>}>
      <ul className={styles.facts} aria-label="Grants of this tool">
        {grants.map(({ id, jobId, jobName, covers, writesValues }) => (
          <li key={id}>
            {jobName === null ? "A job that is gone" : <Link to="/jobs/$jobId" params={{ jobId }}><Marks text={visible(jobName)} /></Link>}, <SaidWords said={coverWords(covers)} />
            {writesValues.length > 0 && <>. <Worded text={valuesWords({ writesValues }) ?? ""} /></>}
          </li>
        ))}
      </ul>
    </Section>
  );
}
