/* Skills and their trust. Trust is bound to the shown text and ends with any change. */

import { BookOpen } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { Modal } from "@/components/Modal";
import { Section } from "@/components/Page";
import { Failure } from "@/components/Placeholders";
import { InlineCode } from "@/components/InlineCode";
import { useCall } from "@/data/actions";
import { keys } from "@/data/keys";
import { useSkills } from "@/data/queries";
import type { SkillTrust, SkillView } from "@/platform";

import styles from "./Skills.module.css";

const trustLabels: Record<SkillTrust, string> = {
  own: "Your own",
  trusted: "Trusted",
  changed: "Changed since you trusted it",
  untrusted: "Not trusted",
};

const trustMeanings: Record<SkillTrust, string> = {
  own: "Its text counts as your instruction, because it is in your own folder.",
  trusted: "Its text counts as your instruction until a file in its folder changes.",
  changed: "Its text is untrusted input again: runs with it are read-only.",
  untrusted: "Its text is untrusted input: runs with it are read-only, whatever the job allows.",
};

export function SkillsSection() {
  const { data, error, refetch } = useSkills();
  const [open, setOpen] = useState<string>();
  const shown = data?.skills.find((skill) => skill.path === open);
  return (
    <Section title="Skills" id="skills">
      {error && !data && <Failure title="Could not load skills." error={error} onRetry={() => void refetch()} />}
      {data?.skills.length === 0 && (
        <p className={styles.hint}>
          No skills yet. A skill is a folder with a <code>SKILL.md</code> that jobs can use. Put your own into{" "}
          <code>{data.ownFolder}</code>, and third-party skills into <code>{data.installedFolder}</code>.
        </p>
      )}
      {data && data.skills.length > 0 && (
        <ul aria-label="Skills" className={styles.rows}>
          {data.skills.map((skill) => (
            <li key={skill.path} className={styles.row}>
              <BookOpen size={14} aria-hidden />
              <span className={styles.name}>{skill.name}</span>
              <span className={styles.about}>{skill.problem ?? skill.description}</span>
              <span className={skill.trust === "own" || skill.trust === "trusted" ? styles.state : styles.careful}>
                {stateOf(skill)}
              </span>
              {skill.problem === null && (
                <Button small look="ghost" onPress={() => setOpen(skill.path)} aria-label={`View ${skill.name}`}>
                  View
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {shown && <SkillDialog skill={shown} onClose={() => setOpen(undefined)} />}
    </Section>
  );
}

function stateOf({ trust }: SkillView): string {
  return trust === null ? "Unavailable" : trustLabels[trust];
}

function SkillDialog({ skill, onClose }: { skill: SkillView; onClose: () => void }) {
  const { name, trust, body, files, tools, usedBy, path, digest } = skill;
  const give = useCall("skills.trust", [keys.skills, ["job"]]);
  const take = useCall("skills.distrust", [keys.skills, ["job"]]);
  const failed = give.error ?? take.error;
  if (trust === null) return null;
  return (
    <Modal isOpen onClose={onClose} title={name} wide>
      <p>
        {trustLabels[trust]}. {trustMeanings[trust]}
      </p>
      <pre className={styles.body} tabIndex={0} aria-label="Instructions">
        {body}
      </pre>
      <dl className={styles.facts}>
        <dt>Folder</dt>
        <dd>
          <code>{path}</code>
        </dd>
        {files.length > 0 && (
          <>
            <dt>Other files</dt>
            <dd>{files.join(", ")}</dd>
          </>
        )}
        {tools && (
          <>
            <dt>Allowed tools</dt>
            <dd>{tools.join(", ")}</dd>
          </>
        )}
        <dt>Used by</dt>
        <dd>{usedBy.length === 0 ? "no jobs" : usedBy.map((user) => user.name).join(", ")}</dd>
      </dl>
      {failed && (
        <p role="alert" className={styles.careful}>
          <InlineCode text={failed.message} />
        </p>
      )}
      <div className={styles.actions}>
        <Button onPress={onClose}>Close</Button>
        {trust === "trusted" && (
          <Button look="danger" onPress={() => take.mutate({ name })}>
            Revoke trust
          </Button>
        )}
        {(trust === "untrusted" || trust === "changed") && (
          <Button look="primary" onPress={() => give.mutate({ name, digest: digest ?? "" })}>
            Trust this version
          </Button>
        )}
      </div>
    </Modal>
  );
}
