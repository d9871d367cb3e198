/* Start at login; only in the app's window, on the pages of this computer. */

import { useQuery } from "@tanstack/react-query";

import { Switch } from "@/components/Choice";
import { isMac } from "@/components/Kbd";
import { Section } from "@/components/Page";
import { usePlatform } from "@/data/platform";
import { useCanStartAtLogin } from "@/data/queries";

import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";
import { useSaveState } from "./useSetting";

/** macOS does not report that a login item is blocked. */
const ELSEWHERE = isMac ? " System Settings → General → Login Items can block it." : "";
const HELP = `Jobs run only while Rouse is running. It stays in the tray.${ELSEWHERE}`;

export function StartUpSection() {
  return useCanStartAtLogin() ? <StartUp /> : null;
}

function StartUp() {
  const { autostart } = usePlatform();
  const { data: on, error, refetch } = useQuery({ queryKey: ["autostart"], queryFn: () => autostart.get() });
  const [saveState, follow] = useSaveState();
  const set = async (next: boolean) => {
    await follow(() => autostart.set(next));
    void refetch();
  };
  return (
    <Section title="Start-up" id="start-up">
      <div className={styles.list}>
        <SettingRow
          title="Start at login"
          help={error ? `Could not read this setting: ${error.message}` : HELP}
          saveState={saveState}
        >
          <Switch
            aria-label="Start at login"
            isSelected={on === true}
            isDisabled={on === undefined || saveState.kind === "saving"}
            onChange={(next) => void set(next)}
          />
        </SettingRow>
      </div>
    </Section>
  );
}
