import { expect, test } from "vitest";

import { listsWith, listsWithout } from "./defaultLists";

const none = { deliverTo: null, deliverFailuresTo: null, deliverApprovalsTo: null };

test("new channel joins each written list", () => {
  expect(listsWith({ written: none, isHeadless: false }, ["phone"])).toEqual({ deliverTo: ["notification", "phone"] });
  expect(listsWith({ written: none, isHeadless: true }, ["phone"])).toEqual({});
  const written = { deliverTo: ["mail"], deliverFailuresTo: ["phone"], deliverApprovalsTo: null };
  expect(listsWith({ written, isHeadless: true }, ["phone"])).toEqual({ deliverTo: ["mail", "phone"] });
});

test("removed channel leaves each written list", () => {
  const written = {
    deliverTo: ["notification", "phone:7"],
    deliverFailuresTo: ["phone"],
    deliverApprovalsTo: ["mail"],
  };
  const patch = listsWithout({ written, isHeadless: false }, (target) => target.startsWith("phone"));
  expect(patch).toEqual({ deliverTo: ["notification"], deliverFailuresTo: null });
});
