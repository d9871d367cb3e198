/* One tool in the catalogue. */

import { Container, Eye, Hand, ShieldAlert, UserRound } from "lucide-react";

import { cx } from "@/components/cx";
import row from "@/components/Row.module.css";
import { RowLink } from "@/components/RowLink";
import { Worded } from "@/components/Worded";
import { askedBy, asksOf, asksWord, type Bounds, firstSentence, rightsOf } from "@/domain/tools";
import type { ToolView } from "@/platform";

import styles from "./ToolsPage.module.css";

const icons = { never: Eye, some: Hand, first: Hand, always: ShieldAlert } as const;

interface Props {
  tool: ToolView;
  /** The job to whose model it is offered, when the list is about one. */
  job?: Bounds;
}

export function ToolRow({ tool, job }: Props) {
  const { name, label, description, callsPerMinute } = tool;
  return (
    <div className={cx(row.row, styles.tool)}>
      <RowLink href={`/tools/${encodeURIComponent(name)}`} className={cx(row.link, styles.name)}>
        {name}
      </RowLink>
      <span className={row.text} title={description}>{label !== null && <><strong>{label}</strong> · </>}<Worded text={firstSentence(description)} /></span>
      <Rights tool={tool} job={job} />
      <Asks tool={tool} job={job} />
      <span className={cx(row.small, row.end, styles.rate)}>{callsPerMinute !== null && `${callsPerMinute}/min`}</span>
    </div>
  );
}

/** Where it has other rights than Rouse itself. */
function Rights({ tool, job }: Props) {
  const rights = rightsOf(tool, job);
  if (rights === "rouse") return null;
  return rights === "sandbox" ? (
    <span className={cx(row.small, styles.badge)} title="In the sandbox when a model or “Try it” calls it">
      <Container size={13} aria-hidden /> Sandbox
    </span>
  ) : (
    <span className={cx(row.small, styles.badge, styles.careful)} title="Outside the sandbox, with your own rights">
      <UserRound size={13} aria-hidden /> <span className={styles.word}>Your rights</span>
    </span>
  );
}

export function Asks({ tool, job }: Props) {
  const asks = askedBy(job) === "author" ? "never" : asksOf(tool);
  const Icon = icons[asks];
  return (
    <span className={cx(row.small, styles.asks, asks !== "never" && styles.careful)}>
      <Icon size={13} aria-hidden /> {asksWord(tool, job)}
    </span>
  );
}
