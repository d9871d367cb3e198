/* Checkboxes for skills: the usable, and the selected but unavailable. */

import { Checkbox } from "@/components/Choice";
import type { SkillView } from "@/platform";

import styles from "./SkillChoice.module.css";

interface Props {
  label: string;
  /** Installed skills. */
  known: readonly SkillView[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
  isDisabled?: boolean;
  /** Description of an unavailable skill. */
  missing: string;
  /** Note for an untrusted selected skill. */
  limits: string;
}

export function SkillChoice({ label, known, chosen, onChange, isDisabled, missing, limits }: Props) {
  const working = known.filter(({ problem }) => problem === null);
  const unknown = chosen.filter((name) => !working.some((skill) => skill.name === name));
  if (working.length === 0 && unknown.length === 0) return null;
  const set = (name: string, on: boolean) =>
    onChange(on ? [...chosen, name] : chosen.filter((other) => other !== name));
  const isLimited = working.some(({ name, trust }) => chosen.includes(name) && trust !== "own" && trust !== "trusted");
  return (
    <>
      <div className={styles.skills} role="group" aria-label={label}>
        {[...working, ...unknown.map((name) => ({ name, description: missing }))].map(({ name, description }) => (
          <Checkbox
            key={name}
            isSelected={chosen.includes(name)}
            isDisabled={isDisabled}
            onChange={(on) => set(name, on)}
            help={description}
          >
            <code>{name}</code>
          </Checkbox>
        ))}
      </div>
      {isLimited && <p className={styles.limits}>{limits}</p>}
    </>
  );
}
