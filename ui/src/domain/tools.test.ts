import { expect, test } from "vitest";

import { firstSentence, forPeople } from "./tools";

test.each([
  ["Writes a text file, at most 1048576 bytes. It replaces what is there.", "Writes a text file, at most 1 MB. It replaces what is there."],
  ["At most 262144 bytes and 30 seconds.", "At most 262 kB and 30 seconds."],
  ["At most 400 bytes of 12 files.", "At most 400 bytes of 12 files."],
])("sizes in %j are said as a person says them", (written, said) => {
  expect(forPeople(written)).toBe(said);
});

test("the first sentence does not end within a size", () => {
  expect(firstSentence("At most 262144 bytes at once. More is cut.")).toBe("At most 262 kB at once.");
});
