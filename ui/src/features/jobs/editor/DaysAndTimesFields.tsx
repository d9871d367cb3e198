/* Days and times of day. A selection without a cron expression is kept with an error, but not saved. */

import { Plus, X } from "lucide-react";

import { Button, IconButton } from "@/components/Button";
import { ChipSet, Segmented } from "@/components/Choice";
import { TimeField } from "@/components/DateTime";
import { GroupFoot } from "@/components/Field";
import { Notice } from "@/components/Notice";

import { useJobField, useJobForm } from "./jobFields";
import {
  cronExpression,
  type DaysAndTimes,
  parseDaysAndTimes,
  monthDays,
  weekdays,
} from "@/features/jobs/form/daysAndTimes";
import styles from "./JobEditor.module.css";

const blank: DaysAndTimes = { of: "week", days: [], times: ["09:00"] };
/** 4 January 1970, a Sunday: cron's day 0. */
const sundayMs = Date.UTC(1970, 0, 4);
const weekdayName = new Intl.DateTimeFormat(undefined, { weekday: "short", timeZone: "UTC" });
const dayOptions = weekdays.map((id) => ({ id, label: weekdayName.format(sundayMs + Number(id) * 86_400_000) }));
const monthOptions = monthDays.map((id) => ({ id, label: id === "L" ? "Last" : id }));

export function DaysAndTimesFields() {
  const expr = useJobField("expr");
  const pending = useJobField("days");
  const { clearErrors } = useJobForm();
  const read = pending.value ?? parseDaysAndTimes(expr.value);
  const shown = read ?? blank;
  const problem = pending.value ? problemOf(pending.value) : undefined;

  const set = (next: DaysAndTimes) => {
    clearErrors(["days", "expr"]);
    const made = cronExpression(next);
    pending.onChange("expr" in made ? null : next);
    if ("expr" in made) expr.onChange(made.expr);
  };
  return (
    <>
      {!read && (
        <Notice>The cron expression below cannot be shown as days and times. Choosing days here replaces it.</Notice>
      )}
      <div className={styles.group}>
        <Segmented
          label="Day pattern"
          options={[
            { id: "week", label: "Weekly" },
            { id: "month", label: "Monthly" },
          ]}
          value={shown.of}
          onChange={(of) => set({ ...shown, of, days: of === "week" ? ["1", "2", "3", "4", "5"] : ["1"] })}
        />
        {shown.of === "week" ? (
          <ChipSet
            label="Days of the week"
            options={dayOptions}
            value={shown.days as (typeof weekdays)[number][]}
            onChange={(days) => set({ ...shown, days })}
          />
        ) : (
          <ChipSet
            label="Days of the month"
            options={monthOptions}
            value={shown.days}
            onChange={(days) => set({ ...shown, days })}
            className={styles.month}
          />
        )}
      </div>
      <div role="group" aria-label="Times of day">
        <span className={styles.label} aria-hidden>
          {shown.times.length === 1 ? "Time of day" : "Times of day"}
        </span>
        <div className={styles.times}>
          {shown.times.map((time, i) => (
            <div key={i} className={styles.time}>
              <TimeField
                label={shown.times.length === 1 ? "Time of day" : `Time of day ${i + 1}`}
                labelHidden
                value={time}
                onChange={(next) => set({ ...shown, times: shown.times.with(i, next) })}
              />
              {shown.times.length > 1 && (
                <IconButton
                  small
                  icon={X}
                  label={`Remove ${time || "this time"}`}
                  onPress={() => set({ ...shown, times: shown.times.toSpliced(i, 1) })}
                />
              )}
            </div>
          ))}
          <Button
            small
            look="ghost"
            icon={Plus}
            onPress={() => set({ ...shown, times: [...shown.times, nextFreeTime(shown.times)] })}
          >
            Add a time
          </Button>
        </div>
        <GroupFoot error={problem} />
      </div>
    </>
  );
}

function problemOf(days: DaysAndTimes): string | undefined {
  const made = cronExpression(days);
  return "problem" in made ? made.problem : undefined;
}

/** A later hour with the same minute, so that a single expression holds both. */
function nextFreeTime(times: readonly string[]): string {
  const [hour = 9, minute = 0] = (times.at(-1) ?? "09:00").split(":").map(Number);
  const free = Array.from(
    { length: 24 },
    (_, i) => `${String((hour + 4 + i) % 24).padStart(2, "0")}:${String(minute).padStart(2, "0")}`,
  );
  return free.find((time) => !times.includes(time)) ?? "09:00";
}
