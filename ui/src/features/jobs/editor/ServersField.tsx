/* MCP servers of an agent turn; hidden while none is installed or selected. */

import { Link } from "@tanstack/react-router";

import { Checkbox } from "@/components/Choice";
import { GroupFoot, Warning } from "@/components/Field";
import { useServers } from "@/data/extensions";
import { useTools } from "@/data/queries";
import { ServerStateGlyph } from "@/domain/serverState";
import { approvalNeed, toolsOfServer } from "@/domain/tools";
import { parseJobServer, withJobServer } from "@/features/jobs/form/jobServers";
import { plural } from "@/format/amount";
import type { ExtensionView, ToolView } from "@/platform";

import { useJobField } from "./jobFields";
import styles from "./JobEditor.module.css";

const label = "MCP servers";

export function ServersField() {
  const { value, error, warning, onChange } = useJobField("servers");
  const { data: installed } = useServers();
  const { data: tools = [] } = useTools();
  const chosen = value.map(parseJobServer);
  const missing = chosen.filter(({ name }) => !installed?.some((server) => server.name === name));
  if (installed === undefined || (installed.length === 0 && missing.length === 0)) return null;
  return (
    <div className={styles.group}>
      <span className={styles.label} aria-hidden>
        {label}
      </span>
      <div className={styles.servers} role="group" aria-label={label}>
        {[...installed, ...missing.map(({ name }) => ({ name, isMissing: true as const }))].map((server) => {
          const { name } = server;
          const use = chosen.find((one) => one.name === name);
          return (
            <div key={name} className={styles.server} role="group" aria-label={name}>
              <Checkbox
                isSelected={use !== undefined}
                onChange={(on) => onChange(withJobServer(value, name, on ? "required" : undefined))}
                help={
                  "isMissing" in server ? (
                    <Warning>{missingText(use?.isOptional ?? false)}</Warning>
                  ) : (
                    <ServerHelp
                      server={server}
                      tools={toolsOfServer(tools, name)}
                      isRequired={use?.isOptional === false}
                    />
                  )
                }
              >
                <code>{name}</code>
              </Checkbox>
              {use !== undefined && (
                <Checkbox
                  className={styles.optional}
                  isSelected={use.isOptional}
                  onChange={(on) => onChange(withJobServer(value, name, on ? "optional" : "required"))}
                >
                  Optional: runs continue without
                </Checkbox>
              )}
            </div>
          );
        })}
      </div>
      <GroupFoot error={error} warning={warning} />
    </div>
  );
}

function missingText(isOptional: boolean): string {
  return isOptional
    ? "Not installed. Runs continue without this server."
    : "Not installed. Runs fail until you deselect this server or install it in Tools.";
}

interface HelpProps {
  server: ExtensionView;
  tools: readonly ToolView[];
  isRequired: boolean;
}

function ServerHelp({ server, tools, isRequired }: HelpProps) {
  const { isEnabled, held } = server;
  if (!isEnabled && isRequired) return <Warning>Disabled. Runs fail until you enable the server in Tools.</Warning>;
  return (
    <>
      <ServerStateGlyph server={server} size={12} word /> · {approvalText(tools)}
      {held > 0 && (
        <>
          {" "}
          <Link to="/tools" hash="mcp-servers" className={styles.link}>
            {plural(held, "tool")} to review
          </Link>
        </>
      )}
    </>
  );
}

function approvalText(tools: readonly ToolView[]): string {
  if (tools.length === 0) return "No accepted tools.";
  const asking = tools.filter((tool) => approvalNeed(tool) !== "never").length;
  if (asking === 0) return `Asks about none of its ${plural(tools.length, "tool")}.`;
  return `Asks about ${asking} of its ${plural(tools.length, "tool")}.`;
}
