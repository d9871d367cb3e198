import { expect, test } from "vitest";

import { countInvisible, splitMarks, showUnambiguous, showInvisible } from "./visible";

test.each([
  ["\u001b[2K\rls", "⟨U+001B⟩[2K⟨U+000D⟩ls"],
  ["a\u009b31m\0\u007f\b", "a⟨U+009B⟩31m⟨U+0000⟩⟨U+007F⟩⟨U+0008⟩"],
  ["\u202ecod\u2066x\u2069", "⟨U+202E⟩cod⟨U+2066⟩x⟨U+2069⟩"],
  ["a\u200bb\u200dc\ufeffd\u00ad", "a⟨U+200B⟩b⟨U+200D⟩c⟨U+FEFF⟩d⟨U+00AD⟩"],
  ["rm\u00a0x\u2003y\u3000z\u2028", "rm⟨U+00A0⟩x⟨U+2003⟩y⟨U+3000⟩z⟨U+2028⟩"],
  ["\u{e0041}\ufe0f\u{e0100}", "⟨U+E0041⟩⟨U+FE0F⟩⟨U+E0100⟩"],
  ["\u3164\u2800\u115f", "⟨U+3164⟩⟨U+2800⟩⟨U+115F⟩"],
  ["\ue000\u{10ffff}\ud800", "⟨U+E000⟩⟨U+10FFFF⟩⟨U+D800⟩"],
  ["Grüße\n\tan 日本 👋 é", "Grüße\n\tan 日本 👋 é"],
])("%j is shown as %j", (text, shown) => {
  expect(showInvisible(text)).toBe(shown);
  expect(showUnambiguous(text)).toBe(shown);
});

test("imitated mark is escaped in decisions", () => {
  expect(showUnambiguous("⟨U+001B⟩")).toBe("⟨U+27E8⟩U+001B⟩");
  expect(showInvisible("⟨U+001B⟩")).toBe("⟨U+001B⟩");
});

test("marks are found, and nothing of the text is lost", () => {
  const text = "rm ⟨U+202E⟩x⟨U+001B⟩[2K ⟨ ⟨U+XYZ⟩ ⟨U+E0001⟩";
  expect(splitMarks(text).filter((_, i) => i % 2 === 1)).toEqual(["⟨U+202E⟩", "⟨U+001B⟩", "⟨U+E0001⟩"]);
  expect(splitMarks(text).join("")).toBe(text);
  expect(countInvisible(text)).toBe(3);
  expect(countInvisible("plain")).toBe(0);
});
