/* Row of an accepted tool of an MCP server, with its access. */

import { cx } from "@/components/cx";
import { InlineCode } from "@/components/InlineCode";
import row from "@/components/Row.module.css";
import { RowLink } from "@/components/RowLink";
import { VisibleText } from "@/components/VisibleText";
import { firstSentence } from "@/domain/tools";
import { showInvisible } from "@/format/visible";
import type { ToolAccess, ToolView } from "@/platform";

import { AccessSelect } from "./AccessSelect";
import styles from "./Servers.module.css";

/** Mark of an accepted tool that the server no longer offers. */
export const goneTag = "Not offered now";

interface Props {
  server: string;
  rawName: string;
  toolName: string;
  description: string;
  access: ToolAccess;
  /** The server declares another definition now, which waits for a review. */
  isHeld: boolean;
  /** The server did not list the tool the last time. */
  isGone: boolean;
  /** The tool in the catalog; none while it is not offered. */
  view: ToolView | undefined;
}

export function ServerToolRow({ server, rawName, toolName, description, access, isHeld, isGone, view }: Props) {
  return (
    <div className={cx(row.row, styles.tool)}>
      {view ? (
        <RowLink href={`/tools/${encodeURIComponent(toolName)}`} className={cx(row.link, styles.toolName)}>
          {toolName}
        </RowLink>
      ) : (
        <span className={cx(row.text, styles.toolName)} title={toolName}>
          {toolName}
        </span>
      )}
      <span className={row.text} title={description}>
        {view?.label != null && (
          <>
            <strong>
              <VisibleText text={showInvisible(view.label)} />
            </strong>{" "}
            ·{" "}
          </>
        )}
        <InlineCode text={showInvisible(firstSentence(description))} />
      </span>
      {isHeld && <span className={styles.tag}>Changed</span>}
      {isGone && <span className={styles.tag}>{goneTag}</span>}
      <span className={row.above}>
        <AccessSelect
          server={server}
          tool={rawName}
          access={access}
          label={`Access of ${toolName}`}
          labelHidden
          className={styles.select}
        />
      </span>
    </div>
  );
}
