/* Installed MCP servers with their tools. */

import { useLocation } from "@tanstack/react-router";
import { Plug } from "lucide-react";
import { useEffect, useState } from "react";

import { Button } from "@/components/Button";
import { ConfirmDialog } from "@/components/Modal";
import { Notice } from "@/components/Notice";
import { Section } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/Placeholders";
import { useExtensionCall, useServers } from "@/data/extensions";
import { toolsOfServer } from "@/domain/tools";
import { plural } from "@/format/amount";
import type { ExtensionRemoved, RefusedToolView, ToolView } from "@/platform";

import { AddServerDialog } from "./AddServerDialog";
import { RefusedTools } from "./HeldTools";
import { ReviewDialog } from "./ReviewDialog";
import { ServerGroup } from "./ServerGroup";
import type { ServerForm } from "./serverForm";
import styles from "./Servers.module.css";

interface Props {
  tools: readonly ToolView[];
  refused: readonly RefusedToolView[];
  /** Words of the search; empty without one. */
  words: string;
  /** Whether a text has all words of the search. */
  hasWords: (text: string) => boolean;
  onAdd: () => void;
}

export function ServersSection({ tools, refused, words, hasWords, onAdd }: Props) {
  const { data: servers, error, refetch } = useServers();
  const remove = useExtensionCall("extensions.remove");
  const [reviewing, setReviewing] = useState<string>();
  const [changing, setChanging] = useState<ServerForm>();
  const [removing, setRemoving] = useState<string>();
  useScrollToServers(servers !== undefined);
  const isSearch = words.trim() !== "";
  const shown = servers?.filter(
    ({ name }) =>
      hasWords(name) || toolsOfServer(tools, name).some((tool) => hasWords(`${tool.name} ${tool.description}`)),
  );
  if (isSearch && shown?.length === 0) return null;
  return (
    <Section title="MCP servers" id={sectionId}>
      {remove.data && <Removed name={remove.variables.name} removed={remove.data} />}
      {error && !servers && (
        <Failure title="Could not load MCP servers." error={error} onRetry={() => void refetch()} />
      )}
      {!error && !servers && <SkeletonRows rows={2} />}
      {servers?.length === 0 && (
        <Empty icon={Plug} title="No MCP servers yet" action={<Button onPress={onAdd}>Add MCP server</Button>}>
          An MCP server adds tools to Rouse, such as your calendar or your issues.
        </Empty>
      )}
      <div className={styles.servers}>
        {shown?.map((server) => {
          const { name } = server;
          const isWhole = hasWords(name);
          return (
            <ServerGroup
              key={name}
              server={server}
              tools={toolsOfServer(tools, name)}
              refused={isSearch ? [] : refused.filter((tool) => serverOf(tool) === name)}
              isShown={(toolName, description) => isWhole || hasWords(`${toolName} ${description}`)}
              onReview={() => setReviewing(name)}
              onChange={setChanging}
              onRemove={() => setRemoving(name)}
            />
          );
        })}
        {!isSearch && (
          <RefusedTools refused={refused.filter((tool) => !servers?.some(({ name }) => name === serverOf(tool)))} />
        )}
      </div>
      {reviewing !== undefined && <ReviewDialog name={reviewing} onClose={() => setReviewing(undefined)} />}
      {changing && <AddServerDialog installed={changing} onClose={() => setChanging(undefined)} />}
      <ConfirmDialog
        isOpen={removing !== undefined}
        onClose={() => setRemoving(undefined)}
        title={`Remove “${removing ?? ""}”?`}
        confirm="Remove"
        danger
        onConfirm={() => removing !== undefined && remove.mutateAsync({ name: removing })}
      >
        The accepted tools, their grants and the private folder are deleted. Jobs that require the server fail until you
        install it again.
      </ConfirmDialog>
    </Section>
  );
}

const sectionId = "mcp-servers";

/** Follows a link to this section once its content is here. */
function useScrollToServers(isLoaded: boolean) {
  const isAddressed = useLocation({ select: ({ hash }) => hash === sectionId });
  useEffect(() => {
    if (!isLoaded || !isAddressed) return;
    const section = document.getElementById(sectionId);
    section?.scrollIntoView({ block: "start" });
    section?.focus({ preventScroll: true });
  }, [isLoaded, isAddressed]);
}

/** A server's name has no `_`, so the first one ends it. */
function serverOf({ name }: RefusedToolView): string {
  return name.slice(0, Math.max(name.indexOf("_"), 0));
}

function Removed({ name, removed: { revokedGrants, manualCleanup } }: { name: string; removed: ExtensionRemoved }) {
  return (
    <Notice className={styles.removed}>
      “{name}” was removed.{revokedGrants > 0 && ` ${plural(revokedGrants, "grant")} revoked.`} {manualCleanup}
    </Notice>
  );
}
