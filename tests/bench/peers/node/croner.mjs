// npm croner. Jobs and patterns are both `Cron` objects.
import { Cron } from "croner";
import { drive } from "./drive.mjs";

await drive(
  {
    every: (handler) => new Cron("* * * * * *", handler),
    at: (date, handler) => new Cron(date, handler),
    parse: (text, timezone) => new Cron(text, { timezone }),
    instants: (dates) => dates,
    next: (pattern, date) => pattern.nextRun(date),
  },
  "croner",
);
