// npm node-schedule. Patterns are parsed by cron-parser; this measures the calls of node-schedule.
import cronParser from "cron-parser";
import CronDate from "cron-parser/lib/date.js";
import schedule from "node-schedule";
import { drive } from "./drive.mjs";

await drive(
  {
    every: (handler) => schedule.scheduleJob("* * * * * *", handler),
    at: (date, handler) => schedule.scheduleJob(date, handler),
    parse: (text, tz) => cronParser.parseExpression(text, { tz }),
    instants: (dates, tz) => dates.map((date) => new CronDate(date, tz)),
    next: (pattern, date) => {
      pattern.reset(date);
      return pattern.next();
    },
  },
  "node-schedule",
);
