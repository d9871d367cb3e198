import { expect, test } from "vitest";

import { aJob } from "@/test/fixtures";

import { nextOrder } from "./rowOrder";

const list = (names: string, off = "") => Array.from(names, (id) => aJob({ id, enabled: !off.includes(id) }));
const opened = (names: string) => ({ from: list(names), shown: list(names), held: new Set<string>() });
const shown = (places: ReturnType<typeof nextOrder>) => places.shown.map(({ job }) => job.id).join("");

test.each([
  ["a paused job stays though the engine puts it last", "abcd", "acdb", "b", "abcd"],
  ["the first one stays the first", "abcd", "bcda", "a", "abcd"],
  ["two of them stay, beside each other as well", "abcde", "adebc", "bc", "abcde"],
  ["what has fired moves, and what is paused does not go with it", "abcd", "cdab", "b", "cbda"],
  ["one that is gone above takes no place", "abcd", "bdc", "c", "bcd"],
  ["a new one above pushes both down", "abcd", "nacdb", "b", "nabcd"],
])("%s", (_, before, now, off, after) => {
  expect(shown(nextOrder(opened(before), list(now, off)))).toBe(after);
});

test("paused and resumed job keeps its row", () => {
  const paused = nextOrder(opened("abcd"), list("acdb", "b"));
  const resumed = nextOrder(paused, list("abcd"));
  expect([shown(paused), shown(resumed)]).toEqual(["abcd", "abcd"]);
  expect(shown(nextOrder(resumed, list("cdba")))).toBe("cbda");
  expect(shown(nextOrder(opened("abcd"), list("dcba")))).toBe("dcba");
});

test("deleted and restored job takes the engine's position", () => {
  const paused = nextOrder(opened("abcd"), list("acdb", "b"));
  const deleted = nextOrder(paused, list("acd"));
  expect(shown(deleted)).toBe("acd");
  expect(shown(nextOrder(deleted, list("acdb", "b")))).toBe("acdb");
});
