/* Review of the new and changed tools of an installed server. Starts the server to read its present tools. */

import { useEffect, useEffectEvent } from "react";

import { Modal } from "@/components/Modal";

import { useToolsStep } from "./useToolsStep";

export function ReviewDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const { title, body, footer, start } = useToolsStep({ name, found: undefined, onClose });
  const begin = useEffectEvent(start);
  useEffect(() => begin(), []);
  return (
    <Modal isOpen onClose={onClose} title={title} wide footer={footer}>
      {body}
    </Modal>
  );
}
