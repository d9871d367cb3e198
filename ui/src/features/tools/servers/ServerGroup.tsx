/* An installed MCP server or coding agent: state, actions, details, and the tools of a server. */

import { Ellipsis, Pencil, Plug, RotateCw, ShieldAlert, Trash2 } from "lucide-react";

import { Button, IconButton } from "@/components/Button";
import { Switch } from "@/components/Choice";
import { Code } from "@/components/Code";
import { Collapsible } from "@/components/Collapsible";
import { InlineCode } from "@/components/InlineCode";
import { MenuButton } from "@/components/Menu";
import { Failure } from "@/components/Placeholders";
import { Time } from "@/components/Time";
import { VisibleText } from "@/components/VisibleText";
import { useExtension, useExtensionCall } from "@/data/extensions";
import { ServerStateGlyph } from "@/domain/serverState";
import { plural } from "@/format/amount";
import { showInvisible } from "@/format/visible";
import type { ExtensionDetail, ExtensionView, RefusedToolView, ToolView } from "@/platform";

import { DefinitionFacts } from "./DefinitionFacts";
import { ActionError } from "./DialogParts";
import { RefusedTools } from "./HeldTools";
import { InstalledPackageFacts } from "./PackageFacts";
import { type ServerForm, serverFormFrom } from "./serverForm";
import { goneTag, ServerToolRow } from "./ServerToolRow";
import styles from "./Servers.module.css";
import { SignIn, SignInFact } from "./SignIn";
import { usePackageActions } from "./usePackageActions";

interface Props {
  server: ExtensionView;
  /** Tools of the server in the catalog. */
  tools: readonly ToolView[];
  refused: readonly RefusedToolView[];
  /** Whether the search shows a tool. */
  isShown: (toolName: string, description: string) => boolean;
  onReview: () => void;
  onChange: (form: ServerForm) => void;
  onRemove: () => void;
}

export function ServerGroup({ server, tools, refused, isShown, onReview, onChange, onRemove }: Props) {
  const { name, transport, reason, reportedVersion, isCodingAgent } = server;
  const { data: detail, error, refetch } = useExtension(name);
  const definition = detail?.extension.server.transport;
  const isUnconfined = definition?.kind === "stdio" && definition.isUnconfined;
  const actions = useServerActions(server);
  // Changed files. With held tools alone, the server is quarantined only if no accepted tool is offered.
  const hasDrift = server.state === "quarantined" && (server.held === 0 || server.accepted > 0);
  const installed = usePackageActions(name, detail?.extension.package, hasDrift);
  return (
    <section className={styles.server} aria-label={name}>
      <div className={styles.head}>
        <h3>{name}</h3>
        <ServerStateGlyph server={isCodingAgent ? withAgentLabel(server) : server} word />
        {isUnconfined && (
          <span className={styles.rights} title={`Outside the sandbox: ${name} can do everything that you can.`}>
            <ShieldAlert size={13} aria-hidden /> Your own rights
          </span>
        )}
        <span className={styles.version} title={reportedVersion ?? undefined}>
          {reportedVersion !== null && <VisibleText text={showInvisible(reportedVersion)} />}
        </span>
        <div className={styles.actions}>
          {server.held > 0 && (
            <Button small onPress={onReview} aria-label={`Review ${plural(server.held, "tool")} of ${name}`}>
              Review {plural(server.held, "tool")}
            </Button>
          )}
          <Switch
            aria-label={`Use ${name} in runs`}
            isSelected={actions.isEnabled}
            onChange={(enabled) => actions.setEnabled.mutate({ name, enabled })}
          />
          <MenuButton
            label={`Actions of ${name}`}
            entries={[
              ...(isCodingAgent
                ? [
                    {
                      id: "review",
                      label: "Test start",
                      about: "Starts the agent once, without a task.",
                      icon: Plug,
                      onAction: onReview,
                    },
                  ]
                : [
                    {
                      id: "review",
                      label: "Check tools",
                      about: "Starts the server and lists new and changed tools.",
                      icon: Plug,
                      onAction: onReview,
                    },
                    {
                      id: "restart",
                      label: "Restart",
                      about: "Stops the server. The next use is a new start.",
                      icon: RotateCw,
                      onAction: () => actions.restart.mutate({ name }),
                    },
                  ]),
              // The folder of a tool has its definition.
              ...(definition?.kind === "wasm"
                ? []
                : [
                    {
                      id: "change",
                      label: "Change",
                      icon: Pencil,
                      disabled: !detail,
                      onAction: () =>
                        detail && onChange(serverFormFrom(name, detail.extension.server, detail.extension.package)),
                    },
                  ]),
              ...installed.entries,
              null,
              { id: "remove", label: "Remove", icon: Trash2, danger: true, onAction: onRemove },
            ]}
          >
            <IconButton icon={Ellipsis} label={`More actions of ${name}`} small />
          </MenuButton>
        </div>
      </div>
      {reason !== null && (
        <p className={server.state === "broken" || hasDrift ? styles.error : styles.note}>
          <InlineCode text={reason} />
        </p>
      )}
      {detail?.signIn && <SignIn server={server} signIn={detail.signIn} />}
      {installed.panel}
      {actions.error && <ActionError error={actions.error} />}
      {error && !detail && <Failure title={`Could not load ${name}.`} error={error} onRetry={() => void refetch()} />}
      {detail && !isCodingAgent && <ServerTools detail={detail} tools={tools} isShown={isShown} />}
      <RefusedTools refused={refused} />
      <Collapsible title="Details" summary={<VisibleText text={showInvisible(transport)} />}>
        {detail && <ServerDetails detail={detail} />}
      </Collapsible>
    </section>
  );
}

/** A coding agent starts with its task, so between tasks it is not off. */
function withAgentLabel(agent: ExtensionView): ExtensionView {
  return agent.state === "off" ? { ...agent, label: "idle" } : agent;
}

function useServerActions({ name, isEnabled }: ExtensionView) {
  const setEnabled = useExtensionCall("extensions.setEnabled");
  const restart = useExtensionCall("extensions.restart");
  return {
    setEnabled,
    restart,
    isEnabled: setEnabled.isPending && setEnabled.variables.name === name ? setEnabled.variables.enabled : isEnabled,
    error: setEnabled.error ?? restart.error,
  };
}

interface ServerToolsProps extends Pick<Props, "tools" | "isShown"> {
  detail: ExtensionDetail;
}

/** Accepted tools, also those that are off. */
function ServerTools({ detail: { name, extension, tools: names }, tools, isShown }: ServerToolsProps) {
  const rows = extension.tools.map(({ definition, access }) => {
    const rawName = definition.name;
    return {
      rawName,
      access,
      description: definition.description,
      toolName: names.find((tool) => tool.rawName === rawName)?.toolName ?? rawName,
      isHeld: extension.held.some(({ offered }) => offered.name === rawName),
      isGone: extension.gone.includes(rawName),
      view: tools.find(({ origin }) => origin?.rawName === rawName),
    };
  });
  const shown = rows.filter(({ toolName, description }) => isShown(toolName, description));
  if (extension.tools.length === 0) return <p className={styles.note}>No accepted tools.</p>;
  return (
    <>
      <ul aria-label={`Tools of ${name}`} className={styles.rows}>
        {shown.map((tool) => (
          <li key={tool.rawName}>
            <ServerToolRow server={name} {...tool} />
          </li>
        ))}
      </ul>
      {shown.some(({ isGone }) => isGone) && (
        <p className={styles.note}>
          Runs that name a tool marked “{goneTag}” fail until the server offers the tool again.
        </p>
      )}
    </>
  );
}

function ServerDetails({ detail: { name, extension, status, signIn } }: { detail: ExtensionDetail }) {
  return (
    <div className={styles.details}>
      {extension.package && <InstalledPackageFacts installed={extension.package} />}
      <DefinitionFacts server={extension.server} isPackage={extension.package !== undefined} />
      {signIn && <SignInFact name={name} signIn={signIn} />}
      <p className={styles.note}>
        Accepted <Time at={extension.acceptedAtMs} />
        {status.startedAtMs !== undefined && (
          <>
            {" · running since "}
            <Time at={status.startedAtMs} />
          </>
        )}
      </p>
      {status.stderrTail !== undefined && status.stderrTail !== "" && (
        <div>
          <h4 className={styles.outputTitle}>End of the error output</h4>
          <Code label="Error output" text={status.stderrTail} />
        </div>
      )}
    </div>
  );
}
