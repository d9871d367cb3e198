/* Tool: description, permissions, arguments, trial and grants. */

import { Link, useParams } from "@tanstack/react-router";
import { SearchX } from "lucide-react";

import { ButtonLink } from "@/components/Button";
import { Code, pretty } from "@/components/Code";
import { Facts } from "@/components/Facts";
import { Collapsible } from "@/components/Collapsible";
import { VisibleText } from "@/components/VisibleText";
import { Page, Section } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/Placeholders";
import { InlineCode } from "@/components/InlineCode";
import { useGrants } from "@/data/approvals";
import { useExtension } from "@/data/extensions";
import { usePlatform } from "@/data/platform";
import { useTools } from "@/data/queries";
import { coverSentence } from "@/domain/approval/grantDraft";
import { GrantSentenceText } from "@/domain/approval/GrantSentenceText";
import { approvalLabel, humanizeSizes, toolFacts } from "@/domain/tools";
import { showInvisible } from "@/format/visible";
import type { ToolOrigin, ToolView } from "@/platform";

import { argumentRows } from "./argumentTable";
import { AccessSelect } from "./servers/AccessSelect";
import { ApprovalBadge } from "./ToolRow";
import styles from "./ToolsPage.module.css";
import { TryTool } from "./TryTool";

export function ToolPage() {
  const { toolName } = useParams({ from: "/tools/$toolName" });
  const { data, error, refetch } = useTools();
  const tool = data?.find(({ name }) => name === toolName);
  if (tool) return <ToolDetails tool={tool} />;
  return (
    <Page title="Tool">
      {data ? (
        <Empty
          icon={SearchX}
          title="Tool not found"
          action={
            <ButtonLink to="/tools" search={{}}>
              All tools
            </ButtonLink>
          }
        >
          The MCP server may be disabled or removed.
        </Empty>
      ) : error ? (
        <Failure title="Could not load tools." error={error} onRetry={() => void refetch()} />
      ) : (
        <SkeletonRows rows={6} />
      )}
    </Page>
  );
}

function rateLimitLabel(aMinute: number | null, anHour: number | null): string {
  if (aMinute === null || anHour === null) return "unlimited";
  return `${aMinute.toLocaleString()} per minute, ${anHour.toLocaleString()} per hour, across all jobs`;
}

function ToolDetails({ tool }: { tool: ToolView }) {
  const { name, label, description, approval, callsPerMinute, callsPerHour, parameters, canBeTried, origin } = tool;
  const { copyText } = usePlatform();
  const text = humanizeSizes(description);
  return (
    <Page
      title={label ?? name}
      about={
        <span className={styles.head}>
          {label !== null && <code>{name}</code>}
          <ApprovalBadge tool={tool} />
        </span>
      }
    >
      <p className={styles.about} title={text === description ? undefined : description}>
        <InlineCode text={text} />
      </p>
      <ul className={styles.facts} aria-label="Properties">
        {toolFacts(tool).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <div className={styles.limits}>
        <Facts
          facts={[
            { name: "Approval", value: approvalLabel(tool) },
            origin !== null && {
              name: "MCP server",
              value: (
                <Link to="/tools" hash="mcp-servers">
                  {origin.extension}
                </Link>
              ),
            },
            origin?.version !== undefined && {
              name: "Version",
              value: <VisibleText text={showInvisible(origin.version)} />,
            },
            { name: "Rate limit", value: rateLimitLabel(callsPerMinute, callsPerHour), wide: true },
          ]}
        />
      </div>
      {origin !== null && <ServerAccess origin={origin} />}
      <Section title="Arguments">
        <Arguments schema={parameters} />
        <div className={styles.schema}>
          <Collapsible title="JSON Schema" summary="Validates the arguments">
            <Code label="JSON Schema" text={pretty(parameters)} onCopy={copyText} unfolded />
          </Collapsible>
        </div>
      </Section>
      {canBeTried && (
        <Section title="Try it">
          <TryTool key={name} tool={tool} />
        </Section>
      )}
      {approval !== "always" && <Grants tool={name} />}
    </Page>
  );
}

/** Access of a tool of an MCP server. */
function ServerAccess({ origin: { extension, rawName } }: { origin: ToolOrigin }) {
  const { data } = useExtension(extension);
  const pin = data?.extension.tools.find(({ definition }) => definition.name === rawName);
  if (!pin) return null;
  return (
    <div className={styles.access}>
      <AccessSelect server={extension} tool={rawName} access={pin.access} label="Access" />
    </div>
  );
}

function Arguments({ schema }: { schema: Record<string, unknown> }) {
  const rows = argumentRows(schema);
  if (rows.length === 0) return <p className={styles.none}>No arguments.</p>;
  const hasWords = rows.some(({ about }) => about !== "");
  return (
    <table className={styles.arguments}>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Type</th>
          {hasWords && <th scope="col">Description</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, required, takes, about }) => (
          <tr key={name}>
            <td>
              <code>{name}</code>
            </td>
            <td>{required ? takes : `${takes}, optional`}</td>
            {hasWords && (
              <td>
                <InlineCode text={about} />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Grants({ tool }: { tool: string }) {
  const grants = useGrants().data?.filter((grant) => grant.tool === tool && grant.isValid) ?? [];
  if (grants.length === 0) return null;
  return (
    <Section
      title="Grants"
      aside={
        <ButtonLink to="/grants" look="ghost" small>
          All grants
        </ButtonLink>
      }
    >
      <ul className={styles.facts} aria-label="Grants of this tool">
        {grants.map(({ id, jobId, jobName, covers }) => (
          <li key={id}>
            {jobName === null ? (
              "Deleted job"
            ) : (
              <Link to="/jobs/$jobId" params={{ jobId }}>
                <VisibleText text={showInvisible(jobName)} />
              </Link>
            )}
            , <GrantSentenceText sentence={coverSentence(covers)} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
