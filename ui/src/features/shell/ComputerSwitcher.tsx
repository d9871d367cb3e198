/* Name of the computer whose pages are shown, and the choice of another one. Only in the app, with other computers. */

import { Check, Laptop, Server } from "lucide-react";
import { Button } from "react-aria-components";

import { cx } from "@/components/cx";
import { type MenuAction, MenuButton } from "@/components/Menu";
import { toast } from "@/components/Toasts";
import { usePlatform } from "@/data/platform";
import { useShellInfo } from "@/data/queries";
import { computerStateText, THIS_COMPUTER } from "@/domain/computers";

import styles from "./ComputerSwitcher.module.css";

export function ComputerSwitcher() {
  const { data: shell } = useShellInfo();
  const { showComputer } = usePlatform();
  if (!shell || (shell.computers.length === 0 && shell.computer === null)) return null;
  const { computer, computers } = shell;
  // The shell loads a new page for another computer.
  const show = (name: string | null) => () => {
    if (name === computer) return;
    showComputer(name).catch((error: unknown) => toast({ title: "Could not switch", about: String(error) }));
  };
  const here: MenuAction = {
    id: "here",
    label: THIS_COMPUTER,
    icon: computer === null ? Check : Laptop,
    onAction: show(null),
  };
  const others = computers.map((other): MenuAction => ({
    id: `computer:${other.name}`,
    label: other.name,
    about: computerStateText(other),
    icon: other.name === computer ? Check : Server,
    onAction: show(other.name),
  }));
  const name = computer ?? THIS_COMPUTER;
  return (
    <MenuButton label="Computer" entries={[here, ...others]} placement="bottom start">
      <Button className={cx(styles.button, computer !== null && styles.elsewhere)} aria-label={`Computer: ${name}`}>
        {computer === null ? <Laptop size={14} aria-hidden /> : <Server size={14} aria-hidden />}
        <span className={styles.name}>{name}</span>
      </Button>
    </MenuButton>
  );
}
