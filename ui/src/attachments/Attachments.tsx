/* Files that a call returned. Images load when shown, as data URLs because the CSP allows no blobs; PDFs load when
   saved. */

import { Download } from "lucide-react";
import { type ReactNode, useContext, useState } from "react";
import { Button as AriaButton, DisclosureStateContext } from "react-aria-components";

import { Button } from "@/components/Button";
import { Modal } from "@/components/Modal";
import { toast } from "@/components/Toasts";
import { useCall } from "@/data/actions";
import { usePlatform } from "@/data/platform";
import { useAttachment, useRun } from "@/data/queries";
import { bytes } from "@/format/amount";
import type { RunAttachmentParams, StepAttachmentView, StepView } from "@/platform";

import styles from "./Attachments.module.css";

/** Files of a step. */
export function Attachments({ runId, step: { seq, attachments = [] } }: { runId: string; step: StepView }) {
  if (attachments.length === 0) return null;
  return (
    <ul className={styles.files} aria-label="Files">
      {attachments.map((file, position) => (
        <li key={position}>
          <AttachedFile file={file} source={{ runId, step: seq, position }} />
        </li>
      ))}
    </ul>
  );
}

/** Files of a call of a transcript, loaded while the enclosing disclosure is open. */
export function CallAttachments({ runId, callId }: { runId: string; callId: string }) {
  const isOpen = useContext(DisclosureStateContext)?.isExpanded;
  return isOpen === true && <LoadedCallAttachments runId={runId} callId={callId} />;
}

function LoadedCallAttachments({ runId, callId }: { runId: string; callId: string }) {
  const steps = useRun(runId).data?.steps ?? [];
  return steps
    .filter((step) => step.callId === callId)
    .map((step) => <Attachments key={step.seq} runId={runId} step={step} />);
}

interface FileProps {
  file: StepAttachmentView;
  source: RunAttachmentParams;
}

function AttachedFile({ file, source }: FileProps) {
  if (!file.isKept) return <FileLine file={file}>not kept: over 20 MB in this run</FileLine>;
  if (file.mediaType.startsWith("image/")) return <AttachedImage file={file} source={source} />;
  return <AttachedPdf file={file} source={source} />;
}

function FileLine({ file, children }: Pick<FileProps, "file"> & { children: ReactNode }) {
  return (
    <p className={styles.line}>
      <bdi className={styles.name}>{file.name}</bdi>
      <span>{bytes(file.bytes)}</span>
      {children}
    </p>
  );
}

function AttachedImage({ file, source }: FileProps) {
  const [isLarge, setLarge] = useState(false);
  const { data, error } = useAttachment(source);
  if (error) return <FileLine file={file}>{error.message}</FileLine>;
  if (!data) return <div className={styles.loading} aria-busy="true" />;
  const src = `data:${data.mediaType};base64,${data.data}`;
  return (
    <>
      <AriaButton className={styles.thumbnail} onPress={() => setLarge(true)}>
        <img src={src} alt={file.name} />
      </AriaButton>
      <Modal isOpen={isLarge} onClose={() => setLarge(false)} title={file.name} wide className={styles.viewer}>
        <img src={src} alt={file.name} className={styles.large} />
      </Modal>
    </>
  );
}

function AttachedPdf({ file, source }: FileProps) {
  const platform = usePlatform();
  const load = useCall("runs.attachment");
  const save = async () => {
    try {
      const { data } = await load.mutateAsync(source);
      const content = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
      const name = /\.pdf$/i.test(file.name) ? file.name : `${file.name}.pdf`;
      const path = await platform.saveFile(name, content);
      if (path !== null) toast({ title: "File saved", about: path });
    } catch (error) {
      toast({ title: "Could not save the file", about: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <FileLine file={file}>
      <Button
        small
        look="ghost"
        icon={Download}
        isPending={load.isPending}
        onPress={() => void save()}
        aria-label={`Save ${file.name}`}
      >
        Save
      </Button>
    </FileLine>
  );
}
