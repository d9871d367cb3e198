/* Installs a skill from a folder, a zip file or a registry. The person reads the whole page first; the installation
   names the hash of that page, so changed files are refused. */

import { useId, useState } from "react";

import { Button } from "@/components/Button";
import { Segmented } from "@/components/Choice";
import { TextField } from "@/components/Field";
import { Modal } from "@/components/Modal";
import { useClickGuard } from "@/components/useClickGuard";
import { useCall } from "@/data/actions";
import { useSkillCall } from "@/data/skills";
import { useStatus } from "@/data/queries";
import { ActionError } from "@/features/tools/servers/DialogParts";
import { isAbsolutePath, pathOf } from "@/features/tools/servers/serverSource";
import type { StepView } from "@/features/tools/servers/useInstallSteps";
import { toSentence } from "@/format/text";
import { showOneLine } from "@/format/visible";
import { fieldErrors } from "@/platform";

import { type ReadSkill, SkillConsent } from "./SkillConsent";
import styles from "./Skills.module.css";
import { SkillSearch, useSkillSearch } from "./SkillSearch";

export function AddSkillDialog({ onClose }: { onClose: () => void }) {
  const [read, setRead] = useState<ReadSkill>();
  const first = useSourceStep({ onRead: setRead, onClose });
  const consent = useConsentStep({ read, onRead: setRead, onClose });
  const { title, body, footer } = consent ?? first;
  return (
    <Modal isOpen onClose={onClose} title={title} wide footer={footer}>
      <div key={read?.page.hash}>{body}</div>
    </Modal>
  );
}

const origins = [
  { id: "path", label: "Folder or zip" },
  { id: "registry", label: "Registry" },
] as const;

interface SourceStepOptions {
  onRead: (read: ReadSkill) => void;
  onClose: () => void;
}

function useSourceStep({ onRead, onClose }: SourceStepOptions): StepView {
  const { data: status } = useStatus();
  const preview = useCall("skills.preview");
  const search = useSkillSearch();
  const [origin, setOrigin] = useState<"path" | "registry">("path");
  const [source, setSource] = useState("");
  const [isRelative, setRelative] = useState(false);
  const formId = useId();
  const submit = () => {
    const path = pathOf(source, status?.home);
    setRelative(!isAbsolutePath(path));
    if (isAbsolutePath(path)) preview.mutate({ path }, { onSuccess: (page) => onRead({ page }) });
  };
  const error = isRelative ? "Write the absolute path, which begins with / or a drive." : errorText(preview.error);
  return {
    title: "Add skill",
    body: (
      <div className={styles.form}>
        <Segmented label="Source" options={origins} value={origin} onChange={setOrigin} className={styles.origins} />
        {origin === "registry" ? (
          <SkillSearch search={search} onRead={onRead} />
        ) : (
          <form
            id={formId}
            aria-label="Skill"
            onSubmit={(event) => {
              event.preventDefault();
              submit();
            }}
          >
            <TextField
              mono
              autoFocus
              label="Path"
              value={source}
              onChange={(text) => {
                setSource(text);
                setRelative(false);
                preview.reset();
              }}
              error={error}
              help="The absolute path of a folder with a SKILL.md, or of a .zip file."
              placeholder="/home/ada/Downloads/notes.zip"
              autoComplete="off"
              spellCheck="false"
            />
          </form>
        )}
      </div>
    ),
    footer: (
      <>
        <Button onPress={onClose}>Cancel</Button>
        {origin === "path" && (
          <Button
            look="primary"
            type="submit"
            form={formId}
            isPending={preview.isPending}
            isDisabled={source.trim() === ""}
          >
            Continue
          </Button>
        )}
      </>
    ),
  };
}

function errorText(error: Error | null): string | undefined {
  return error ? toSentence(fieldErrors(error)[0]?.message ?? error.message) : undefined;
}

interface ConsentStepOptions {
  read: ReadSkill | undefined;
  onRead: (read: ReadSkill | undefined) => void;
  onClose: () => void;
}

function useConsentStep({ read, onRead, onClose }: ConsentStepOptions): StepView | undefined {
  const install = useSkillCall("skills.install");
  const again = useCall("skills.preview");
  const isArmed = useClickGuard(read?.page.hash ?? "");
  if (!read) return undefined;
  const { path, name, hash, replaces, isOwn } = read.page;
  const leave = (next: ReadSkill | undefined) => {
    install.reset();
    again.reset();
    onRead(next);
  };
  const error = again.error ?? install.error;
  return {
    title: replaces === null ? `Install ${showOneLine(name)}?` : `Update ${showOneLine(name)}?`,
    body: (
      <>
        <SkillConsent {...read} />
        {error && <ActionError error={error} />}
      </>
    ),
    footer: (
      <>
        <Button onPress={() => leave(undefined)}>Back</Button>
        {error && (
          <Button
            isPending={again.isPending}
            onPress={() => again.mutate({ path }, { onSuccess: (page) => leave({ ...read, page }) })}
          >
            Read again
          </Button>
        )}
        <Button
          look="primary"
          isDisabled={!isArmed || isOwn}
          isPending={install.isPending}
          onPress={() => install.mutate({ path, hash }, { onSuccess: onClose })}
        >
          {replaces === null ? "Install" : "Update"}
        </Button>
      </>
    ),
  };
}
