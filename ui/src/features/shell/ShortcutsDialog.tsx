/* List of keyboard shortcuts. */

import { Kbd, modKey } from "@/components/Kbd";
import { Modal } from "@/components/Modal";
import { type Shortcut, useShortcutList } from "@/components/shortcuts";

import styles from "./ShortcutsDialog.module.css";

const always: readonly Shortcut[] = [
  { key: `${modKey} K`, label: "Search and commands", group: "Anywhere" },
  { key: "Enter", label: "Open row", group: "Lists" },
];

const names: Record<string, string> = { Escape: "Esc" };

export function ShortcutsDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const listed = [...always, ...useShortcutList()];
  const groups = [...new Set(listed.map((s) => s.group).filter((group) => group !== undefined))];
  return (
    <Modal isOpen={isOpen} onClose={onClose} title="Keyboard shortcuts">
      {groups.map((group) => (
        <section key={group} className={styles.group}>
          <h3>{group}</h3>
          <dl>
            {unique(listed.filter((s) => s.group === group)).map((shortcut) => (
              <div key={shortcut.key} className={styles.line}>
                <dt>{shortcut.label}</dt>
                <dd>
                  {(names[shortcut.key] ?? (shortcut.key.length === 1 ? shortcut.key.toUpperCase() : shortcut.key))
                    .split(" ")
                    .map((key) => (
                      <Kbd key={key}>{key}</Kbd>
                    ))}
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Modal>
  );
}

function unique(list: readonly Shortcut[]): Shortcut[] {
  return [...new Map(list.map((shortcut) => [shortcut.key, shortcut])).values()];
}
