/* Starting with the computer; only where this page is the app's window. */

import { useQuery } from "@tanstack/react-query";

import { Switch } from "@/components/Choice";
import { isMac } from "@/components/Kbd";
import { Section } from "@/components/Page";
import { usePlatform } from "@/data/platform";

import { Setting } from "./Setting";
import styles from "./Settings.module.css";
import { useFate } from "./useSetting";

/** What is switched off there stays off, and macOS tells no app. */
const ELSEWHERE = isMac ? " System Settings → General → Login Items can forbid it." : "";
const HELP = `Jobs fire only while Rouse runs. It stays out of sight in the tray.${ELSEWHERE}`;

export function StartUpSection() {
  const { capabilities } = usePlatform();
  return capabilities.autostart ? <StartUp /> : null;
}

function StartUp() {
  const { autostart } = usePlatform();
  const { data: on, error, refetch } = useQuery({ queryKey: ["autostart"], queryFn: () => autostart.get() });
  const [fate, follow] = useFate();
  const set = async (next: boolean) => {
    await follow(() => autostart.set(next));
    void refetch();
  };
  return (
    <Section title="Start-up" id="start-up">
      <div className={styles.list}>
        <Setting title="Start with the computer" help={error ? `It is not known whether it does: ${error.message}` : HELP} fate={fate}>
          <Switch aria-label="Start with the computer" isSelected={on === true} isDisabled={on === undefined || fate.kind === "saving"} onChange={(next) => void set(next)} />
        </Setting>
      </div>
    </Section>
  );
}
