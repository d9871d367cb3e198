/* The skills that a job's model is told of. Without any on this computer, and none named, there is nothing to ask. */

import { Checkbox } from "@/components/Choice";
import { GroupFoot } from "@/components/Field";
import { useSkills } from "@/data/queries";

import { useBound } from "./bound";
import styles from "./Editor.module.css";

const missing = "It cannot be used here: runs of this job fail until it can, or it is taken out here.";

export function SkillsField() {
  const { value: chosen, error, warning, onChange } = useBound("skills");
  const known = (useSkills().data?.skills ?? []).filter((skill) => skill.problem === null);
  const unknown = chosen.filter((name) => !known.some((skill) => skill.name === name));
  if (known.length === 0 && unknown.length === 0) return null;
  const set = (name: string, on: boolean) => onChange(on ? [...chosen, name] : chosen.filter((other) => other !== name));
  const limits = known.some(({ name, trust }) => chosen.includes(name) && trust !== "own" && trust !== "trusted");
  return (
    <div className={styles.group}>
      <span className={styles.label} aria-hidden>Skills it is told of</span>
      <div className={styles.tools} role="group" aria-label="Skills it is told of">
        {[...known, ...unknown.map((name) => ({ name, description: missing }))].map(({ name, description }) => (
          <Checkbox key={name} isSelected={chosen.includes(name)} onChange={(on) => set(name, on)} help={description}>
            <code>{name}</code>
          </Checkbox>
        ))}
      </div>
      {limits && <p className={styles.error}>One of these is not trusted, so runs of this job may only look. Trust it on the page of the tools, or leave it out.</p>}
      <GroupFoot error={error} warning={warning} />
    </div>
  );
}
