/* Installs a folder of the person: path, check, then the consent page. */

import { type ReactNode, useId, useState } from "react";

import { Button } from "@/components/Button";
import { TextField } from "@/components/Field";
import { useCall } from "@/data/actions";
import { useStatus } from "@/data/queries";
import { useCheckFolder } from "@/data/toolBuilds";
import { ActionError } from "@/features/tools/servers/DialogParts";
import { isAbsolutePath, pathOf } from "@/features/tools/servers/serverSource";
import { toSentence } from "@/format/text";
import { type ConsentPage, type ExtensionDraft, fieldErrors } from "@/platform";

import styles from "./Builds.module.css";
import { Checking, CheckResult, isPassed } from "./CheckResult";
import { toolDraft } from "./toolDraft";

interface ToolFolderForm {
  body: ReactNode;
  /** Checks the folder, then shows the consent page of a passed folder. */
  submit: ReactNode;
}

export function useToolFolder(onPage: (draft: ExtensionDraft, page: ConsentPage) => void): ToolFolderForm {
  const { data: status } = useStatus();
  const check = useCheckFolder();
  const preview = useCall("extensions.preview");
  const [source, setSource] = useState("");
  const [isRelative, setRelative] = useState(false);
  const formId = useId();
  const build = check.data;
  const canContinue = build !== undefined && isPassed(build);
  const advance = () => {
    if (check.isPending || preview.isPending) return;
    if (canContinue) {
      const draft = toolDraft(build.name, check.variables.folder);
      preview.mutate(draft, { onSuccess: (page) => onPage(draft, page) });
      return;
    }
    const folder = pathOf(source, status?.home);
    setRelative(!isAbsolutePath(folder));
    if (isAbsolutePath(folder)) check.mutate({ folder });
  };
  const problem = check.error && toSentence(fieldErrors(check.error)[0]?.message ?? check.error.message);
  return {
    body: (
      <form
        id={formId}
        aria-label="Tool folder"
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          advance();
        }}
      >
        <TextField
          mono
          autoFocus
          label="Folder of the tool"
          value={source}
          onChange={(text) => {
            setSource(text);
            setRelative(false);
            check.reset();
            preview.reset();
          }}
          error={isRelative ? "Write the absolute path, which begins with / or a drive." : (problem ?? undefined)}
          help="The absolute path of a folder with a tool.toml. Rouse runs the tests of the tool first."
          placeholder="/home/ada/tools/exchange-rate"
          autoComplete="off"
          spellCheck="false"
        />
        {check.isPending && <Checking />}
        {build && <CheckResult build={build} />}
        {preview.error && <ActionError error={preview.error} />}
      </form>
    ),
    submit: (
      <Button
        look="primary"
        type="submit"
        form={formId}
        isPending={check.isPending || preview.isPending}
        isDisabled={source.trim() === ""}
      >
        {canContinue ? "Continue" : build ? "Check again" : "Check"}
      </Button>
    ),
  };
}
