/* Theme, stored on this device only. */

import { Segmented } from "@/components/Choice";
import { Section } from "@/components/Page";
import { type Theme, useTheme } from "@/data/theme";

import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";

const themes: readonly { id: Theme; label: string }[] = [
  { id: "system", label: "System" },
  { id: "light", label: "Light" },
  { id: "dark", label: "Dark" },
];

export function AppearanceSection() {
  const [theme, setTheme] = useTheme();
  return (
    <Section title="Appearance" id="appearance">
      <div className={styles.list}>
        <SettingRow title="Theme">
          <Segmented label="Theme" options={themes} value={theme} onChange={setTheme} />
        </SettingRow>
      </div>
    </Section>
  );
}
