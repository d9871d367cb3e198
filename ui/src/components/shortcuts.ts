/* Single keys that do something on this page. Views register theirs while they are shown, the newest wins, and the help
   dialog lists what is registered. Keys typed into a field, a menu or a dialog are never taken. Escape leaves a field, and what
   was typed there stays, but for a search: that is cleared first, and left by the next Escape. The key after that is the page's
   again. A key that is held down counts once unless it only moves: nobody means to start a job thirty times a second. The frame
   registers its keys as fallbacks: it is mounted once, but its effects run after its first page's, so age alone would put it
   first. */

import { useEffect, useEffectEvent, useSyncExternalStore } from "react";

export interface Shortcut {
  /** As `KeyboardEvent.key` says it, letters in lower case. */
  key: string;
  label: string;
  /** Where the help dialog lists it; without one it is not listed. */
  group?: string;
}

interface Registered extends Shortcut {
  repeats: boolean;
  run: () => boolean | undefined;
}

let registered: readonly Registered[] = [];
const watchers = new Set<() => void>();

function replace(next: readonly Registered[]) {
  registered = next;
  watchers.forEach((watcher) => watcher());
}

interface Options {
  group?: string;
  when?: boolean;
  fallback?: boolean;
  /** Whether it goes on while the key is held down. */
  repeats?: boolean;
}

/** Registers a key while the component is shown. The handler may return false to leave the key to others. */
export function useShortcut(key: string, label: string, run: () => unknown, options: Options = {}) {
  const { group, when = true, fallback = false, repeats = false } = options;
  const current = useEffectEvent(() => run() !== false);
  useEffect(() => {
    if (!when) return;
    const entry: Registered = { key, label, group, repeats, run: () => current() };
    replace(fallback ? [entry, ...registered] : [...registered, entry]);
    return () => replace(registered.filter((other) => other !== entry));
  }, [key, label, group, when, fallback, repeats]);
}

/** Everything registered now, for the help dialog. */
export function useShortcutList(): readonly Shortcut[] {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => registered,
  );
}

/** Whether a key belongs to what it was typed into. */
function isTaken(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable=true], [role=dialog], [role=alertdialog], [role=menu], [role=listbox], [role=combobox]") !== null;
}

/** A field of the page that Escape leaves; undefined while it closes something that the field has opened. */
function fieldToLeave(target: EventTarget | null): HTMLElement | undefined {
  if (!(target instanceof HTMLElement) || target.getAttribute("aria-expanded") === "true") return undefined;
  return target.closest<HTMLElement>("#main :is(input, textarea, select, [contenteditable=true])") ?? undefined;
}

/** Whether a key that is typed now would be taken: while a field has the focus it belongs to the field, so no key is promised. */
export function useKeysCount(): boolean {
  return useSyncExternalStore(watchFocus, () => !isTaken(document.activeElement));
}

function watchFocus(watcher: () => void) {
  document.addEventListener("focusin", watcher);
  document.addEventListener("focusout", watcher);
  return () => {
    document.removeEventListener("focusin", watcher);
    document.removeEventListener("focusout", watcher);
  };
}

/** Listens for the whole page; installed once by the shell. */
export function useShortcutListener() {
  useEffect(() => {
    let toLeave: HTMLElement | undefined;
    // Before the field itself has seen the key, and has closed what it had opened.
    const onKeyFirst = (event: KeyboardEvent) => {
      toLeave = event.key === "Escape" ? fieldToLeave(event.target) : undefined;
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      toLeave?.blur();
      if (isTaken(event.target)) return;
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      const handled = registered.filter((entry) => entry.key === key && (entry.repeats || !event.repeat)).reverse().some((entry) => entry.run() !== false);
      if (handled) event.preventDefault();
    };
    document.addEventListener("keydown", onKeyFirst, true);
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("keydown", onKeyFirst, true);
      document.removeEventListener("keydown", onKey);
    };
  }, []);
}
