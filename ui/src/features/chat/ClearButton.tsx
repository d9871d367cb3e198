/* Clears a conversation, after a question: what was said cannot be brought back. */

import { useState } from "react";

import { Button } from "@/components/Button";
import { Question } from "@/components/Modal";
import { useClear } from "@/data/chat";

export function ClearButton({ session }: { session: string }) {
  const [isAsked, setAsked] = useState(false);
  const clear = useClear();
  return (
    <>
      <Button look="ghost" onPress={() => setAsked(true)}>Clear</Button>
      <Question isOpen={isAsked} onClose={() => setAsked(false)} title="Clear this conversation?" confirm="Clear" danger onConfirm={() => clear.mutateAsync({ key: session })}>
        All that was said in it is gone then, for you and for the model, and so is what it has read. Its runs stay.
      </Question>
    </>
  );
}
