/* Main session: messages and composer. */

import { MessagesSquare } from "lucide-react";
import { useRef, useState } from "react";

import { ButtonLink } from "@/components/Button";
import { Page } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/Placeholders";
import { Allowed, useMay } from "@/data/access";
import { mainSession, useTranscript } from "@/data/chat";
import { useStatus } from "@/data/queries";

import { PendingMessage } from "./PendingMessage";
import styles from "./ChatPage.module.css";
import { ClearButton } from "./ClearButton";
import { Composer } from "./Composer";
import { mainEntries } from "./entries";
import { MessageList } from "./MessageList";

export function ChatPage() {
  const { data, error, refetch, ...earlier } = useTranscript(mainSession);
  const field = useRef<HTMLTextAreaElement>(null);
  const [returned, setReturned] = useState<{ text: string }>();
  const model = useStatus().data?.model;
  const maySend = useMay("chat.send");
  const entries = data
    ? mainEntries(
        data.messages,
        data.open.map(({ runId }) => runId),
      )
    : [];
  const isEmpty = data !== undefined && entries.length === 0 && data.open.length === 0;
  return (
    <Page
      title="Chat"
      className={styles.page}
      actions={
        data &&
        data.messages.length > 0 && (
          <Allowed to="sessions.clear">
            <ClearButton session={mainSession} />
          </Allowed>
        )
      }
    >
      <MessageList
        entries={entries}
        {...earlier}
        before={
          <>
            {error && !data && <Failure title="Could not load the conversation." error={error} onRetry={refetch} />}
            {!data && !error && <SkeletonRows rows={8} />}
            {isEmpty && (
              <Empty
                icon={MessagesSquare}
                title={model === null ? "No model yet" : "No messages yet"}
                action={
                  model === null && (
                    <ButtonLink to="/settings" hash="model">
                      Connect a model
                    </ButtonLink>
                  )
                }
              >
                {model === null
                  ? "This is the main session. It needs a model to answer."
                  : "This is the main session. Reminders and job results appear here too. Try “remind me in 20 minutes to stretch”."}
              </Empty>
            )}
          </>
        }
      >
        {data?.open.map((message) => (
          <li key={message.runId}>
            <PendingMessage
              message={message}
              isShown={data.messages.some(({ from, runId }) => from === "person" && runId === message.runId)}
              onStop={() => field.current?.focus()}
              onReturned={(text) => setReturned({ text })}
            />
          </li>
        ))}
      </MessageList>
      <Composer
        field={field}
        returned={returned}
        isAnswering={data !== undefined && data.open.length > 0}
        isStreaming={data?.open.some(({ state }) => state === "running") ?? false}
        lockReason={!maySend ? "This device may not send messages" : model === null ? "No model yet" : undefined}
      />
    </Page>
  );
}
