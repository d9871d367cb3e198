/* Button with a menu. */

import type { LucideIcon } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { Menu, MenuItem, MenuTrigger, Popover, Separator, Text } from "react-aria-components";

import { cx } from "./cx";
import { Kbd } from "./Kbd";
import styles from "./Menu.module.css";

export interface MenuAction {
  id: string;
  label: string;
  about?: string;
  icon?: LucideIcon;
  shortcut?: string;
  danger?: boolean;
  disabled?: boolean;
  onAction: () => void;
}

/** `null` is a separator. */
export type MenuEntries = readonly (MenuAction | null)[];

interface Props {
  /** Trigger button. */
  children: ReactElement;
  label: string;
  entries: MenuEntries;
  /** Shown above the entries. */
  header?: ReactNode;
  placement?: "bottom start" | "bottom end" | "top start" | "right top";
}

export function MenuButton({ children, label, entries, header, placement = "bottom end" }: Props) {
  return (
    <MenuTrigger>
      {children}
      <Popover className={styles.popover} placement={placement} offset={4}>
        {header !== undefined && <div className={styles.header}>{header}</div>}
        <Menu aria-label={label} className={styles.menu}>
          {entries.map((entry, i) =>
            entry === null ? <Separator key={i} className={styles.line} /> : <Entry key={entry.id} entry={entry} />,
          )}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}

function Entry({ entry }: { entry: MenuAction }) {
  const { icon: Icon } = entry;
  return (
    <MenuItem
      id={entry.id}
      textValue={entry.label}
      isDisabled={entry.disabled}
      onAction={entry.onAction}
      className={cx(styles.item, entry.danger && styles.danger)}
    >
      {Icon && <Icon size={15} aria-hidden />}
      <span className={styles.text}>
        <Text slot="label">{entry.label}</Text>
        {entry.about !== undefined && (
          <Text slot="description" className={styles.about}>
            {entry.about}
          </Text>
        )}
      </span>
      {entry.shortcut !== undefined && <Kbd>{entry.shortcut}</Kbd>}
    </MenuItem>
  );
}
