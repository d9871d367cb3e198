/* A list of any length that is still a list: `ul` and `li` with their place and number, of which only the visible ones
   exist. J, K and the arrows move; one row at a time is in the Tab order. K on the first row, or on one above the
   list, is left to the page. New rows above do not move what is being read. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { createContext, type KeyboardEvent, type ReactNode, type RefObject, use, useEffect, useLayoutEffect, useRef, useState } from "react";

import { cx } from "./cx";
import { useShortcut } from "./shortcuts";
import styles from "./VirtualList.module.css";

/** The element that scrolls; the shell provides it. */
export const ScrollerContext = createContext<HTMLElement | null>(null);

/** What a row's controls need: put `tabIndex` on the row's link, and `excludeFromTabOrder` on its buttons. */
export interface RowPlace {
  tabIndex: 0 | -1;
  excludeFromTabOrder: boolean;
}

interface Props<T> {
  label: string;
  items: readonly T[];
  itemKey: (item: T) => string;
  rowHeight?: number;
  /** Must contain one element with `data-row-link`: what Enter opens. */
  children: (item: T, place: RowPlace) => ReactNode;
  /** Called when the end comes near. */
  onEnd?: () => void;
  /** Whether more exists than is loaded. */
  more?: boolean;
  /** How many there are in all, when that is known; otherwise an unfinished list does not tell its length. */
  total?: number;
  /** Keys for the row in focus: key → label and what to do. */
  keys?: readonly { key: string; label: string; run: (item: T) => void }[];
  className?: string;
}

export function VirtualList<T>({ label, items, itemKey, rowHeight = 40, children, onEnd, more, total, keys = [], className }: Props<T>) {
  const scroller = use(ScrollerContext);
  const list = useRef<HTMLUListElement>(null);
  const margin = useOffset(list, scroller);
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller,
    estimateSize: () => rowHeight,
    getItemKey: (index) => keyAt(items, itemKey, index),
    overscan: 8,
    scrollMargin: margin,
    scrollPaddingStart: 64,
    scrollPaddingEnd: 24,
    initialRect: { width: 800, height: 800 },
  });
  const rows = virtualizer.getVirtualItems();
  const firstSeen = () => rows.find((row) => row.start >= (scroller?.scrollTop ?? 0))?.index ?? 0;
  const { current, setActive, isInside, onKeyDown } = useMoves(list, items.length, firstSeen, (index) => virtualizer.scrollToIndex(index));
  useStillness(items, itemKey, rowHeight, scroller, margin);
  useEnd(rows.at(-1)?.index ?? 0, items.length, onEnd);

  return (
    <ul ref={list} aria-label={label} className={cx(styles.list, className)} style={{ height: virtualizer.getTotalSize() }} onKeyDown={onKeyDown}>
      {keys.map((k) => (
        <RowKey key={k.key} shortcut={k.key} label={k.label} run={() => (isInside() ? onItem(items[current], k.run) : false)} />
      ))}
      {withActive(rows.map((row) => row.index), current).map((index) => {
        const item = items[index];
        if (item === undefined) return null;
        const isActive = index === current;
        return (
          <li
            key={itemKey(item)}
            aria-posinset={index + 1}
            aria-setsize={total ?? (more ? -1 : items.length)}
            data-index={index}
            className={styles.row}
            style={{ height: rowHeight, transform: `translateY(${index * rowHeight}px)` }}
            onFocus={() => setActive(index)}
          >
            {children(item, { tabIndex: isActive ? 0 : -1, excludeFromTabOrder: !isActive })}
          </li>
        );
      })}
    </ul>
  );
}

/** Moves the focus from row to row. A row that does not exist yet gets the focus as soon as scrolling has made it. */
function useMoves(list: RefObject<HTMLElement | null>, length: number, firstSeen: () => number, scrollTo: (index: number) => void) {
  const [active, setActive] = useState(0);
  const wanted = useRef<number | null>(null);
  const current = Math.min(active, length - 1);
  useLayoutEffect(() => {
    if (wanted.current !== null && focusRow(list.current, wanted.current)) wanted.current = null;
  });

  const go = (index: number) => {
    const to = Math.max(0, Math.min(length - 1, index));
    setActive(to);
    scrollTo(to);
    if (!focusRow(list.current, to)) wanted.current = to;
  };
  const isInside = () => list.current?.contains(document.activeElement) ?? false;
  const isAtTop = () => (isInside() ? current === 0 : document.activeElement?.hasAttribute("data-row-link"));
  const step = (by: number) => go(isInside() ? current + by : firstSeen());
  useShortcut("j", "Next row", () => step(1), { group: "Lists", when: length > 0, repeats: true });
  useShortcut("k", "Previous row", () => (isAtTop() ? false : step(-1)), { group: "Lists", when: length > 0, repeats: true });

  const onKeyDown = (event: KeyboardEvent) => {
    if (!(event.target instanceof HTMLElement) || event.target.closest("[data-row-link]") === null) return;
    const moves: Record<string, number> = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: length - 1 };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  };
  return { current, setActive, isInside, onKeyDown };
}

function RowKey({ shortcut, label, run }: { shortcut: string; label: string; run: () => unknown }) {
  useShortcut(shortcut, label, run, { group: "Lists" });
  return null;
}

function onItem<T>(item: T | undefined, run: (item: T) => void) {
  if (item === undefined) return false;
  run(item);
  return true;
}

function keyAt<T>(items: readonly T[], itemKey: (item: T) => string, index: number): string | number {
  const item = items[index];
  return item === undefined ? index : itemKey(item);
}

/** The row in focus exists even when it is scrolled away, so that focus is never lost. */
function withActive(visible: number[], active: number): number[] {
  if (active < 0 || visible.includes(active)) return visible;
  return active < (visible[0] ?? 0) ? [active, ...visible] : [...visible, active];
}

function focusRow(list: HTMLElement | null, index: number): boolean {
  const link = list?.querySelector<HTMLElement>(`[data-index="${index}"] [data-row-link]`);
  link?.focus({ preventScroll: true });
  return link !== null && link !== undefined;
}

/** Where the list begins inside what scrolls. */
function useOffset(list: RefObject<HTMLElement | null>, scroller: HTMLElement | null): number {
  const [offset, setOffset] = useState(0);
  useLayoutEffect(() => {
    const element = list.current;
    if (!element || !scroller) return;
    const measure = () => setOffset(Math.round(element.getBoundingClientRect().top - scroller.getBoundingClientRect().top + scroller.scrollTop));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(scroller);
    if (element.parentElement) observer.observe(element.parentElement);
    return () => observer.disconnect();
  }, [list, scroller]);
  return offset;
}

/** Rows that come in above what is being read move the scroll position with them. */
function useStillness<T>(items: readonly T[], itemKey: (item: T) => string, rowHeight: number, scroller: HTMLElement | null, margin: number) {
  const first = items[0] === undefined ? undefined : itemKey(items[0]);
  const before = useRef(first);
  useLayoutEffect(() => {
    const was = before.current;
    before.current = first;
    if (!scroller || was === undefined || was === first || scroller.scrollTop <= margin) return;
    const index = items.findIndex((item) => itemKey(item) === was);
    if (index > 0) scroller.scrollBy({ top: index * rowHeight, behavior: "instant" });
  }, [first, items, itemKey, rowHeight, scroller, margin]);
}

function useEnd(lastShown: number, length: number, onEnd: (() => void) | undefined) {
  const near = length > 0 && lastShown >= length - 30;
  useEffect(() => {
    if (near) onEnd?.();
    // The callback changes with every render; only coming near again, or a longer list, asks again.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [near, length]);
}
