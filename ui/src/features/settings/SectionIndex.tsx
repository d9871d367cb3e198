/* The way to each section of the settings: a few words that stay in sight. Each is an address of its own, so that a page that speaks
   of a setting can lead to it. One could get it wrong by scrolling once: what stands above a section is still being read then, and
   pushes it away. */

import { Link, useLocation } from "@tanstack/react-router";
import { type RefObject, useEffect, useRef } from "react";

import { usePlatform } from "@/data/platform";

import styles from "./Settings.module.css";

/** By the id of each, in the order of the page. */
const sections = [
  ["model", "Model"],
  ["search", "Web search"],
  ["heartbeat", "Heartbeat"],
  ["quiet-hours", "Quiet hours"],
  ["scheduling", "Scheduling"],
  ["notifications", "Notifications"],
  ["start-up", "Start-up"],
  ["spending", "Spending"],
  ["secrets", "Secrets"],
  ["hooks", "Hooks"],
  ["data", "Data"],
  ["appearance", "Appearance"],
  ["about", "About"],
] as const;

interface Props {
  /** Leads again to the section that the address names already: pressing its link does not change the address. */
  onAgain: () => void;
}

export function SectionIndex({ onAgain }: Props) {
  const { capabilities } = usePlatform();
  const name = useLocation({ select: ({ hash }) => hash });
  const index = useRef<HTMLElement>(null);
  // Where the links stand in one row, the current one may be beyond its end.
  useEffect(() => index.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [name]);
  return (
    <nav ref={index} aria-label="Sections" className={styles.index}>
      <ul>
        {sections.filter(([id]) => id !== "start-up" || capabilities.autostart).map(([id, title]) => (
          <li key={id}>
            <Link to="/settings" hash={id} preload={false} activeOptions={{ includeHash: true }} onClick={() => id === name && onAgain()}>{title}</Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** What a person does with the page from then on is their own. */
const acts = ["wheel", "pointerdown", "keydown"] as const;

/** Brings the section that the address names into sight and leads the focus there; it stays there while what is above it comes in.
    `again` leads there once more when it has changed. */
export function useNamedSection(all: RefObject<HTMLElement | null>, again: number) {
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
      for (const act of acts) removeEventListener(act, stop, true);
    };
    for (const act of acts) addEventListener(act, stop, true);
    return stop;
  }, [all, name, again]);
}
