/* The cron pattern as text. */

import { TextField } from "@/components/Field";

import { useBound, useJobForm } from "./bound";
import type { Said } from "./WhenSection";

export function CronText({ said, alone }: { said: Said; alone?: boolean }) {
  const { onChange, error, ...expr } = useBound("expr");
  const { setValue } = useJobForm();
  const change = (text: string) => {
    setValue("days", null);
    onChange(text);
  };
  return (
    <TextField
      mono
      label={alone ? "Cron pattern" : "The same as a cron pattern"}
      {...expr}
      onChange={change}
      error={error ?? said.get("expr")}
      help="Minute, hour, day of month, month, day of week; seconds may stand first. @daily and its like work too."
      placeholder="30 7 * * 1-5"
      spellCheck="false"
      autoComplete="off"
    />
  );
}
