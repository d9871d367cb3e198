/* One tool in the catalogue. */

import { Container, Eye, Hand, ShieldAlert } from "lucide-react";

import { cx } from "@/components/cx";
import row from "@/components/Row.module.css";
import { RowLink } from "@/components/RowLink";
import { Worded } from "@/components/Worded";
import { asksOf, asksWord, firstSentence } from "@/domain/tools";
import type { ToolView } from "@/platform";

import styles from "./ToolsPage.module.css";

const icons = { never: Eye, some: Hand, first: Hand, always: ShieldAlert } as const;

export function ToolRow({ tool }: { tool: ToolView }) {
  const { name, label, description, domain, callsPerMinute } = tool;
  return (
    <div className={cx(row.row, styles.tool)}>
      <RowLink href={`/tools/${encodeURIComponent(name)}`} className={cx(row.link, styles.name)}>
        {name}
      </RowLink>
      <span className={row.text} title={description}>{label !== null && <><strong>{label}</strong> · </>}<Worded text={firstSentence(description)} /></span>
      {domain === "container" && (
        <span className={cx(row.small, styles.badge)} title="Runs as a process of its own in the sandbox">
          <Container size={13} aria-hidden /> Sandbox
        </span>
      )}
      <Asks tool={tool} />
      <span className={cx(row.small, row.end, styles.rate)}>{callsPerMinute !== null && `${callsPerMinute}/min`}</span>
    </div>
  );
}

export function Asks({ tool }: { tool: ToolView }) {
  const asks = asksOf(tool);
  const Icon = icons[asks];
  return (
    <span className={cx(row.small, styles.asks, asks !== "never" && styles.careful)}>
      <Icon size={13} aria-hidden /> {asksWord(tool)}
    </span>
  );
}
