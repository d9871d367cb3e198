import { expect, test } from "vitest";

import { cronExpression, parseDaysAndTimes } from "./daysAndTimes";

const weekdays = ["1", "2", "3", "4", "5"];
const everyDay = [...weekdays, "6", "0"];

test.each([
  ["30 7 * * 1-5", { of: "week", days: weekdays, times: ["07:30"] }],
  ["30 7 * * MON-FRI", { of: "week", days: weekdays, times: ["07:30"] }],
  ["0 9 * * *", { of: "week", days: everyDay, times: ["09:00"] }],
  ["0 9 ? * 7", { of: "week", days: ["0"], times: ["09:00"] }],
  ["0 9 * * sat,sun", { of: "week", days: ["6", "0"], times: ["09:00"] }],
  ["0 30 7 * * 1", { of: "week", days: ["1"], times: ["07:30"] }],
  ["0,30 8,12 * * 1", { of: "week", days: ["1"], times: ["08:00", "08:30", "12:00", "12:30"] }],
  ["15 10 1,15 * *", { of: "month", days: ["1", "15"], times: ["10:15"] }],
  ["0 18 L * *", { of: "month", days: ["L"], times: ["18:00"] }],
  ["@daily", { of: "week", days: everyDay, times: ["00:00"] }],
  ["@monthly", { of: "month", days: ["1"], times: ["00:00"] }],
])("%s has days and times", (expr, days) => {
  expect(parseDaysAndTimes(expr)).toEqual(days);
});

test.each([
  ["*/15 * * * *", "follows the clock"],
  ["0 * * * *", "is every hour"],
  ["0 8-20 * * *", "has more times than fit"],
  ["30 0 7 * * 1", "has seconds"],
  ["0 9 1 * 1", "mixes days of month and week"],
  ["0 9 * 6 *", "has a month"],
  ["0 9 15W * *", "has a nearest workday"],
  ["0 9 * * FRI#2", "has a second Friday"],
  ["0 9 32 * *", "has a day that is none"],
  ["0 25 * * *", "has an hour that is none"],
  ["0 9 * *", "has four fields"],
  ["@yearly", "has a month"],
  ["", "is empty"],
])("%j stays a cron expression: %s", (expr) => {
  expect(parseDaysAndTimes(expr)).toBeUndefined();
});

test.each([
  "30 7 * * 1-5",
  "0 9 * * *",
  "0 9 * * 0,6",
  "0,30 8,12 * * 1,3",
  "15 10 1,15 * *",
  "0 18 1-3,L * *",
  "5 8-10 * * 1-3,5",
])("%s survives a round trip", (expr) => {
  const days = parseDaysAndTimes(expr);
  expect(days && cronExpression(days)).toEqual({ expr });
});

test("times with different minutes need several expressions", () => {
  expect(cronExpression({ of: "week", days: everyDay, times: ["12:30", "07:30"] })).toEqual({ expr: "30 7,12 * * *" });
  expect(cronExpression({ of: "week", days: everyDay, times: ["07:30", "12:15"] })).toHaveProperty("problem");
});

test("missing days and times return a problem", () => {
  expect(cronExpression({ of: "week", days: [], times: ["07:30"] })).toEqual({ problem: "Choose at least one day." });
  expect(cronExpression({ of: "week", days: ["1"], times: [""] })).toHaveProperty("problem");
});
