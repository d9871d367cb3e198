/* Skills of an agent turn; hidden while none exist. */

import { GroupFoot } from "@/components/Field";
import { useSkills } from "@/data/queries";
import { SkillChoice } from "@/domain/SkillChoice";

import { useJobField } from "./jobFields";
import styles from "./JobEditor.module.css";

const label = "Skills";

export function SkillsField() {
  const { value: chosen, error, warning, onChange } = useJobField("skills");
  const { data, isPending } = useSkills();
  const known = data?.skills ?? [];
  if (isPending) return null;
  if (chosen.length === 0 && known.every(({ problem }) => problem !== null)) return null;
  return (
    <div className={styles.group}>
      <span className={styles.label} aria-hidden>
        {label}
      </span>
      <SkillChoice
        label={label}
        known={known}
        chosen={chosen}
        onChange={onChange}
        missing="Unavailable. Runs fail until you fix or deselect this skill."
        limits="A selected skill is not trusted, so runs are read-only. Trust the skill in Tools, or deselect it."
      />
      <GroupFoot error={error} warning={warning} />
    </div>
  );
}
