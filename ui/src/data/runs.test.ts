import { expect, test } from "vitest";

import { aRun } from "@/test/fixtures";

import { mergeRuns } from "./runs";

const many = (from: number, count: number) => Array.from({ length: count }, (_, i) => aRun({ id: `r${from + i}` }));
const ids = (runs: { id: string }[] | undefined) => runs?.map((run) => run.id);

test("the newest page lies over the older ones, without doubles, with its newer rows", () => {
  const head = [aRun({ id: "new" }), aRun({ id: "r0", state: "failed" })];
  const merged = mergeRuns(head, [aRun({ id: "r0", state: "running" }), aRun({ id: "r1" })]);
  expect(ids(merged)).toEqual(["new", "r0", "r1"]);
  expect(merged?.[1]?.state).toBe("failed");
});

test("pages that do not touch are not joined: what is between them is unknown", () => {
  expect(mergeRuns(many(0, 50), many(60, 200))).toBeUndefined();
  expect(ids(mergeRuns(many(0, 50), many(49, 200)))).toHaveLength(249);
});

test("a short newest page is all there is, so an older one cannot be torn off", () => {
  expect(ids(mergeRuns([aRun({ id: "only" })], []))).toEqual(["only"]);
});

test("until the older pages are there, the newest one is shown", () => {
  expect(ids(mergeRuns(many(0, 50), undefined))).toHaveLength(50);
  expect(mergeRuns(undefined, many(0, 3))).toBeUndefined();
});
