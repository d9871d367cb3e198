/* When a job fires. Days and times are a view of the cron pattern, which is always visible and can be changed on either
   side; what the engine says about a schedule is shown beside it while it is being written. */

import { memo, useMemo } from "react";

import { Button } from "@/components/Button";
import { Segmented, Switch } from "@/components/Choice";
import { DateTimeField } from "@/components/DateTime";
import { ComboBox, GroupFoot } from "@/components/Field";
import { Section } from "@/components/Page";
import { foreignZone, localZone } from "@/format/time";
import { tomorrowAt, wallIn } from "@/format/wall";

import { ChoiceOf, NumberOf, units, useBound } from "./bound";
import { DaysAndTimesFields } from "./DaysAndTimesFields";
import styles from "./Editor.module.css";
import type { JobForm, When } from "./form";
import { CronText } from "./CronText";
import { EventFields } from "./EventFields";
import { WebhookFields } from "./WebhookFields";
import { zoneChoices } from "./zones";

const kinds: readonly { id: When; label: string }[] = [
  { id: "at", label: "Once" },
  { id: "every", label: "Every" },
  { id: "days", label: "Days & times" },
  { id: "cron", label: "Cron" },
  { id: "event", label: "Event" },
  { id: "webhook", label: "Webhook" },
  { id: "manual", label: "Manual" },
];

/** What the engine says about the fields of the schedule as it stands. */
export type Said = ReadonlyMap<keyof JobForm, string>;

export const WhenSection = memo(function WhenSection({ said, jobId }: { said: Said; jobId?: string }) {
  const when = useBound("when");
  const remove = useBound("deleteAfterRun");
  return (
    <Section title="When" className={styles.section}>
      <div className={styles.fields}>
        <Segmented label="When it fires" options={kinds} value={when.value} onChange={when.onChange} className={styles.fit} />
        {when.value === "at" && <Once said={said} />}
        {when.value === "every" && <Every said={said} />}
        {when.value === "days" && (
          <>
            <DaysAndTimesFields />
            <CronText said={said} />
          </>
        )}
        {when.value === "cron" && <CronText said={said} alone />}
        {(when.value === "at" || when.value === "days" || when.value === "cron") && <Zone said={said} />}
        {when.value === "event" && <EventFields said={said} />}
        {when.value === "webhook" && <WebhookFields jobId={jobId} />}
        {when.value === "manual" && <p className={styles.hint}>It never fires by itself. Run it here, from the list of jobs, from the tray, or with the rouse command.</p>}
        <Switch isSelected={remove.value} onChange={remove.onChange} help="Its runs stay.">
          Delete the job after its first finished run
        </Switch>
      </div>
    </Section>
  );
});

const soon = [
  { label: "In 20 minutes", wall: (now: number, zone: string) => wallIn(20, now, zone) },
  { label: "In an hour", wall: (now: number, zone: string) => wallIn(60, now, zone) },
  { label: "In 3 hours", wall: (now: number, zone: string) => wallIn(180, now, zone) },
  { label: "Tomorrow at 09:00", wall: (now: number, zone: string) => tomorrowAt("09:00", now, zone) },
] as const;

function Once({ said }: { said: Said }) {
  const { error, ...at } = useBound("at");
  const zone = useBound("zone").value;
  return (
    <div className={styles.group}>
      <DateTimeField label="Day and time" {...at} error={error ?? said.get("at")} className={styles.whole} />
      <div className={styles.quick} role="group" aria-label="Soon">
        {soon.map(({ label, wall }) => (
          <Button key={label} small onPress={() => at.onChange(wall(Date.now(), zone))}>{label}</Button>
        ))}
      </div>
    </div>
  );
}

function Every({ said }: { said: Said }) {
  const every = useBound("every");
  return (
    <div>
      <div className={styles.pair}>
        <NumberOf name="every" label="Every" least={1} />
        <ChoiceOf name="everyUnit" label="Unit" choices={units} />
      </div>
      {every.error === undefined && <GroupFoot error={said.get("every")} />}
      <p className={styles.hint}>Counted from when the job was made. Editing it or running it by hand does not move it.</p>
    </div>
  );
}

function Zone({ said }: { said: Said }) {
  const { error, ...zone } = useBound("zone");
  const zones = useMemo(() => zoneChoices(zone.value), [zone.value]);
  return (
    <ComboBox
      label="Time zone"
      choices={zones}
      {...zone}
      error={error ?? said.get("zone")}
      help={foreignZone(zone.value) === undefined ? "The zone of this computer." : `This computer is in ${localZone().replaceAll("_", " ")}.`}
    />
  );
}
