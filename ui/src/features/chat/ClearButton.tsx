/* Clears a conversation after confirmation. */

import { useState } from "react";

import { Button } from "@/components/Button";
import { ConfirmDialog } from "@/components/Modal";
import { useClear } from "@/data/chat";

export function ClearButton({ session }: { session: string }) {
  const [isAsked, setAsked] = useState(false);
  const clear = useClear();
  return (
    <>
      <Button look="ghost" onPress={() => setAsked(true)}>
        Clear
      </Button>
      <ConfirmDialog
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        title="Clear this conversation?"
        confirm="Clear"
        danger
        onConfirm={() => clear.mutateAsync({ key: session })}
      >
        This deletes its messages, for you and for the model, and everything the model has read. Runs are kept.
      </ConfirmDialog>
    </>
  );
}
