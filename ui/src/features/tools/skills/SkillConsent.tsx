/* Page of a skill before the installation. Shortens nothing and shows invisible characters, because all texts are
   untrusted. */

import { TriangleAlert } from "lucide-react";

import { Code } from "@/components/Code";
import { Notice } from "@/components/Notice";
import { VisibleText } from "@/components/VisibleText";
import { StepStart } from "@/features/tools/servers/DialogParts";
import { bytes, plural } from "@/format/amount";
import { showInvisible, showOneLine, showUnambiguous } from "@/format/visible";
import type { SkillFileView, SkillPage } from "@/platform";

import styles from "./Skills.module.css";

/** A page, with the warning of the registry. */
export interface ReadSkill {
  page: SkillPage;
  warning?: string;
}

export function SkillConsent({ page, warning }: ReadSkill) {
  const { path, name, description, requires, text, files, replaces, isOwn, hash } = page;
  return (
    <StepStart label={`Skill ${name}`}>
      {warning !== undefined && (
        <Notice icon={TriangleAlert} tone="bad">
          <VisibleText text={showInvisible(warning)} />
        </Notice>
      )}
      {isOwn && (
        <Notice icon={TriangleAlert} tone="bad">
          One of your own skills has this name. Rename or remove it, then install again.
        </Notice>
      )}
      <p className={styles.hint}>
        Nothing is installed yet. The installation trusts exactly these files: the text counts as your instruction until
        a file changes.
      </p>
      <p className={styles.quoted}>
        <VisibleText text={showUnambiguous(description)} />
      </p>
      <dl className={styles.facts}>
        <dt>Read from</dt>
        <dd>
          <code>
            <VisibleText text={showOneLine(path)} />
          </code>
        </dd>
        <dt>Needs</dt>
        <dd>{requires.length === 0 ? "No variables or programs" : <Lines texts={requires} />}</dd>
        {replaces !== null && (
          <>
            <dt>Replaces</dt>
            <dd>
              <VisibleText text={showOneLine(replacedText(replaces, hash))} />
            </dd>
          </>
        )}
        <dt>Files</dt>
        <dd>
          <Files files={files} />
        </dd>
      </dl>
      <Code label="SKILL.md" text={text} unfolded isDecision />
      <p className={styles.hint}>
        Hash of this page:{" "}
        <code className={styles.hash}>
          <VisibleText text={showOneLine(hash)} />
        </code>
      </p>
    </StepStart>
  );
}

function replacedText(replaces: string, hash: string): string {
  if (replaces === "unreadable") return "The installed skill, which Rouse cannot read";
  return replaces === hash
    ? "The installed skill, whose content is the same"
    : `The installed skill with the hash ${replaces}`;
}

function Lines({ texts }: { texts: readonly string[] }) {
  return texts.map((text, at) => (
    <div key={at}>
      <VisibleText text={showOneLine(text)} />
    </div>
  ));
}

function Files({ files }: { files: readonly SkillFileView[] }) {
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  return (
    <>
      {plural(files.length, "file")}, {bytes(total)}
      <ul aria-label="Files of the skill" tabIndex={0} className={styles.files}>
        {files.map(({ path, bytes: size }) => (
          <li key={path}>
            <code>
              <VisibleText text={showOneLine(path)} />
            </code>{" "}
            ({bytes(size)})
          </li>
        ))}
      </ul>
    </>
  );
}
