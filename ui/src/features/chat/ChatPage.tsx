/* The main conversation: what was said, what is being answered, and a place to write. It stays at its end while one reads
   there, and stays where it is while one reads above. */

import { MessagesSquare } from "lucide-react";
import { useLayoutEffect, useRef, use } from "react";

import { Button, ButtonLink } from "@/components/Button";
import { Page } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/States";
import { ScrollerContext } from "@/components/VirtualList";
import { useTranscript } from "@/data/chat";
import { useStatus } from "@/data/queries";

import { Answering } from "./Answering";
import styles from "./ChatPage.module.css";
import { Composer } from "./Composer";
import { entriesOf } from "./entries";
import { EntryView } from "./EntryView";

export function ChatPage() {
  const { data, error, refetch, showEarlier, isCut } = useTranscript();
  const model = useStatus().data?.model;
  const entries = data ? entriesOf(data.messages) : [];
  const isEmpty = data !== undefined && entries.length === 0 && data.open.length === 0;
  const list = useRef<HTMLDivElement>(null);
  useEndInSight(list);
  return (
    <Page title="Chat" className={styles.page}>
      <div className={styles.said} ref={list}>
        {error && !data && <Failure title="The conversation could not be read." error={error} onRetry={refetch} />}
        {!data && !error && <SkeletonRows rows={8} />}
        {isEmpty && (
          <Empty icon={MessagesSquare} title={model === null ? "No model yet" : "Nothing was said yet"} action={model === null && <ButtonLink to="/settings">Set one up</ButtonLink>}>
            {model === null ? "This is the main conversation. It needs a model to answer." : "This is the main conversation. Reminders and results of jobs come here too. Try “remind me in 20 minutes to stretch”."}
          </Empty>
        )}
        {showEarlier && (
          <div className={styles.earlier}>
            <Button small look="ghost" onPress={showEarlier}>Show earlier messages</Button>
          </div>
        )}
        {isCut && <p className={styles.earlier}>The newest 500 messages are shown; the earlier ones are kept.</p>}
        <ol aria-label="Conversation" className={styles.entries}>
          {entries.map((entry) => (
            <li key={entry.key}>
              <EntryView entry={entry} />
            </li>
          ))}
          {data?.open.map((message) => (
            <li key={message.runId}>
              <Answering message={message} isSaid={data.messages.some(({ from, runId }) => from === "person" && runId === message.runId)} />
            </li>
          ))}
        </ol>
      </div>
      <Composer isAnswering={data !== undefined && data.open.length > 0} isDisabled={model === null} />
    </Page>
  );
}

/** How far from the end one still reads the end. */
const nearEnd = 120;

/** Stays at the end while that is being read; the first time the conversation is there, it begins at its end. */
function useEndInSight(list: React.RefObject<HTMLElement | null>) {
  const scroller = use(ScrollerContext);
  useLayoutEffect(() => {
    const element = list.current;
    if (!element || !scroller) return;
    let isAtEnd = true;
    const look = () => {
      isAtEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < nearEnd;
    };
    const follow = () => {
      if (isAtEnd) scroller.scrollTo({ top: scroller.scrollHeight, behavior: "instant" });
    };
    const observer = new ResizeObserver(follow);
    observer.observe(element);
    scroller.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      scroller.removeEventListener("scroll", look);
    };
  }, [list, scroller]);
}
