/* Index of the settings sections; each has an address. Pitfall: sections above may still load and grow, so scrolling
   once is not enough. */

import { Link, useLocation } from "@tanstack/react-router";
import { type RefObject, useEffect, useRef } from "react";

import { useCanStartAtLogin, useShellInfo } from "@/data/queries";

import styles from "./Settings.module.css";

/** Section ids and titles in page order. */
const sections = [
  ["model", "Model"],
  ["search", "Web search"],
  ["registries", "Registries"],
  ["heartbeat", "Heartbeat"],
  ["quiet-hours", "Quiet hours"],
  ["scheduling", "Scheduling"],
  ["notifications", "Notifications"],
  ["channels", "Channels"],
  ["computers", "Computers"],
  ["start-up", "Start-up"],
  ["spending", "Spending"],
  ["secrets", "Secrets"],
  ["devices", "Devices"],
  ["programs", "Programs"],
  ["hooks", "Hooks"],
  ["data", "Data"],
  ["appearance", "Appearance"],
  ["about", "About"],
] as const;

interface Props {
  /** Called for the current section; that link does not change the address. */
  onAgain: () => void;
}

export function SectionIndex({ onAgain }: Props) {
  const canStartAtLogin = useCanStartAtLogin();
  const { data: shell } = useShellInfo();
  const isAbsent = (id: string) =>
    (id === "start-up" && !canStartAtLogin) || (id === "computers" && shell?.computer !== null);
  const name = useLocation({ select: ({ hash }) => hash });
  const index = useRef<HTMLElement>(null);
  // Scrolls the current link into view on narrow screens.
  useEffect(
    () => index.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }),
    [name],
  );
  return (
    <nav ref={index} aria-label="Sections" className={styles.index}>
      <ul>
        {sections
          .filter(([id]) => !isAbsent(id))
          .map(([id, title]) => (
            <li key={id}>
              <Link
                to="/settings"
                hash={id}
                preload={false}
                activeOptions={{ includeHash: true }}
                onClick={() => id === name && onAgain()}
              >
                {title}
              </Link>
            </li>
          ))}
      </ul>
    </nav>
  );
}

/** User input that ends the scrolling. */
const userEvents = ["wheel", "pointerdown", "keydown"] as const;

/** Scrolls to and focuses the addressed section, until the user acts. `again` repeats the scroll. */
export function useScrollToSection(all: RefObject<HTMLElement | null>, again: number) {
  const name = useLocation({ select: ({ hash }) => hash });
  useEffect(() => {
    const section = [...(all.current?.children ?? [])].find(({ id }) => id !== "" && id === name);
    if (!all.current || !(section instanceof HTMLElement)) return;
    section.focus({ preventScroll: true });
    section.scrollIntoView();
    const observer = new ResizeObserver(() => section.scrollIntoView());
    observer.observe(all.current);
    const stop = () => {
      observer.disconnect();
      for (const act of userEvents) removeEventListener(act, stop, true);
    };
    for (const act of userEvents) addEventListener(act, stop, true);
    return stop;
  }, [all, name, again]);
}
