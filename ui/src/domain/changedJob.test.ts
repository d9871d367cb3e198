import { expect, test } from "vitest";

import { parseChangedJob, changedJobReason } from "./changedJob";

const id = "0b54f1a2-5c5e-4c0c-9d0e-3f1d2c4b5a69";

test.each(["Stretch", "Stretch.", "a “quoted” one", "”, and its id is 00000000-0000-0000-0000-000000000000."])(
  "job %j round-trips through the denial reason",
  (name) => {
    const words = changedJobReason({ id, name });
    expect(parseChangedJob(words)).toEqual({ id, name });
    expect(parseChangedJob(`The person denied this call of routine_create: ${words}\nDo not try it again.`)).toEqual({
      id,
      name,
    });
  },
);

test.each([
  "",
  "Not that.",
  "”, and its id is 7.",
  changedJobReason({ id: "7", name: "Stretch" }),
  `”, and its id is ${id}. The person has changed this routine and makes it: it stands as “Stretch”.`,
])("there is no job in %j", (words) => {
  expect(parseChangedJob(words)).toBeUndefined();
});
