/* Trigger. Days and times are a view of the cron expression, editable on both sides. */

import { memo, useMemo } from "react";

import { Button } from "@/components/Button";
import { Segmented, Switch } from "@/components/Choice";
import { DateTimeField } from "@/components/DateTime";
import { ComboBox, GroupFoot } from "@/components/Field";
import { Section } from "@/components/Page";
import { otherZoneName, localZone } from "@/format/time";
import { tomorrowAt, wallTimeIn } from "@/format/wall";

import { JobSelect, JobNumberField, durationUnits, useJobField } from "./jobFields";
import { DaysAndTimesFields } from "./DaysAndTimesFields";
import type { ScheduleErrors } from "@/features/jobs/form/fieldPaths";
import styles from "./JobEditor.module.css";
import type { TriggerKind } from "@/features/jobs/form/jobForm";
import { CronField } from "./CronField";
import { EventFields } from "./EventFields";
import { WebhookFields } from "./WebhookFields";
import { timeZoneChoices } from "./timeZones";

const kinds: readonly { id: TriggerKind; label: string }[] = [
  { id: "at", label: "Once" },
  { id: "every", label: "Every" },
  { id: "days", label: "Days & times" },
  { id: "cron", label: "Cron" },
  { id: "event", label: "Event" },
  { id: "webhook", label: "Webhook" },
  { id: "manual", label: "Manual" },
];

export const WhenSection = memo(function WhenSection({
  scheduleErrors,
  jobId,
}: {
  scheduleErrors: ScheduleErrors;
  jobId?: string;
}) {
  const when = useJobField("when");
  const remove = useJobField("deleteAfterRun");
  return (
    <Section title="When" className={styles.section}>
      <div className={styles.fields}>
        <Segmented
          label="When it fires"
          options={kinds}
          value={when.value}
          onChange={when.onChange}
          className={styles.fit}
        />
        {when.value === "at" && <OneTimeFields scheduleErrors={scheduleErrors} />}
        {when.value === "every" && <IntervalFields scheduleErrors={scheduleErrors} />}
        {when.value === "days" && (
          <>
            <DaysAndTimesFields />
            <CronField scheduleErrors={scheduleErrors} />
          </>
        )}
        {when.value === "cron" && <CronField scheduleErrors={scheduleErrors} />}
        {(when.value === "at" || when.value === "days" || when.value === "cron") && (
          <TimeZoneField scheduleErrors={scheduleErrors} />
        )}
        {when.value === "event" && <EventFields scheduleErrors={scheduleErrors} />}
        {when.value === "webhook" && <WebhookFields jobId={jobId} />}
        {when.value === "manual" && (
          <p className={styles.hint}>
            Runs only when you start it: here, in Jobs, from the tray, or with the rouse command.
          </p>
        )}
        <Switch isSelected={remove.value} onChange={remove.onChange} help="Its run history is kept.">
          Delete after run
        </Switch>
      </div>
    </Section>
  );
});

const quickTimes = [
  { label: "In 20 minutes", wall: (now: number, zone: string) => wallTimeIn(20, now, zone) },
  { label: "In an hour", wall: (now: number, zone: string) => wallTimeIn(60, now, zone) },
  { label: "In 3 hours", wall: (now: number, zone: string) => wallTimeIn(180, now, zone) },
  { label: "Tomorrow at 09:00", wall: (now: number, zone: string) => tomorrowAt("09:00", now, zone) },
] as const;

function OneTimeFields({ scheduleErrors }: { scheduleErrors: ScheduleErrors }) {
  const { error, ...at } = useJobField("at");
  const zone = useJobField("zone").value;
  return (
    <div className={styles.group}>
      <DateTimeField label="Date and time" {...at} error={error ?? scheduleErrors.get("at")} className={styles.whole} />
      <div className={styles.quick} role="group" aria-label="Quick choices">
        {quickTimes.map(({ label, wall }) => (
          <Button key={label} small onPress={() => at.onChange(wall(Date.now(), zone))}>
            {label}
          </Button>
        ))}
      </div>
    </div>
  );
}

function IntervalFields({ scheduleErrors }: { scheduleErrors: ScheduleErrors }) {
  const every = useJobField("every");
  return (
    <div>
      <div className={styles.pair}>
        <JobNumberField name="every" label="Every" least={1} />
        <JobSelect name="everyUnit" label="Unit" choices={durationUnits} />
      </div>
      {every.error === undefined && <GroupFoot error={scheduleErrors.get("every")} />}
      <p className={styles.hint}>Counted from the job’s creation. Edits and manual runs do not shift it.</p>
    </div>
  );
}

function TimeZoneField({ scheduleErrors }: { scheduleErrors: ScheduleErrors }) {
  const { error, ...zone } = useJobField("zone");
  const zones = useMemo(() => timeZoneChoices(zone.value), [zone.value]);
  return (
    <ComboBox
      label="Time zone"
      choices={zones}
      {...zone}
      error={error ?? scheduleErrors.get("zone")}
      help={
        otherZoneName(zone.value) === undefined
          ? "This computer’s time zone."
          : `This computer uses ${localZone().replaceAll("_", " ")}.`
      }
    />
  );
}
