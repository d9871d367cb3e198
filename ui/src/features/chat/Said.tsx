/* What was said, the newest last. It stays at its end while one reads there, and stays where it is while one reads above: also
   when earlier messages come in before what is being read. */

import { type ReactNode, type RefObject, use, useLayoutEffect, useRef } from "react";

import { Button } from "@/components/Button";
import { ScrollerContext } from "@/components/VirtualList";

import styles from "./ChatPage.module.css";
import type { Entry } from "./entries";
import { EntryView } from "./EntryView";

interface Props {
  entries: readonly Entry[];
  /** Reads more of what is before; nothing when this is the beginning. */
  showEarlier: (() => void) | undefined;
  isLoadingEarlier: boolean;
  /** What stands in the place of a conversation that is not there. */
  before?: ReactNode;
  /** What is still being said, as items of the list. */
  children?: ReactNode;
}

export function Said({ entries, showEarlier, isLoadingEarlier, before, children }: Props) {
  const list = useRef<HTMLDivElement>(null);
  useEndInSight(list);
  useStillness(list, entries[0]?.key);
  return (
    <div className={styles.said} ref={list}>
      {before}
      {showEarlier && (
        <div className={styles.earlier}>
          <Button small look="ghost" isPending={isLoadingEarlier} onPress={showEarlier}>Show earlier messages</Button>
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

/** What comes in before the first entry moves the scroll position with it. */
function useStillness(list: RefObject<HTMLElement | null>, first: string | undefined) {
  const scroller = use(ScrollerContext);
  const before = useRef<{ first: string; height: number }>(undefined);
  useLayoutEffect(() => {
    const element = list.current;
    if (!element || !scroller || first === undefined) return;
    const height = element.scrollHeight;
    const was = before.current;
    if (was !== undefined && was.first !== first && height > was.height) scroller.scrollBy({ top: height - was.height, behavior: "instant" });
    before.current = { first, height };
  });
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
