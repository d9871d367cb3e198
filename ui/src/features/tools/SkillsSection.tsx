/* Skills: what instructions there are, how far each is believed, and what is wrong with those that cannot be used. Trust is
   given here, to a text that has just been shown, and ends with any change of it. */

import { BookOpen } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { Modal } from "@/components/Modal";
import { Section } from "@/components/Page";
import { Failure } from "@/components/States";
import { Worded } from "@/components/Worded";
import { useCall } from "@/data/actions";
import { keys } from "@/data/keys";
import { useSkills } from "@/data/queries";
import type { SkillTrust, SkillView } from "@/platform";

import styles from "./Skills.module.css";

const words: Record<SkillTrust, string> = {
  own: "Your own",
  trusted: "Trusted as it is",
  changed: "Changed since you trusted it",
  untrusted: "Not trusted",
};

const meaning: Record<SkillTrust, string> = {
  own: "Its text is an instruction, because it lies in your own folder.",
  trusted: "Its text is an instruction until anything in its folder changes.",
  changed: "It is text from somebody else again: a run with it may only look.",
  untrusted: "It is text from somebody else: a run with it may only look, whatever its job allows.",
};

export function SkillsSection() {
  const { data, error, refetch } = useSkills();
  const [open, setOpen] = useState<string>();
  const shown = data?.skills.find((skill) => skill.path === open);
  return (
    <Section title="Skills" id="skills">
      {error && !data && <Failure title="The skills could not be listed." error={error} onRetry={() => void refetch()} />}
      {data?.skills.length === 0 && (
        <p className={styles.hint}>
          None yet. A skill is a folder with a <code>SKILL.md</code> that jobs can name. Your own go into <code>{data.ownFolder}</code>, those
          that you have from somebody else into <code>{data.installedFolder}</code>.
        </p>
      )}
      {data && data.skills.length > 0 && (
        <ul aria-label="Skills" className={styles.rows}>
          {data.skills.map((skill) => (
            <li key={skill.path} className={styles.row}>
              <BookOpen size={14} aria-hidden />
              <span className={styles.name}>{skill.name}</span>
              <span className={styles.about}>{skill.problem ?? skill.description}</span>
              <span className={skill.trust === "own" || skill.trust === "trusted" ? styles.state : styles.careful}>{stateOf(skill)}</span>
              {skill.problem === null && <Button small look="ghost" onPress={() => setOpen(skill.path)} aria-label={`Look at ${skill.name}`}>Look</Button>}
            </li>
          ))}
        </ul>
      )}
      {shown && <Skill skill={shown} onClose={() => setOpen(undefined)} />}
    </Section>
  );
}

function stateOf({ trust }: SkillView): string {
  return trust === null ? "Cannot be used" : words[trust];
}

function Skill({ skill, onClose }: { skill: SkillView; onClose: () => void }) {
  const { name, trust, body, files, tools, usedBy, path, digest } = skill;
  const give = useCall("skills.trust", [keys.skills, ["job"]]);
  const take = useCall("skills.distrust", [keys.skills, ["job"]]);
  const failed = give.error ?? take.error;
  if (trust === null) return null;
  return (
    <Modal isOpen onClose={onClose} title={name} wide>
      <p>{words[trust]}. {meaning[trust]}</p>
      <pre className={styles.body} tabIndex={0} aria-label="Instructions">{body}</pre>
      <dl className={styles.facts}>
        <dt>Folder</dt><dd><code>{path}</code></dd>
        {files.length > 0 && (<><dt>Other files</dt><dd>{files.join(", ")}</dd></>)}
        {tools && (<><dt>Only these tools</dt><dd>{tools.join(", ")}</dd></>)}
        <dt>Named by</dt><dd>{usedBy.length === 0 ? "no job" : usedBy.map((user) => user.name).join(", ")}</dd>
      </dl>
      {failed && <p role="alert" className={styles.careful}><Worded text={failed.message} /></p>}
      <div className={styles.actions}>
        <Button onPress={onClose}>Close</Button>
        {trust === "trusted" && <Button look="danger" onPress={() => take.mutate({ name })}>Take the trust back</Button>}
        {(trust === "untrusted" || trust === "changed") && (
          <Button look="primary" onPress={() => give.mutate({ name, digest: digest ?? "" })}>Trust it as it is</Button>
        )}
      </div>
    </Modal>
  );
}
