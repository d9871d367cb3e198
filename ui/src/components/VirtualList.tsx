/* Virtualized accessible list (`ul`/`li` with position and size). J, K and the arrow keys move; one row is in the
   Tab order. Identifies the focused row by key, because the order changes while keys are pressed. Pitfall: the successor of a removed row gets the focus, but keys act only after a choice. */

import { useRouter } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  createContext,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  use,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState,
} from "react";

import { cx } from "./cx";
import { rowHeight as oneLine } from "./sizes";
import { useShortcut } from "./shortcuts";
import styles from "./VirtualList.module.css";

/** Scroll container, provided by the shell. */
export const ScrollerContext = createContext<HTMLElement | null>(null);

/** Tab order of a row: `tabIndex` for its link, `excludeFromTabOrder` for its buttons. */
export interface RowTabProps {
  tabIndex: 0 | -1;
  excludeFromTabOrder: boolean;
}

interface Props<T> {
  label: string;
  items: readonly T[];
  itemKey: (item: T) => string;
  rowHeight?: number;
  /** Must contain one element with `data-row-link`, which Enter opens. */
  children: (item: T, place: RowTabProps) => ReactNode;
  /** Called near the end of the list. */
  onEnd?: () => void;
  /** More items exist than are loaded. */
  more?: boolean;
  /** Total count, if known. */
  total?: number;
  /** Shortcuts of the focused row. */
  keys?: readonly { key: string; label: string; run: (item: T) => void }[];
  className?: string;
}

export function VirtualList<T>({
  label,
  items,
  itemKey,
  rowHeight = oneLine,
  children,
  onEnd,
  more,
  total,
  keys = [],
  className,
}: Props<T>) {
  const scroller = use(ScrollerContext);
  const list = useRef<HTMLUListElement>(null);
  const margin = useListOffset(list, scroller);
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
  const left = useRememberedRow();
  const active = useActiveRow(items, itemKey, left);
  const { current } = active;
  const { isInside, onRowFocus, reach, ...moves } = useRowNavigation(list, items.length, active, firstSeen, (index) =>
    virtualizer.scrollToIndex(index),
  );
  useFocusOnReturn(list, current, left.atFirst !== undefined, reach);
  useStableScroll({ list, items, itemKey, current, rowHeight, scroller, margin, isInside });
  useNearEnd(rows.at(-1)?.index ?? 0, items.length, onEnd);

  return (
    <ul
      ref={list}
      aria-label={label}
      className={cx(styles.list, className)}
      style={{ height: virtualizer.getTotalSize() }}
      {...moves}
    >
      {keys.map((k) => (
        <RowKey
          key={k.key}
          shortcut={k.key}
          label={k.label}
          run={() => (isInside() && !active.isReplacement ? onItem(items[current], k.run) : false)}
        />
      ))}
      {withActive(
        rows.map((row) => row.index),
        current,
      ).map((index) => {
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

interface ActiveRow {
  /** Index of the active row; -1 in an empty list. */
  current: number;
  choose: (index: number) => void;
  /** The row replaced a removed one. */
  isReplacement: boolean;
}

interface ChosenRow {
  key: string | number;
  index: number;
  tookOver: boolean;
}

/** Last chosen row per history entry, so that going back restores it. */
const chosenAt = new Map<string, ChosenRow>();

interface RememberedRow {
  /** Row to restore after going back. */
  atFirst: ChosenRow | undefined;
  keep: (chosen: ChosenRow) => void;
}

function useRememberedRow(): RememberedRow {
  const { history } = useRouter();
  const entry = () => history.location.state.__TSR_key ?? "";
  const [atFirst] = useState(() => chosenAt.get(entry()));
  return { atFirst, keep: (chosen) => void chosenAt.set(entry(), chosen) };
}

/** Restores the focus after going back, unless another element is focused. */
function useFocusOnReturn(
  list: RefObject<HTMLElement | null>,
  current: number,
  isReturn: boolean,
  reach: () => boolean,
) {
  const isDue = useRef(isReturn);
  useLayoutEffect(() => {
    if (!isDue.current || current < 0) return;
    isDue.current = false;
    const { activeElement } = document;
    if (activeElement !== null && activeElement !== document.body && activeElement.id !== "main") return;
    if (reach())
      requestAnimationFrame(() =>
        rowAt(list.current, current)?.scrollIntoView({ block: "nearest", behavior: "instant" }),
      );
  });
}

/** Active row: in the Tab order, target of the shortcuts. Defaults to the first row; a removed row passes on to the next. */
function useActiveRow<T>(items: readonly T[], itemKey: (item: T) => string, left: RememberedRow): ActiveRow {
  const [active, setActive] = useState(left.atFirst);
  const at = (index: number, tookOver: boolean) => ({ key: keyAt(items, itemKey, index), index, tookOver });
  const choose = (index: number) => {
    left.keep(at(index, false));
    if (index !== active?.index || keyAt(items, itemKey, index) !== active.key || active.tookOver)
      setActive(at(index, false));
  };
  if (items.length === 0) return { current: -1, choose, isReplacement: false };
  if (active === undefined) return { current: 0, choose, isReplacement: false };
  if (keyAt(items, itemKey, active.index) === active.key)
    return { current: active.index, choose, isReplacement: active.tookOver };
  const found = items.findIndex((item) => itemKey(item) === active.key);
  const now = found < 0 ? at(Math.min(active.index, items.length - 1), true) : { ...active, index: found };
  setActive(now);
  return { current: now.index, choose, isReplacement: now.tookOver };
}

/** Moves the focus between rows. A row that is not rendered yet gets the focus after scrolling. */
function useRowNavigation(
  list: RefObject<HTMLElement | null>,
  length: number,
  { current, choose, isReplacement: tookOver }: ActiveRow,
  firstSeen: () => number,
  scrollTo: (index: number) => void,
) {
  const isWanted = useRef(false);
  const hadFocus = useRef(false);
  const isHandedOn = useRef(false);
  /** Focuses the active row. A replacement row is focused without being chosen. */
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
  // After a replacement, the active row is itself the next row.
  const next = tookOver ? current : current + 1;
  useShortcut("j", "Next row", () => go(isInside() ? next : firstSeen()), {
    group: "Lists",
    when: length > 0,
    repeats: true,
  });
  useShortcut(
    "k",
    "Previous row",
    () => (isAtTop() && !tookOver ? false : go(isInside() ? current - 1 : firstSeen())),
    { group: "Lists", when: length > 0, repeats: true },
  );

  const onKeyDown = (event: KeyboardEvent) => {
    if (!(event.target instanceof HTMLElement) || event.target.closest("[data-row-link]") === null) return;
    const moves: Record<string, number> = { ArrowDown: next, ArrowUp: current - 1, Home: 0, End: length - 1 };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  };
  // A handed-over focus chooses no row.
  const onRowFocus = (index: number) => {
    if (!isHandedOn.current) choose(index);
  };
  const onFocus = () => {
    hadFocus.current = true;
  };
  // A hidden window reports a blur but keeps the focus.
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

/** Keeps the focused row rendered, so that the focus is never lost. */
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

/** Offset of the list inside the scroll container. */
function useListOffset(list: RefObject<HTMLElement | null>, scroller: HTMLElement | null): number {
  const [offset, setOffset] = useState(0);
  useLayoutEffect(() => {
    const element = list.current;
    if (!element || !scroller) return;
    const measure = () =>
      setOffset(
        Math.round(element.getBoundingClientRect().top - scroller.getBoundingClientRect().top + scroller.scrollTop),
      );
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(scroller);
    if (element.parentElement) observer.observe(element.parentElement);
    return () => observer.disconnect();
  }, [list, scroller]);
  return offset;
}

interface StableScroll<T> {
  list: RefObject<HTMLElement | null>;
  items: readonly T[];
  itemKey: (item: T) => string;
  current: number;
  rowHeight: number;
  scroller: HTMLElement | null;
  margin: number;
  isInside: () => boolean;
}

/** Compensates the scroll position for rows inserted or removed above the viewport, and follows a focused row that
    moves. */
function useStableScroll<T>({ list, items, itemKey, current, rowHeight, scroller, margin, isInside }: StableScroll<T>) {
  const before = useRef({ items, current });
  useLayoutEffect(() => {
    const was = before.current;
    before.current = { items, current };
    if (!scroller || was.items === items) return;
    const top = scroller.scrollTop - margin;
    const first = Math.max(0, Math.floor(top / rowHeight));
    const end = Math.max(0, Math.ceil((top + scroller.clientHeight) / rowHeight));
    const rows = top > 0 ? medianShift(was.items.slice(first, end).map(itemKey), first, items.map(itemKey)) : 0;
    if (rows !== 0) scroller.scrollBy({ top: rows * rowHeight, behavior: "instant" });
    if (was.current !== current && was.current >= first && was.current < end && isInside())
      rowAt(list.current, current)?.scrollIntoView({ block: "nearest", behavior: "instant" });
  }, [list, items, itemKey, current, rowHeight, scroller, margin, isInside]);
}

/** Median shift of the visible rows; 0 if most are gone. */
function medianShift(seen: readonly string[], first: number, now: readonly string[]): number {
  const places = new Map(now.map((key, index) => [key, index]));
  const shifts = seen.flatMap((key, i) => {
    const to = places.get(key);
    return to === undefined ? [] : [to - (first + i)];
  });
  if (shifts.length * 2 <= seen.length) return 0;
  return shifts.sort((a, b) => a - b)[Math.floor(shifts.length / 2)] ?? 0;
}

function useNearEnd(lastShown: number, length: number, onEnd: (() => void) | undefined) {
  const near = length > 0 && lastShown >= length - 30;
  const loadMore = useEffectEvent(() => onEnd?.());
  useEffect(() => {
    if (near) loadMore();
  }, [near, length]);
}
