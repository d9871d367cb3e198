/* A list of any length that is still a list: `ul` and `li` with their place and number, of which only the visible ones
   exist. J, K and the arrows move; one row at a time is in the Tab order. K on the first row, or on one above the
   list, is left to the page. New rows above do not move what is being read. The row in focus is known by its key, never
   by its place: the order changes while somebody presses keys, and what they press is meant for the row that they see. A row
   that has come to the place of one that is gone has its focus, but no key acts on it until it was chosen: what was pressed may
   still have been meant for the other. Whoever comes back to a list finds the focus on the row that they left, or on the one in
   its place. */

import { useRouter } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { createContext, type KeyboardEvent, type ReactNode, type RefObject, use, useEffect, useLayoutEffect, useRef, useState } from "react";

import { cx } from "./cx";
import { rowHeight as oneLine } from "./sizes";
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

export function VirtualList<T>({ label, items, itemKey, rowHeight = oneLine, children, onEnd, more, total, keys = [], className }: Props<T>) {
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
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, rowHeight]);
  const rows = virtualizer.getVirtualItems();
  const firstSeen = () => rows.find((row) => row.start >= (scroller?.scrollTop ?? 0))?.index ?? 0;
  const left = useLeft();
  const active = useActive(items, itemKey, left);
  const { current } = active;
  const { isInside, onRowFocus, reach, ...moves } = useMoves(list, items.length, active, firstSeen, (index) => virtualizer.scrollToIndex(index));
  useReturn(list, current, left.atFirst !== undefined, reach);
  useStillness({ list, items, itemKey, current, rowHeight, scroller, margin, isInside });
  useEnd(rows.at(-1)?.index ?? 0, items.length, onEnd);

  return (
    <ul ref={list} aria-label={label} className={cx(styles.list, className)} style={{ height: virtualizer.getTotalSize() }} {...moves}>
      {keys.map((k) => (
        <RowKey key={k.key} shortcut={k.key} label={k.label} run={() => (isInside() && !active.tookOver ? onItem(items[current], k.run) : false)} />
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
            onFocus={() => onRowFocus(index)}
            onClickCapture={() => active.choose(index)}
          >
            {children(item, { tabIndex: isActive ? 0 : -1, excludeFromTabOrder: !isActive })}
          </li>
        );
      })}
    </ul>
  );
}

interface Active {
  /** Where the active row stands now; -1 in an empty list. */
  current: number;
  choose: (index: number) => void;
  /** Whether its row has taken the place of one that is gone. */
  tookOver: boolean;
}

interface Chosen {
  key: string | number;
  index: number;
  tookOver: boolean;
}

/** The row that was chosen last, by the entry of the history that its list stood at: coming back is to that entry, and every other
    way to the list makes one of its own. */
const chosenAt = new Map<string, Chosen>();

interface Left {
  /** The row that was left, where one comes back to the list. */
  atFirst: Chosen | undefined;
  keep: (chosen: Chosen) => void;
}

function useLeft(): Left {
  const { history } = useRouter();
  const entry = () => history.location.state.__TSR_key ?? "";
  const [atFirst] = useState(() => chosenAt.get(entry()));
  return { atFirst, keep: (chosen) => void chosenAt.set(entry(), chosen) };
}

/** Whoever comes back goes on from the row that was left, unless the focus is wanted elsewhere by then. */
function useReturn(list: RefObject<HTMLElement | null>, current: number, isReturn: boolean, reach: () => boolean) {
  const isDue = useRef(isReturn);
  useLayoutEffect(() => {
    if (!isDue.current || current < 0) return;
    isDue.current = false;
    const { activeElement } = document;
    if (activeElement !== null && activeElement !== document.body && activeElement.id !== "main") return;
    if (reach()) requestAnimationFrame(() => rowAt(list.current, current)?.scrollIntoView({ block: "nearest", behavior: "instant" }));
  });
}

/** The one row that is in the Tab order and that the keys mean. Until one was chosen it is the first; when it is gone, the row
    that has come to its place. */
function useActive<T>(items: readonly T[], itemKey: (item: T) => string, left: Left): Active {
  const [active, setActive] = useState(left.atFirst);
  const at = (index: number, tookOver: boolean) => ({ key: keyAt(items, itemKey, index), index, tookOver });
  const choose = (index: number) => {
    left.keep(at(index, false));
    if (index !== active?.index || keyAt(items, itemKey, index) !== active.key || active.tookOver) setActive(at(index, false));
  };
  if (items.length === 0) return { current: -1, choose, tookOver: false };
  if (active === undefined) return { current: 0, choose, tookOver: false };
  if (keyAt(items, itemKey, active.index) === active.key) return { current: active.index, choose, tookOver: active.tookOver };
  const found = items.findIndex((item) => itemKey(item) === active.key);
  const now = found < 0 ? at(Math.min(active.index, items.length - 1), true) : { ...active, index: found };
  setActive(now);
  return { current: now.index, choose, tookOver: now.tookOver };
}

/** Moves the focus from row to row. A row that does not exist yet gets the focus as soon as scrolling has made it, and the row
    that takes the place of one in focus gets its focus. */
function useMoves(list: RefObject<HTMLElement | null>, length: number, { current, choose, tookOver }: Active, firstSeen: () => number, scrollTo: (index: number) => void) {
  const isWanted = useRef(false);
  const hadFocus = useRef(false);
  const isHandedOn = useRef(false);
  /** Gives the active row the focus. One that has taken over only has it handed on. */
  const reach = () => {
    isHandedOn.current = tookOver;
    const isReached = focusRow(list.current, current);
    isHandedOn.current = false;
    return isReached;
  };
  useLayoutEffect(() => {
    const isLost = tookOver && hadFocus.current && document.activeElement === document.body;
    if ((isWanted.current || isLost) && reach()) isWanted.current = false;
  });

  const go = (index: number) => {
    const to = Math.max(0, Math.min(length - 1, index));
    choose(to);
    scrollTo(to);
    isWanted.current = !focusRow(list.current, to);
  };
  const isInside = () => list.current?.contains(document.activeElement) ?? false;
  const isAtTop = () => (isInside() ? current === 0 : document.activeElement?.hasAttribute("data-row-link"));
  // Where a row has taken over, that one is the next after the one that is gone.
  const next = tookOver ? current : current + 1;
  useShortcut("j", "Next row", () => go(isInside() ? next : firstSeen()), { group: "Lists", when: length > 0, repeats: true });
  useShortcut("k", "Previous row", () => (isAtTop() && !tookOver ? false : go(isInside() ? current - 1 : firstSeen())), { group: "Lists", when: length > 0, repeats: true });

  const onKeyDown = (event: KeyboardEvent) => {
    if (!(event.target instanceof HTMLElement) || event.target.closest("[data-row-link]") === null) return;
    const moves: Record<string, number> = { ArrowDown: next, ArrowUp: current - 1, Home: 0, End: length - 1 };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  };
  // Nobody has chosen the row to which a focus was only handed on.
  const onRowFocus = (index: number) => {
    if (!isHandedOn.current) choose(index);
  };
  const onFocus = () => {
    hadFocus.current = true;
  };
  // A window that nobody looks at keeps its focus, and tells of a blur all the same.
  const onBlur = () => {
    hadFocus.current = isInside();
  };
  return { isInside, onRowFocus, reach, onKeyDown, onFocus, onBlur };
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

function rowAt(list: HTMLElement | null, index: number) {
  return list?.querySelector<HTMLElement>(`[data-index="${index}"]`);
}

function focusRow(list: HTMLElement | null, index: number): boolean {
  const link = rowAt(list, index)?.querySelector<HTMLElement>("[data-row-link]");
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

interface Stillness<T> {
  list: RefObject<HTMLElement | null>;
  items: readonly T[];
  itemKey: (item: T) => string;
  current: number;
  rowHeight: number;
  scroller: HTMLElement | null;
  margin: number;
  isInside: () => boolean;
}

/** Rows that come and go above what is being read move the scroll position with them, and a row that moves away with the focus
    in it is followed. What is being read are the rows in view, not the first of the list: that one may only have moved down. */
function useStillness<T>({ list, items, itemKey, current, rowHeight, scroller, margin, isInside }: Stillness<T>) {
  const before = useRef({ items, current });
  useLayoutEffect(() => {
    const was = before.current;
    before.current = { items, current };
    if (!scroller || was.items === items) return;
    const top = scroller.scrollTop - margin;
    const first = Math.max(0, Math.floor(top / rowHeight));
    const end = Math.max(0, Math.ceil((top + scroller.clientHeight) / rowHeight));
    const rows = top > 0 ? shiftOf(was.items.slice(first, end).map(itemKey), first, items.map(itemKey)) : 0;
    if (rows !== 0) scroller.scrollBy({ top: rows * rowHeight, behavior: "instant" });
    if (was.current !== current && was.current >= first && was.current < end && isInside()) rowAt(list.current, current)?.scrollIntoView({ block: "nearest", behavior: "instant" });
  }, [list, items, itemKey, current, rowHeight, scroller, margin, isInside]);
}

/** By how many places most of the rows in view have moved; none when most of them are gone, for then it is another list. */
function shiftOf(seen: readonly string[], first: number, now: readonly string[]): number {
  const places = new Map(now.map((key, index) => [key, index]));
  const shifts = seen.flatMap((key, i) => {
    const to = places.get(key);
    return to === undefined ? [] : [to - (first + i)];
  });
  if (shifts.length * 2 <= seen.length) return 0;
  return shifts.sort((a, b) => a - b)[Math.floor(shifts.length / 2)] ?? 0;
}

function useEnd(lastShown: number, length: number, onEnd: (() => void) | undefined) {
  const near = length > 0 && lastShown >= length - 30;
  useEffect(() => {
    if (near) onEnd?.();
    // The callback changes with every render; only coming near again, or a longer list, asks again.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [near, length]);
}
