import { expect, test } from "vitest";

import { bytes, count, duration, durationWords, money, plural } from "./amount";

test.each([
  [-5, "0 ms"],
  [12.4, "12 ms"],
  [999, "999 ms"],
  [4_000, "4 s"],
  [4_230, "4.2 s"],
  [9_960, "10 s"],
  [59_600, "1 min"],
  [200_000, "3 min 20 s"],
  [3_600_000, "1 h"],
  [7_500_000, "2 h 5 min"],
  [86_400_000 * 3 + 3_600_000 * 4, "3 d 4 h"],
])("%d ms is %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test.each([
  [1, "1 byte"],
  [999, "999 bytes"],
  [12_400, "12.4 kB"],
  [3_000_000, "3 MB"],
  [512_000_000, "512 MB"],
  [1_200_000_000, "1.2 GB"],
])("%i bytes are %s", (n, text) => {
  expect(bytes(n)).toBe(text);
});

test.each([
  [60_000, "1 minute"],
  [90_000, "90 seconds"],
  [2_700_000, "45 minutes"],
  [86_400_000, "1 day"],
  [1_500, "1500 milliseconds"],
])("%i ms in words is %s", (ms, words) => {
  expect(durationWords(ms)).toBe(words);
});

test.each([
  [null, "unknown"],
  [undefined, "unknown"],
  [0, "$0"],
  [50, "< $0.0001"],
  [1_234, "$0.0012"],
  [68_400, "$0.068"],
  [12_345_678, "$12.35"],
])("%s micro-dollars are %s", (amount, text) => {
  expect(money(amount)).toBe(text);
});

test.each([
  [842, "842"],
  [12_400, "12.4k"],
  [2_000, "2k"],
  [99_960, "100k"],
  [3_100_000, "3.1M"],
])("%i is counted as %s", (n, text) => {
  expect(count(n)).toBe(text);
});

test("singular has no plural ending", () => {
  expect(plural(1, "run")).toBe("1 run");
  expect(plural(0, "run")).toBe("0 runs");
});
