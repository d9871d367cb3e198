/* Known coding agents to choose from. */

import { useId } from "react";
import { Button } from "react-aria-components";

import { InlineCode } from "@/components/InlineCode";
import { Failure, SkeletonRows } from "@/components/Placeholders";
import { useAgentPresets } from "@/data/extensions";
import type { AgentPresetView } from "@/platform";

import styles from "./Agents.module.css";

interface Props {
  /** Names of the installed extensions. */
  taken: readonly string[];
  onChoose: (preset: AgentPresetView) => void;
}

export function AgentChoice({ taken, onChoose }: Props) {
  const { data: presets, error, refetch } = useAgentPresets();
  return (
    <div className={styles.choice}>
      <p className={styles.note}>
        A coding agent works on the tasks of your jobs with its own model and tools. It runs in a sandbox, and its
        permission requests become approvals. Any program that speaks the Agent Client Protocol works.
      </p>
      {error && !presets && (
        <Failure title="Could not load the known agents." error={error} onRetry={() => void refetch()} />
      )}
      {!error && !presets && <SkeletonRows rows={4} />}
      <ul aria-label="Known coding agents" className={styles.cards}>
        {presets?.map((preset) => (
          <li key={preset.name}>
            <Card
              title={preset.label}
              tag={taken.includes(preset.name) ? "Installed" : undefined}
              lines={[preset.unasked, preset.signIn]}
              onPress={() => onChoose(preset)}
            />
          </li>
        ))}
      </ul>
    </div>
  );
}

interface CardProps {
  title: string;
  tag?: string;
  lines: readonly string[];
  onPress: () => void;
}

function Card({ title, tag, lines, onPress }: CardProps) {
  const id = useId();
  return (
    <Button className={styles.card} aria-label={title} aria-describedby={id} onPress={onPress}>
      <span className={styles.title}>{title}</span>
      <span id={id} className={styles.lines}>
        {tag !== undefined && <span className={styles.tag}>{tag}</span>}
        {lines.map((line) => (
          <span key={line}>
            <InlineCode text={line} />
          </span>
        ))}
      </span>
    </Button>
  );
}
