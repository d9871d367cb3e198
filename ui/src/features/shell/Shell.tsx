/* The frame: rail, content, and what floats above both. When the engine cannot be used at all, it says why instead of the
   page; when it is only lost for a while, the page stays as it is, and the rail and a line above the page say so. */

import { useCanGoBack, useRouter, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";

import { GoneSinceContext } from "@/components/gone";
import { TitleCountContext } from "@/components/Page";
import { useShortcut, useShortcutListener } from "@/components/shortcuts";
import { Toasts } from "@/components/Toasts";
import { ScrollerContext } from "@/components/VirtualList";
import { isUnauthenticated, isUnreachable } from "@/data/client";
import { useOpenApprovals } from "@/data/approvals";
import { useStatus } from "@/data/queries";

import { CommandBar } from "./CommandBar";
import { Broken, NotSignedIn, Unreachable } from "./Doors";
import { Gone, useGoneSince } from "./Gone";
import { Help } from "./Help";
import { NewQuestions } from "./NewQuestions";
import { Rail } from "./Rail";
import styles from "./Shell.module.css";

export function Shell({ children }: { children: ReactNode }) {
  const status = useStatus();
  const [scroller, setScroller] = useState<HTMLElement | null>(null);
  const [open, setOpen] = useState<"commands" | "help" | null>(null);
  useShortcutListener();
  usePageShortcuts(() => setOpen("commands"), () => setOpen("help"));
  useCommandKey(() => setOpen((now) => (now === "commands" ? null : "commands")));
  useFocusAfterNavigation(scroller);
  const waiting = useOpenApprovals().data;
  const goneSince = useGoneSince();

  if (isUnauthenticated(status.error)) return <NotSignedIn onRetry={() => void status.refetch()} />;
  if (status.error && !status.data && !isUnreachable(status.error)) return <Broken error={status.error} onRetry={() => void status.refetch()} />;
  if (status.error && !status.data) return <Unreachable onRetry={() => void status.refetch()} />;
  return (
    <GoneSinceContext value={goneSince}>
      <div className={styles.frame}>
        <a
          href="#main"
          className={styles.skip}
          onClick={(event) => {
            event.preventDefault();
            scroller?.focus();
          }}
        >
          Skip to content
        </a>
        <Rail onSearch={() => setOpen("commands")} waiting={waiting?.length ?? 0} />
        <NewQuestions waiting={waiting} />
        <div className={styles.column}>
          <Gone since={goneSince} />
          <main id="main" ref={setScroller} tabIndex={-1} className={styles.content}>
            <ScrollerContext value={scroller}>
              <TitleCountContext value={waiting?.length ?? 0}>{children}</TitleCountContext>
            </ScrollerContext>
          </main>
        </div>
        <CommandBar isOpen={open === "commands"} onClose={() => setOpen(null)} onHelp={() => setOpen("help")} />
        <Help isOpen={open === "help"} onClose={() => setOpen(null)} />
        <Toasts />
      </div>
    </GoneSinceContext>
  );
}

function usePageShortcuts(openCommands: () => void, openHelp: () => void) {
  const router = useRouter();
  useShortcut("n", "New job", () => void router.navigate({ to: "/jobs/new", search: {} }), anywhere);
  useShortcut("/", "Search", () => {
    const field = document.querySelector<HTMLInputElement>("#main [data-search-field]");
    field?.focus();
    field?.select();
    if (!field) openCommands();
  }, anywhere);
  useShortcut("?", "This list", openHelp, anywhere);
  useShortcut("j", "Next row", () => stepRow(1), lists);
  useShortcut("k", "Previous row", () => stepRow(-1), lists);
  useBackKey();
}

const anywhere = { group: "Anywhere", fallback: true };
const lists = { group: "Lists", fallback: true, repeats: true };

/** Moves through the rows of short lists; long ones move by themselves, because most of their rows do not exist. */
function stepRow(by: 1 | -1): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>("#main [data-row-link]")];
  const at = rows.findIndex((row) => row === document.activeElement);
  const to = at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + by));
  rows[to]?.focus();
  return rows.length > 0;
}

/** From one thing to where one came from, or to the list it stands in; lists stay. */
function useBackKey() {
  const router = useRouter();
  const canGoBack = useCanGoBack();
  const parent = useRouterState({ select: (state) => /^\/(?:jobs|runs|approvals|tools)(?=\/.)/.exec(state.location.pathname)?.[0] });
  const back = () => {
    if (canGoBack) router.history.back();
    else void router.navigate({ href: parent });
  };
  useShortcut("Escape", "Back", back, { ...anywhere, when: parent !== undefined });
}

/** Ctrl or ⌘ with K works from everywhere, fields included. */
function useCommandKey(toggle: () => void) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      toggle();
    };
    document.addEventListener("keydown", onKey, true);
    return () => document.removeEventListener("keydown", onKey, true);
  });
}

/** What had the focus is gone with its page; the new page takes it, so that keys and screen readers go on from there. */
function useFocusAfterNavigation(main: HTMLElement | null) {
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement === null) main?.focus({ preventScroll: true });
  }, [path, main]);
}
