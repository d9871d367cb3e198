import { expect, test } from "vitest";

import { aRun } from "@/test/fixtures";

import { mergeRuns } from "./runs";

const many = (from: number, count: number) => Array.from({ length: count }, (_, i) => aRun({ id: `r${from + i}` }));
const ids = (runs: { id: string }[] | undefined) => runs?.map((run) => run.id);

test("newest page replaces duplicates in older ones", () => {
  const head = [aRun({ id: "new" }), aRun({ id: "r0", state: "failed" })];
  const merged = mergeRuns(head, [aRun({ id: "r0", state: "running" }), aRun({ id: "r1" })]);
  expect(ids(merged)).toEqual(["new", "r0", "r1"]);
  expect(merged?.[1]?.state).toBe("failed");
});

test("pages without overlap do not merge", () => {
  expect(mergeRuns(many(0, 50), many(60, 200))).toBeUndefined();
  expect(ids(mergeRuns(many(0, 50), many(49, 200)))).toHaveLength(249);
});

test("short newest page merges with any older one", () => {
  expect(ids(mergeRuns([aRun({ id: "only" })], []))).toEqual(["only"]);
});

test("newest page shows until older pages load", () => {
  expect(ids(mergeRuns(many(0, 50), undefined))).toHaveLength(50);
  expect(mergeRuns(undefined, many(0, 3))).toBeUndefined();
});
