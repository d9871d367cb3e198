/* How this screen looks; kept on this screen only. */

import { Segmented } from "@/components/Choice";
import { Section } from "@/components/Page";
import { type Theme, useTheme } from "@/data/theme";

import { Setting } from "./Setting";
import styles from "./Settings.module.css";

const themes: readonly { id: Theme; label: string }[] = [
  { id: "system", label: "As the system" },
  { id: "light", label: "Light" },
  { id: "dark", label: "Dark" },
];

export function AppearanceSection() {
  const [theme, setTheme] = useTheme();
  return (
    <Section title="Appearance" id="appearance">
      <div className={styles.list}>
        <Setting title="Theme">
          <Segmented label="Theme" options={themes} value={theme} onChange={setTheme} />
        </Setting>
      </div>
    </Section>
  );
}
