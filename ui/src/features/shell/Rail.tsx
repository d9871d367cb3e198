/* Navigation rail with the engine state. */

import { Link } from "@tanstack/react-router";
import {
  CalendarClock,
  Hand,
  History,
  House,
  type LucideIcon,
  MessagesSquare,
  Search,
  Settings2,
  Wrench,
} from "lucide-react";
import { Button } from "react-aria-components";

import { Kbd, modKey } from "@/components/Kbd";

import { useDevice } from "@/data/access";

import { AttachedEngineLine } from "./AttachedEngineLine";
import { ComputerSwitcher } from "./ComputerSwitcher";
import { EngineLine } from "./EngineLine";
import { Logo } from "./Logo";
import styles from "./Rail.module.css";

const places: readonly {
  to: "/" | "/jobs" | "/runs" | "/approvals" | "/chat" | "/tools" | "/settings";
  label: string;
  icon: LucideIcon;
}[] = [
  { to: "/", label: "Home", icon: House },
  { to: "/jobs", label: "Jobs", icon: CalendarClock },
  { to: "/runs", label: "Runs", icon: History },
  { to: "/approvals", label: "Needs you", icon: Hand },
  { to: "/chat", label: "Chat", icon: MessagesSquare },
  { to: "/tools", label: "Tools", icon: Wrench },
  { to: "/settings", label: "Settings", icon: Settings2 },
];

interface Props {
  onSearch: () => void;
  /** Pending approvals. */
  waiting: number;
}

export function Rail({ onSearch, waiting }: Props) {
  // A device installs no tools.
  const device = useDevice();
  return (
    <aside className={styles.rail}>
      <div className={styles.brand}>
        <Logo />
        <span className={styles.word}>Rouse</span>
      </div>
      <ComputerSwitcher />
      <Button className={styles.search} onPress={onSearch} aria-label="Search and commands">
        <Search size={14} aria-hidden />
        <span className={styles.label}>Search</span>
        <span className={styles.keys} aria-hidden>
          <Kbd>{modKey}</Kbd>
          <Kbd>K</Kbd>
        </span>
      </Button>
      <nav aria-label="Main" className={styles.nav}>
        {places
          .filter(({ to }) => device === null || to !== "/tools")
          .map(({ to, label, icon: Icon }) => (
            <Link
              key={to}
              to={to}
              title={label}
              className={styles.place}
              activeOptions={{ exact: to === "/", includeSearch: false }}
            >
              <Icon size={16} aria-hidden />
              <span className={styles.label}>{label}</span>
              {to === "/approvals" && waiting > 0 && (
                <span className={styles.count}>
                  {waiting}
                  <span className="visually-hidden"> waiting</span>
                </span>
              )}
            </Link>
          ))}
      </nav>
      <div className={styles.foot}>
        <AttachedEngineLine />
        <EngineLine />
      </div>
    </aside>
  );
}
