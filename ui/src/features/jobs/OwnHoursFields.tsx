/* Quiet hours of a job's own: from when until when, on which nights, and by which clock. Over midnight a night belongs to
   the day on which it begins. */

import { useMemo } from "react";

import { ChipSet } from "@/components/Choice";
import { TimeField } from "@/components/DateTime";
import { ComboBox, GroupFoot } from "@/components/Field";

import { useBound } from "./bound";
import styles from "./Editor.module.css";
import { zoneChoices } from "./zones";

/** 5 January 1970 was a Monday. */
const mondayMs = Date.UTC(1970, 0, 5);
const weekdayName = new Intl.DateTimeFormat(undefined, { weekday: "short", timeZone: "UTC" });
const nights = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].map((id, day) => ({ id, label: weekdayName.format(mondayMs + day * 86_400_000) }));

export function OwnHoursFields() {
  const from = useBound("quietFrom");
  const to = useBound("quietTo");
  const days = useBound("quietDays");
  const { value: zone, ...zoneField } = useBound("quietZone");
  const zones = useMemo(() => [{ id: "", label: "This computer’s" }, ...zoneChoices(zone)], [zone]);
  return (
    <>
      <div className={styles.pair}>
        <TimeField label="Quiet from" {...from} />
        <TimeField label="Quiet until" {...to} />
      </div>
      <div className={styles.group}>
        <span className={styles.label} aria-hidden>Quiet nights</span>
        <ChipSet label="Quiet nights" options={nights} value={days.value} onChange={days.onChange} />
        <p className={styles.hint}>{days.value.length === 0 ? "Every night. Choose some to have only nights that begin on them." : "Nights that begin on these days."}</p>
        <GroupFoot error={days.error} warning={days.warning} />
      </div>
      <ComboBox label="Zone of the quiet hours" choices={zones} value={zone} {...zoneField} />
    </>
  );
}
