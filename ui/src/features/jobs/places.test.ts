import { expect, test } from "vitest";

import { aJob } from "@/test/fixtures";

import { placed } from "./places";

const list = (names: string, off = "") => Array.from(names, (id) => aJob({ id, enabled: !off.includes(id) }));
const opened = (names: string) => ({ from: list(names), shown: list(names), held: new Set<string>() });
const shown = (places: ReturnType<typeof placed>) => places.shown.map(({ job }) => job.id).join("");

test.each([
  ["a paused job stays though the engine puts it last", "abcd", "acdb", "b", "abcd"],
  ["the first one stays the first", "abcd", "bcda", "a", "abcd"],
  ["two of them stay, beside each other as well", "abcde", "adebc", "bc", "abcde"],
  ["what has fired moves, and what is paused does not go with it", "abcd", "cdab", "b", "cbda"],
  ["one that is gone above takes no place", "abcd", "bdc", "c", "bcd"],
  ["a new one above pushes both down", "abcd", "nacdb", "b", "nabcd"],
])("%s", (_, before, now, off, after) => {
  expect(shown(placed(opened(before), list(now, off)))).toBe(after);
});

test("a job that is paused and resumed stands where it stood all the time, and the order is the engine's while nothing is", () => {
  const paused = placed(opened("abcd"), list("acdb", "b"));
  const resumed = placed(paused, list("abcd"));
  expect([shown(paused), shown(resumed)]).toEqual(["abcd", "abcd"]);
  expect(shown(placed(resumed, list("cdba")))).toBe("cbda");
  expect(shown(placed(opened("abcd"), list("dcba")))).toBe("dcba");
});

test("a job that is paused, deleted and brought back is in the list again, where the engine has it", () => {
  const paused = placed(opened("abcd"), list("acdb", "b"));
  const deleted = placed(paused, list("acd"));
  expect(shown(deleted)).toBe("acd");
  expect(shown(placed(deleted, list("acdb", "b")))).toBe("acdb");
});
