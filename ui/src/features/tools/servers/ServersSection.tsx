/* Installed MCP servers with their tools. */

import { Plug } from "lucide-react";

import { Button } from "@/components/Button";
import { Section } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/Placeholders";
import { useServers } from "@/data/extensions";
import { toolsOfServer } from "@/domain/tools";
import type { RefusedToolView, ToolView } from "@/platform";

import { RefusedTools } from "./HeldTools";
import { ServerGroup } from "./ServerGroup";
import { useExtensionDialogs } from "./useExtensionDialogs";
import { useScrollToSection } from "./useScrollToSection";
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
  const { review, change, remove, removed, dialogs } = useExtensionDialogs({
    isAgent: false,
    removal:
      "The accepted tools, their grants and the private folder are deleted. Jobs that require the server fail until you install it again.",
  });
  useScrollToSection(sectionId, servers !== undefined);
  const isSearch = words.trim() !== "";
  const shown = servers?.filter(
    ({ name }) =>
      hasWords(name) || toolsOfServer(tools, name).some((tool) => hasWords(`${tool.name} ${tool.description}`)),
  );
  if (isSearch && shown?.length === 0) return null;
  return (
    <Section title="MCP servers" id={sectionId}>
      {removed}
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
              onReview={() => review(name)}
              onChange={change}
              onRemove={() => remove(name)}
            />
          );
        })}
        {!isSearch && (
          <RefusedTools refused={refused.filter((tool) => !servers?.some(({ name }) => name === serverOf(tool)))} />
        )}
      </div>
      {dialogs}
    </Section>
  );
}

const sectionId = "mcp-servers";

/** A server's name has no `_`, so the first one ends it. */
function serverOf({ name }: RefusedToolView): string {
  return name.slice(0, Math.max(name.indexOf("_"), 0));
}
