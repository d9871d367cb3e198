/* Messages, newest last. Follows a visible end; keeps the position when earlier messages load. */

import { type ReactNode, type RefObject, use, useLayoutEffect, useRef } from "react";

import { Button } from "@/components/Button";
import { ScrollerContext } from "@/components/VirtualList";

import styles from "./ChatPage.module.css";
import type { ChatEntry } from "./entries";
import { EntryView } from "./EntryView";

interface Props {
  entries: readonly ChatEntry[];
  /** Loads earlier messages; undefined at the beginning. */
  showEarlier: (() => void) | undefined;
  isLoadingEarlier: boolean;
  /** Placeholder of an empty conversation. */
  before?: ReactNode;
  /** Live messages, as list items. */
  children?: ReactNode;
}

export function MessageList({ entries, showEarlier, isLoadingEarlier, before, children }: Props) {
  const list = useRef<HTMLDivElement>(null);
  useStickToEnd(list);
  useStableScroll(list, entries[0]?.key);
  return (
    <div className={styles.said} ref={list}>
      {before}
      {showEarlier && (
        <div className={styles.earlier}>
          <Button small look="ghost" isPending={isLoadingEarlier} onPress={showEarlier}>
            Show earlier messages
          </Button>
        </div>
      )}
      <ol aria-label="Conversation" className={styles.entries}>
        {entries.map((entry) => (
          <li key={entry.key}>
            <EntryView entry={entry} />
          </li>
        ))}
        {children}
      </ol>
    </div>
  );
}

/** Compensates the scroll position for earlier messages. */
function useStableScroll(list: RefObject<HTMLElement | null>, first: string | undefined) {
  const scroller = use(ScrollerContext);
  const before = useRef<{ first: string; height: number }>(undefined);
  useLayoutEffect(() => {
    const element = list.current;
    if (!element || !scroller || first === undefined) return;
    const height = element.scrollHeight;
    const was = before.current;
    if (was !== undefined && was.first !== first && height > was.height)
      scroller.scrollBy({ top: height - was.height, behavior: "instant" });
    before.current = { first, height };
  });
}

/** Distance that counts as the end, in px. */
const nearEnd = 120;

/** Follows a visible end; starts at the end. */
function useStickToEnd(list: React.RefObject<HTMLElement | null>) {
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
