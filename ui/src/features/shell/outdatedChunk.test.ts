import { expect, test } from "vitest";

import { isOutdated } from "./outdatedChunk";

test.each([
  ["Failed to fetch dynamically imported module: http://127.0.0.1:7717/assets/RunPage-x.js", true],
  ["error loading dynamically imported module: http://127.0.0.1:7717/assets/RunPage-x.js", true],
  ["Importing a module script failed.", true],
  ["Unable to preload CSS for http://127.0.0.1:7717/assets/RunPage-x.css", true],
  ["Cannot read properties of undefined", false],
])("%s: %j", (message, outdated) => {
  expect(isOutdated(new Error(message))).toBe(outdated);
});
