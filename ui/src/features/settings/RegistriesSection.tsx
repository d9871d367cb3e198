/* Registries of MCP servers and skills. Contacts no registry. */

import { Section } from "@/components/Page";
import type { ConfigView } from "@/platform";

import { TextSetting } from "./controls";
import styles from "./Settings.module.css";

export function RegistriesSection({ config }: { config: ConfigView }) {
  const { servers, skills } = config.registries;
  return (
    <Section title="Registries" id="registries">
      <p className={styles.how}>
        Rouse connects to a registry only when you search or install. Addresses begin with https://, or with http:// on
        this computer.
      </p>
      <div className={styles.list}>
        <TextSetting
          config={config}
          name="registries.servers"
          title="MCP registry"
          help="Address with the official MCP registry API, such as https://registry.example.org. [default: none]"
          value={servers ?? ""}
        />
        <TextSetting
          config={config}
          name="registries.skills"
          title="Skill registry"
          help="Address with the ClawHub API. [default: none]"
          value={skills ?? ""}
        />
      </div>
    </Section>
  );
}
