/* Dialogs of the installed extensions of a section: review, change and removal. */

import { type ReactNode, useState } from "react";

import { ConfirmDialog } from "@/components/Modal";
import { Notice } from "@/components/Notice";
import { useExtensionCall } from "@/data/extensions";
import { plural } from "@/format/amount";
import type { ExtensionRemoved } from "@/platform";

import { AddServerDialog } from "./AddServerDialog";
import { ReviewDialog } from "./ReviewDialog";
import type { ServerForm } from "./serverForm";
import styles from "./Servers.module.css";

interface Options {
  /** The section has coding agents. */
  isAgent: boolean;
  /** What a removal deletes, as sentences. */
  removal: string;
}

interface ExtensionDialogs {
  review: (name: string) => void;
  change: (form: ServerForm) => void;
  remove: (name: string) => void;
  /** Result of the last removal. */
  removed: ReactNode;
  dialogs: ReactNode;
}

export function useExtensionDialogs({ isAgent, removal }: Options): ExtensionDialogs {
  const call = useExtensionCall("extensions.remove");
  const [reviewing, setReviewing] = useState<string>();
  const [changing, setChanging] = useState<ServerForm>();
  const [removing, setRemoving] = useState<string>();
  return {
    review: setReviewing,
    change: setChanging,
    remove: setRemoving,
    removed: call.data && <Removed name={call.variables.name} removed={call.data} />,
    dialogs: (
      <>
        {reviewing !== undefined && (
          <ReviewDialog name={reviewing} isAgent={isAgent} onClose={() => setReviewing(undefined)} />
        )}
        {changing && <AddServerDialog installed={changing} onClose={() => setChanging(undefined)} />}
        <ConfirmDialog
          isOpen={removing !== undefined}
          onClose={() => setRemoving(undefined)}
          title={`Remove “${removing ?? ""}”?`}
          confirm="Remove"
          danger
          onConfirm={() => removing !== undefined && call.mutateAsync({ name: removing })}
        >
          {removal}
        </ConfirmDialog>
      </>
    ),
  };
}

function Removed({ name, removed: { revokedGrants, manualCleanup } }: { name: string; removed: ExtensionRemoved }) {
  return (
    <Notice className={styles.removed}>
      “{name}” was removed.{revokedGrants > 0 && ` ${plural(revokedGrants, "grant")} revoked.`} {manualCleanup}
    </Notice>
  );
}
