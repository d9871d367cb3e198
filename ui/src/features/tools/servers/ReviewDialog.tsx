/* Review of the new and changed tools of an installed server, or the test start of a coding agent. Starts the server to
   read its present tools. */

import { useEffect, useEffectEvent } from "react";

import { Modal } from "@/components/Modal";

import { useToolsStep } from "./useToolsStep";

interface Props {
  name: string;
  /** A coding agent, which only starts. */
  isAgent: boolean;
  onClose: () => void;
}

export function ReviewDialog({ name, isAgent, onClose }: Props) {
  const { title, body, footer, start } = useToolsStep({ name, isAgent, found: undefined, onClose });
  const begin = useEffectEvent(start);
  useEffect(() => begin(), []);
  return (
    <Modal isOpen onClose={onClose} title={title} wide footer={footer}>
      {body}
    </Modal>
  );
}
