/* Frame: rail, page, dialogs. Shows a full page if the engine is unavailable, and a banner after a later loss. */

import { useQueryClient } from "@tanstack/react-query";
import { useCanGoBack, useRouter, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";

import { EngineLostContext } from "@/components/engineLost";
import { TitleCountContext } from "@/components/Page";
import { useShortcut, useShortcutListener } from "@/components/shortcuts";
import { Toasts } from "@/components/Toasts";
import { ScrollerContext } from "@/components/VirtualList";
import { isUnauthenticated, isUnreachable } from "@/data/client";
import { useOpenApprovals } from "@/data/approvals";
import { usePlatform } from "@/data/platform";
import { useShellInfo, useStatus } from "@/data/queries";

import { CommandBar } from "./CommandBar";
import { ComputerUnavailable, EngineFailed, NotSignedIn, Unreachable } from "./EngineUnavailable";
import { EngineLostBanner, useEngineLostSince } from "./EngineLostBanner";
import { ShortcutsDialog } from "./ShortcutsDialog";
import { ApprovalAnnouncer } from "./ApprovalAnnouncer";
import { PairingPage } from "./PairingPage";
import { Rail } from "./Rail";
import styles from "./Shell.module.css";

export function Shell({ children }: { children: ReactNode }) {
  const status = useStatus();
  const platform = usePlatform();
  const client = useQueryClient();
  const [pairing, setPairing] = useState(() => platform.pairing());
  const [scroller, setScroller] = useState<HTMLElement | null>(null);
  const [open, setOpen] = useState<"commands" | "help" | null>(null);
  useShortcutListener();
  usePageShortcuts(
    () => setOpen("commands"),
    () => setOpen("help"),
  );
  useCommandKey(() => setOpen((now) => (now === "commands" ? null : "commands")));
  useFocusAfterNavigation(scroller);
  const waiting = useOpenApprovals().data;
  const goneSince = useEngineLostSince();
  const computer = useShellInfo().data?.computer;

  if (pairing)
    return (
      <PairingPage
        pairing={pairing}
        onPaired={() => {
          setPairing(null);
          void client.invalidateQueries();
        }}
      />
    );
  if (status.error && !status.data && typeof computer === "string")
    return <ComputerUnavailable name={computer} error={status.error} onBack={() => void platform.showComputer(null)} />;
  if (isUnauthenticated(status.error)) return <NotSignedIn onRetry={() => void status.refetch()} />;
  if (status.error && !status.data && !isUnreachable(status.error))
    return <EngineFailed error={status.error} onRetry={() => void status.refetch()} />;
  if (status.error && !status.data) return <Unreachable onRetry={() => void status.refetch()} />;
  return (
    <EngineLostContext value={goneSince}>
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
        <ApprovalAnnouncer waiting={waiting} />
        <div className={styles.column}>
          <EngineLostBanner since={goneSince} />
          <main id="main" ref={setScroller} tabIndex={-1} className={styles.content}>
            <ScrollerContext value={scroller}>
              <TitleCountContext value={waiting?.length ?? 0}>{children}</TitleCountContext>
            </ScrollerContext>
          </main>
        </div>
        <CommandBar isOpen={open === "commands"} onClose={() => setOpen(null)} onHelp={() => setOpen("help")} />
        <ShortcutsDialog isOpen={open === "help"} onClose={() => setOpen(null)} />
        <Toasts />
      </div>
    </EngineLostContext>
  );
}

function usePageShortcuts(openCommands: () => void, openHelp: () => void) {
  const router = useRouter();
  useShortcut("n", "New job", () => void router.navigate({ to: "/jobs/new", search: {} }), anywhere);
  useShortcut(
    "/",
    "Search",
    () => {
      const field = document.querySelector<HTMLInputElement>("#main [data-search-field]");
      field?.focus();
      field?.select();
      if (!field) openCommands();
    },
    anywhere,
  );
  useShortcut("?", "This list", openHelp, anywhere);
  useShortcut("j", "Next row", () => stepRow(1), lists);
  useShortcut("k", "Previous row", () => stepRow(-1), lists);
  useBackKey();
}

const anywhere = { group: "Anywhere", fallback: true };
const lists = { group: "Lists", fallback: true, repeats: true };

/** Moves through short lists; virtual lists handle their own rows. */
function stepRow(by: 1 | -1): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>("#main [data-row-link]")];
  const at = rows.findIndex((row) => row === document.activeElement);
  const to = at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + by));
  rows[to]?.focus();
  return rows.length > 0;
}

/** Escape: back from a detail page. */
function useBackKey() {
  const router = useRouter();
  const canGoBack = useCanGoBack();
  const parent = useRouterState({
    select: (state) => /^\/(?:jobs|runs|approvals|tools)(?=\/.)/.exec(state.location.pathname)?.[0],
  });
  const back = () => {
    if (canGoBack) router.history.back();
    else void router.navigate({ href: parent });
  };
  useShortcut("Escape", "Back", back, { ...anywhere, when: parent !== undefined });
}

/** Ctrl+K and ⌘K work everywhere. */
function useCommandKey(toggle: () => void) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      toggle();
    };
    document.addEventListener("keydown", onKey, true);
    return () => document.removeEventListener("keydown", onKey, true);
  });
}

/** Moves the focus to the new page. */
function useFocusAfterNavigation(main: HTMLElement | null) {
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement === null)
      main?.focus({ preventScroll: true });
  }, [path, main]);
}
