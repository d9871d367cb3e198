/* Update of an installed package: another version, another file, or the same content again. The definition stays as the
   person wrote it. */

import { useId, useState } from "react";

import { Button } from "@/components/Button";
import { TextField } from "@/components/Field";
import { Modal } from "@/components/Modal";
import { useCall } from "@/data/actions";
import { useStatus } from "@/data/queries";
import { toSentence } from "@/format/text";
import { type ExtensionDraft, type ExtensionSource, fieldErrors, type InstalledPackage } from "@/platform";

import { ActionError } from "./DialogParts";
import { withoutFlags } from "./engineMessage";
import { sourceLine } from "./PackageFacts";
import styles from "./Servers.module.css";
import { pathOf } from "./serverSource";
import { useInstallSteps } from "./useInstallSteps";

interface Props {
  name: string;
  installed: InstalledPackage;
  onClose: () => void;
}

export function UpdateDialog({ name, installed: { source, draft: server }, onClose }: Props) {
  const { data: status } = useStatus();
  const { kind, view, propose } = useInstallSteps(name, onClose);
  const preview = useCall("extensions.preview");
  const [target, setTarget] = useState(targetOf(source));
  const formId = useId();
  const submit = () => {
    const draft: ExtensionDraft = { name, server, source: renewed(source, target, status?.home) };
    preview.mutate(draft, { onSuccess: (page) => propose({ draft, page }) });
  };
  const wrong = target === undefined ? undefined : fieldErrors(preview.error)[0]?.message;
  const first = {
    title: `Update ${name}`,
    body: (
      <form
        id={formId}
        aria-label={`Update of ${name}`}
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        {target === undefined ? (
          <p>
            Rouse reads the folder again and shows the page of the present files. Accept the page if the changes are
            yours.
          </p>
        ) : (
          <TextField
            mono
            autoFocus
            label={source.kind === "mcpb" ? "Bundle file" : "Version"}
            value={target}
            onChange={(text) => {
              setTarget(text);
              preview.reset();
            }}
            error={wrong === undefined ? undefined : toSentence(withoutFlags(wrong))}
            help={`Installed: ${sourceLine(source)}. ${sameContent[source.kind]}`}
            autoComplete="off"
            spellCheck="false"
          />
        )}
        {preview.error && wrong === undefined && <ActionError error={preview.error} />}
      </form>
    ),
    footer: (
      <>
        <Button onPress={onClose}>Cancel</Button>
        <Button
          look="primary"
          type="submit"
          form={formId}
          isPending={preview.isPending}
          isDisabled={target?.trim() === ""}
          autoFocus={target === undefined}
        >
          Continue
        </Button>
      </>
    ),
  };
  const { title, body, footer } = view ?? first;
  return (
    <Modal isOpen onClose={onClose} title={title} wide footer={footer}>
      <div key={kind}>{body}</div>
    </Modal>
  );
}

const sameContent: Record<ExtensionSource["kind"], string> = {
  npm: "The same version installs the files again.",
  pypi: "The same version installs the files again.",
  mcpb: "The same file is unpacked again.",
  folder: "",
  tool: "The folder is checked and copied again.",
};

/** Version or file to change; undefined for a folder, which stays in its place. */
function targetOf(source: ExtensionSource): string | undefined {
  if (source.kind === "npm" || source.kind === "pypi") return source.version;
  return source.kind === "mcpb" ? source.file : undefined;
}

/** Source with another target, without the hashes that the installation found. */
function renewed(source: ExtensionSource, target: string | undefined, home: string | undefined): ExtensionSource {
  switch (source.kind) {
    case "npm":
    case "pypi": {
      const { kind, package: name, version, program } = source;
      return {
        kind,
        package: name,
        version: target?.trim() ?? version,
        ...(program !== undefined && { program }),
      };
    }
    case "tool":
      return { kind: "tool", path: source.path };
    case "mcpb":
      return { kind: "mcpb", file: pathOf(target ?? source.file, home), config: source.config };
    case "folder":
      return { kind: "folder", path: source.path };
  }
}
