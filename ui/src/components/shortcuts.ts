/* Single-key shortcuts, registered by mounted views; the newest wins. Keys typed into fields, menus and
   dialogs are ignored. Escape leaves a field and keeps the text; a search is cleared first. Held keys fire once
   unless `repeats`. The shell registers fallbacks, because shell effects run after page effects. */

import { useEffect, useEffectEvent, useSyncExternalStore } from "react";

export interface Shortcut {
  /** `KeyboardEvent.key`, letters in lower case. */
  key: string;
  label: string;
  /** Group in the shortcuts dialog; unlisted if undefined. */
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
  /** Fires repeatedly while the key is held. */
  repeats?: boolean;
}

/** Registers a shortcut while mounted. The handler returns false to pass the key on. */
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

/** All registered shortcuts, for the dialog. */
export function useShortcutList(): readonly Shortcut[] {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => registered,
  );
}

/** True if the target consumes keys itself. */
function isEditingTarget(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest(
      "input, textarea, select, [contenteditable=true], [role=dialog], [role=alertdialog], [role=menu], [role=listbox], [role=combobox]",
    ) !== null
  );
}

/** Field that Escape leaves; undefined while the field has a popup open. */
function fieldToLeave(target: EventTarget | null): HTMLElement | undefined {
  if (!(target instanceof HTMLElement) || target.getAttribute("aria-expanded") === "true") return undefined;
  return target.closest<HTMLElement>("#main :is(input, textarea, select, [contenteditable=true])") ?? undefined;
}

/** True if shortcuts act now, that is, no field has the focus. */
export function useKeysActive(): boolean {
  return useSyncExternalStore(watchFocus, () => !isEditingTarget(document.activeElement));
}

function watchFocus(watcher: () => void) {
  document.addEventListener("focusin", watcher);
  document.addEventListener("focusout", watcher);
  return () => {
    document.removeEventListener("focusin", watcher);
    document.removeEventListener("focusout", watcher);
  };
}

/** Global key listener, installed once by the shell. */
export function useShortcutListener() {
  useEffect(() => {
    let toLeave: HTMLElement | undefined;
    // Capture phase: runs before the field closes a popup.
    const onKeyFirst = (event: KeyboardEvent) => {
      toLeave = event.key === "Escape" ? fieldToLeave(event.target) : undefined;
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      toLeave?.blur();
      if (isEditingTarget(event.target)) return;
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      const handled = registered
        .filter((entry) => entry.key === key && (entry.repeats || !event.repeat))
        .reverse()
        .some((entry) => entry.run() !== false);
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
