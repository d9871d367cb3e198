/* Version and environment. */

import { Facts } from "@/components/Facts";
import { Section } from "@/components/Page";
import { Time } from "@/components/Time";
import { otherZoneName, localZone } from "@/format/time";
import type { SystemStatus } from "@/platform";

export function AboutSection({ status }: { status: SystemStatus | undefined }) {
  if (!status) return null;
  return (
    <Section title="About" id="about">
      <Facts
        facts={[
          { name: "Version", value: status.version },
          { name: "Mode", value: status.mode === "app" ? "app" : "headless (rouse serve)" },
          { name: "Process", value: status.pid },
          { name: "Running since", value: <Time at={status.startedAtMs} as="when" /> },
          { name: "Time zone", value: status.zone.replaceAll("_", " ") },
          {
            name: "Time zone rules",
            value:
              status.zoneData.folder === null
                ? `${status.zoneData.version}, built in`
                : `${status.zoneData.version}, from ${status.zoneData.folder}`,
          },
          otherZoneName(status.zone) !== undefined && {
            name: "Browser time zone",
            value: localZone().replaceAll("_", " "),
          },
        ]}
      />
    </Section>
  );
}
