/* Installed coding agents. */

import { Plus, SquareTerminal } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { Section } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/Placeholders";
import { useCodingAgents } from "@/data/extensions";

import { ServerGroup } from "@/features/tools/servers/ServerGroup";
import styles from "@/features/tools/servers/Servers.module.css";
import { useExtensionDialogs } from "@/features/tools/servers/useExtensionDialogs";
import { useScrollToSection } from "@/features/tools/servers/useScrollToSection";
import { AddAgentDialog } from "./AddAgentDialog";

const sectionId = "coding-agents";

interface Props {
  /** Words of the search; empty without one. */
  words: string;
  /** Whether a text has all words of the search. */
  hasWords: (text: string) => boolean;
}

export function CodingAgentsSection({ words, hasWords }: Props) {
  const { data: agents, error, refetch } = useCodingAgents();
  const [isAdding, setAdding] = useState(false);
  const { review, change, remove, removed, dialogs } = useExtensionDialogs({
    isAgent: true,
    removal:
      "The private folder and the installed files are deleted; your sign-in stays. Jobs with this agent fail until you install it again.",
  });
  useScrollToSection(sectionId, agents !== undefined);
  const shown = agents?.filter(({ name }) => hasWords(name));
  const add = () => setAdding(true);
  if (words.trim() !== "" && shown?.length === 0 && !isAdding) return null;
  return (
    <Section
      title="Coding agents"
      id={sectionId}
      aside={
        agents !== undefined &&
        agents.length > 0 && (
          <Button small look="ghost" icon={Plus} onPress={add}>
            Add a coding agent
          </Button>
        )
      }
    >
      {removed}
      {error && !agents && (
        <Failure title="Could not load coding agents." error={error} onRetry={() => void refetch()} />
      )}
      {!error && !agents && <SkeletonRows rows={2} />}
      {agents?.length === 0 && (
        <Empty
          icon={SquareTerminal}
          title="No coding agents yet"
          action={<Button onPress={add}>Add a coding agent</Button>}
        >
          A coding agent, such as Claude Code or Codex, works on the tasks of your jobs with its own model and tools.
        </Empty>
      )}
      <div className={styles.servers}>
        {shown?.map((agent) => (
          <ServerGroup
            key={agent.name}
            server={agent}
            tools={[]}
            refused={[]}
            isShown={() => true}
            onReview={() => review(agent.name)}
            onChange={change}
            onRemove={() => remove(agent.name)}
          />
        ))}
      </div>
      {dialogs}
      {isAdding && <AddAgentDialog onClose={() => setAdding(false)} />}
    </Section>
  );
}
