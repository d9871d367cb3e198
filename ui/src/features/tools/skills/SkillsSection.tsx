/* Skills and their trust. Trust is bound to the shown text and ends with any change. */

import { BookOpen, Plus } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { ConfirmDialog, Modal } from "@/components/Modal";
import { Section } from "@/components/Page";
import { Failure } from "@/components/Placeholders";
import { InlineCode } from "@/components/InlineCode";
import { VisibleText } from "@/components/VisibleText";
import { useSkills } from "@/data/queries";
import { useSkillCall } from "@/data/skills";
import { showUnambiguous } from "@/format/visible";
import type { SkillTrust, SkillView } from "@/platform";

import { AddSkillDialog } from "./AddSkillDialog";
import styles from "./Skills.module.css";

const trustLabels: Record<SkillTrust, string> = {
  own: "Your own",
  trusted: "Trusted",
  changed: "Changed since you trusted it",
  untrusted: "Not trusted",
};

const trustMeanings: Record<SkillTrust, string> = {
  own: "The text counts as your instruction, because the skill is in your own folder.",
  trusted: "The text counts as your instruction until a file in the folder changes.",
  changed: "The text is untrusted input again: runs with this skill are read-only.",
  untrusted: "The text is untrusted input: runs with this skill are read-only, whatever the job allows.",
};

export function SkillsSection() {
  const { data, error, refetch } = useSkills();
  const remove = useSkillCall("skills.remove");
  const [open, setOpen] = useState<string>();
  const [isAdding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<SkillView>();
  const shown = data?.skills.find((skill) => skill.path === open);
  return (
    <Section
      title="Skills"
      id="skills"
      aside={
        <Button small look="ghost" icon={Plus} onPress={() => setAdding(true)}>
          Add skill
        </Button>
      }
    >
      {error && !data && <Failure title="Could not load skills." error={error} onRetry={() => void refetch()} />}
      {data?.skills.length === 0 && (
        <p className={styles.hint}>
          No skills yet. A skill is a folder with a <code>SKILL.md</code> that jobs can use. Put your own into{" "}
          <code>{data.ownFolder}</code>. “Add skill” installs third-party skills.
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
              {skill.problem !== null && skill.isInstalled && (
                <Button small look="ghost" onPress={() => setRemoving(skill)} aria-label={`Remove ${skill.name}`}>
                  Remove
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {shown && (
        <SkillDialog
          skill={shown}
          onClose={() => setOpen(undefined)}
          onRemove={() => {
            setOpen(undefined);
            setRemoving(shown);
          }}
        />
      )}
      {isAdding && <AddSkillDialog onClose={() => setAdding(false)} />}
      <ConfirmDialog
        isOpen={removing !== undefined}
        onClose={() => setRemoving(undefined)}
        title={`Remove “${removing?.name ?? ""}”?`}
        confirm="Remove"
        danger
        onConfirm={() => removing && remove.mutateAsync({ name: removing.name })}
      >
        {removing && removalText(removing)}
      </ConfirmDialog>
    </Section>
  );
}

function stateOf({ trust }: SkillView): string {
  return trust === null ? "Unavailable" : trustLabels[trust];
}

function removalText({ usedBy }: SkillView): string {
  const jobs = usedBy.map(({ name }) => `“${name}”`).join(", ");
  return `The folder of the skill and your trust are deleted. ${
    jobs === "" ? "No job uses this skill." : `Runs of these jobs fail without this skill: ${jobs}.`
  }`;
}

interface SkillDialogProps {
  skill: SkillView;
  onClose: () => void;
  onRemove: () => void;
}

function SkillDialog({ skill, onClose, onRemove }: SkillDialogProps) {
  const { name, trust, isInstalled, body, files, tools, usedBy, path, digest } = skill;
  const give = useSkillCall("skills.trust");
  const take = useSkillCall("skills.distrust");
  const failed = give.error ?? take.error;
  if (trust === null) return null;
  return (
    <Modal isOpen onClose={onClose} title={name} wide>
      <p>
        {trustLabels[trust]}. {trustMeanings[trust]}
      </p>
      <pre className={styles.body} tabIndex={0} aria-label="Instructions">
        <VisibleText text={showUnambiguous(body ?? "")} />
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
        {isInstalled && (
          <Button look="danger" onPress={onRemove}>
            Remove
          </Button>
        )}
        {trust === "trusted" && <Button onPress={() => take.mutate({ name })}>Revoke trust</Button>}
        {(trust === "untrusted" || trust === "changed") && (
          <Button look="primary" onPress={() => give.mutate({ name, digest: digest ?? "" })}>
            Trust this version
          </Button>
        )}
      </div>
    </Modal>
  );
}
