/* The skills that a job's model is told of. Without any on this computer, and none named, there is nothing to ask. */

import { GroupFoot } from "@/components/Field";
import { useSkills } from "@/data/queries";
import { SkillChoice } from "@/domain/SkillChoice";

import { useBound } from "./bound";
import styles from "./Editor.module.css";

const label = "Skills it is told of";

export function SkillsField() {
  const { value: chosen, error, warning, onChange } = useBound("skills");
  const { data, isPending } = useSkills();
  const known = data?.skills ?? [];
  if (isPending) return null;
  if (chosen.length === 0 && known.every(({ problem }) => problem !== null)) return null;
  return (
    <div className={styles.group}>
      <span className={styles.label} aria-hidden>{label}</span>
      <SkillChoice
        label={label}
        known={known}
        chosen={chosen}
        onChange={onChange}
        missing="It cannot be used here: runs of this job fail until it can, or it is taken out here."
        limits="One of these is not trusted, so runs of this job may only look. Trust it on the page of the tools, or leave it out."
      />
      <GroupFoot error={error} warning={warning} />
    </div>
  );
}
