/* Cron expression as text. */

import { TextField } from "@/components/Field";

import { useJobField, useJobForm } from "./jobFields";
import type { ScheduleErrors } from "@/features/jobs/form/fieldPaths";

export function CronField({ scheduleErrors }: { scheduleErrors: ScheduleErrors }) {
  const { onChange, error, ...expr } = useJobField("expr");
  const { setValue } = useJobForm();
  const change = (text: string) => {
    setValue("days", null);
    onChange(text);
  };
  return (
    <TextField
      mono
      label="Cron expression"
      {...expr}
      onChange={change}
      error={error ?? scheduleErrors.get("expr")}
      help="Minute, hour, day of month, month, day of week. Seconds may come first. Shortcuts such as @daily work too."
      placeholder="30 7 * * 1-5"
      spellCheck="false"
      autoComplete="off"
    />
  );
}
