/* Check and update of an installed package, for the section of its server. */

import { CircleCheck, FileCheck, PackageCheck, X } from "lucide-react";
import { type ReactNode, useState } from "react";

import { Button, IconButton } from "@/components/Button";
import { InlineCode } from "@/components/InlineCode";
import type { MenuAction } from "@/components/Menu";
import { VisibleText } from "@/components/VisibleText";
import { useCall } from "@/data/actions";
import { MovingArc } from "@/domain/ringIcons";
import { plural } from "@/format/amount";
import { showOneLine } from "@/format/visible";
import type { FileChangeKind, InstalledPackage, VerifiedFiles } from "@/platform";

import { ActionError } from "./DialogParts";
import { sourceLine } from "./PackageFacts";
import styles from "./Servers.module.css";
import { UpdateDialog } from "./UpdateDialog";

/** Shown names of changed files; the number of the others follows. */
const maxNames = 100;

const changeLabels: Record<FileChangeKind, string> = {
  changed: "changed",
  missing: "missing",
  extra: "not in the package",
};

interface PackageActions {
  entries: MenuAction[];
  /** Package, buttons for changed files, result of the check, and the open dialog. */
  panel: ReactNode;
}

export function usePackageActions(
  name: string,
  installed: InstalledPackage | undefined,
  /** A file of the package differs, so the server does not start. */
  hasDrift: boolean,
): PackageActions {
  const check = useCall("extensions.verify");
  const [isUpdating, setUpdating] = useState(false);
  if (!installed) return { entries: [], panel: null };
  const verify = () => check.mutate({ name });
  const update = () => setUpdating(true);
  const found = check.data?.extensions.find((one) => one.name === name);
  return {
    entries: [
      {
        id: "verify",
        label: "Check files",
        about: "Compares every file with the accepted files.",
        icon: FileCheck,
        disabled: check.isPending,
        onAction: verify,
      },
      {
        id: "update",
        label: "Update…",
        about: "Installs another version, or the same again.",
        icon: PackageCheck,
        onAction: update,
      },
    ],
    panel: (
      <>
        <p className={styles.note}>
          <VisibleText text={showOneLine(sourceLine(installed.source))} />
        </p>
        {hasDrift && (
          <div className={styles.driftActions}>
            <Button small isPending={check.isPending} onPress={verify} aria-label={`Check files of ${name}`}>
              Check files
            </Button>
            <Button small onPress={update} aria-label={`Update ${name}`}>
              Update…
            </Button>
          </div>
        )}
        {check.isPending && (
          <p role="status" className={styles.progress}>
            <span aria-hidden>
              <MovingArc size={16} />
            </span>
            Comparing the files of {name} …
          </p>
        )}
        {check.error && <ActionError error={check.error} />}
        {found && !check.isPending && (
          <CheckedFiles found={found} onUpdate={hasDrift ? undefined : update} onDismiss={() => check.reset()} />
        )}
        {isUpdating && (
          <UpdateDialog
            name={name}
            installed={installed}
            onClose={() => {
              setUpdating(false);
              // The files may be others now.
              check.reset();
            }}
          />
        )}
      </>
    ),
  };
}

interface CheckedFilesProps {
  found: VerifiedFiles;
  /** None if the button is elsewhere. */
  onUpdate: (() => void) | undefined;
  onDismiss: () => void;
}

function CheckedFiles({ found: { name, files, changes, problem }, onUpdate, onDismiss }: CheckedFilesProps) {
  const dismiss = <IconButton small icon={X} label={`Dismiss the check of ${name}`} onPress={onDismiss} />;
  if (problem === null && changes.length === 0)
    return (
      <div className={styles.checked}>
        <p role="status" className={styles.stored}>
          <CircleCheck size={14} aria-hidden /> {files === 1 ? "1 file is" : `All ${files.toLocaleString()} files are`}{" "}
          as you accepted {files === 1 ? "it" : "them"}.
        </p>
        {dismiss}
      </div>
    );
  return (
    <div className={styles.drift} role="alert">
      <div className={styles.checked}>
        <p>
          {problem === null
            ? `${plural(changes.length, "file differs", "files differ")} from the ${plural(files, "accepted file")}.`
            : "The files cannot be compared."}{" "}
          The server does not start until you update it.
        </p>
        {dismiss}
      </div>
      {problem !== null && (
        <p>
          <InlineCode text={problem} />
        </p>
      )}
      {changes.length > 0 && (
        <ul aria-label={`Changed files of ${name}`} tabIndex={0} className={styles.changes}>
          {changes.slice(0, maxNames).map(({ path, change }) => (
            <li key={path}>
              <code>
                <VisibleText text={showOneLine(path)} />
              </code>{" "}
              ({changeLabels[change]})
            </li>
          ))}
          {changes.length > maxNames && <li>and {plural(changes.length - maxNames, "other file")}</li>}
        </ul>
      )}
      {onUpdate && (
        <Button small onPress={onUpdate} aria-label={`Update ${name}`}>
          Update…
        </Button>
      )}
    </div>
  );
}
