/* Which skills a model is told of: those on this computer that work, and those that are named and cannot be used. Without any
   of either there is nothing to choose. It knows no job and no conversation: what it means is said by whoever shows it. */

import { Checkbox } from "@/components/Choice";
import type { SkillView } from "@/platform";

import styles from "./SkillChoice.module.css";

interface Props {
  label: string;
  /** All that lie on this computer. */
  known: readonly SkillView[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
  isDisabled?: boolean;
  /** What it means that a skill which is named cannot be used. */
  missing: string;
  /** What it means that one of the chosen is not trusted. */
  limits: string;
}

export function SkillChoice({ label, known, chosen, onChange, isDisabled, missing, limits }: Props) {
  const working = known.filter(({ problem }) => problem === null);
  const unknown = chosen.filter((name) => !working.some((skill) => skill.name === name));
  if (working.length === 0 && unknown.length === 0) return null;
  const set = (name: string, on: boolean) => onChange(on ? [...chosen, name] : chosen.filter((other) => other !== name));
  const isLimited = working.some(({ name, trust }) => chosen.includes(name) && trust !== "own" && trust !== "trusted");
  return (
    <>
      <div className={styles.skills} role="group" aria-label={label}>
        {[...working, ...unknown.map((name) => ({ name, description: missing }))].map(({ name, description }) => (
          <Checkbox key={name} isSelected={chosen.includes(name)} isDisabled={isDisabled} onChange={(on) => set(name, on)} help={description}>
            <code>{name}</code>
          </Checkbox>
        ))}
      </div>
      {isLimited && <p className={styles.limits}>{limits}</p>}
    </>
  );
}
