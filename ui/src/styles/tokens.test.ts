// @vitest-environment node
/* Contrast of the tokens, light and dark: text 4.5:1 on every surface, glyphs and edges of fields 3:1. Sizes in code match the style sheets. */

import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { narrowWidth, rowHeight, rowHeightOfTwo } from "@/components/sizes";

const css = readFileSync(new URL("./tokens.css", import.meta.url), "utf8");

type Rgba = readonly [r: number, g: number, b: number, alpha: number];
type Scheme = "light" | "dark";

function token(name: string, scheme: Scheme): Rgba {
  const value = new RegExp(`--${name}: (.*);`).exec(css)?.[1];
  if (value === undefined) throw new Error(`no token --${name}`);
  const colours = [...value.matchAll(/oklch\(([^)]*)\)/g)].map((match) => fromOklch(match[1] ?? ""));
  const colour = colours[scheme === "light" ? 0 : colours.length - 1];
  if (!colour) throw new Error(`--${name} is no colour`);
  return colour;
}

/** OKLCH to linear sRGB, by CSS Color 4. */
function fromOklch(text: string): Rgba {
  const [l = 0, c = 0, h = 0, alpha = 1] = text.split(/[\s/]+/).map(Number);
  const [a, b] = [c * Math.cos((h * Math.PI) / 180), c * Math.sin((h * Math.PI) / 180)];
  const [x, y, z] = [
    (l + 0.3963377774 * a + 0.2158037573 * b) ** 3,
    (l - 0.1055613458 * a - 0.0638541728 * b) ** 3,
    (l - 0.0894841775 * a - 1.291485548 * b) ** 3,
  ];
  const clip = (value: number) => Math.max(0, Math.min(1, value));
  return [
    clip(4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z),
    clip(-1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z),
    clip(-0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z),
    alpha,
  ];
}

/** Mixes in gamma space, as browsers composite. */
function over(top: Rgba, bottom: Rgba): Rgba {
  const encode = (v: number) => (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055);
  const decode = (v: number) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const mix = (i: 0 | 1 | 2) => decode(encode(top[i]) * top[3] + encode(bottom[i]) * (1 - top[3]));
  return [mix(0), mix(1), mix(2), 1];
}

function contrast(a: Rgba, b: Rgba): number {
  const [bright = 0, dark = 0] = [a, b]
    .map(([r, g, bl]) => 0.2126 * r + 0.7152 * g + 0.0722 * bl)
    .sort((x, y) => y - x);
  return (bright + 0.05) / (dark + 0.05);
}

/** Surface with overlays. */
function surface(path: string, scheme: Scheme): Rgba {
  const [base = "", ...layers] = path.split(" + ");
  return layers.reduce((below, layer) => over(token(layer, scheme), below), token(base, scheme));
}

const surfaces = [
  "bg",
  "bg-rail",
  "bg-raised",
  "bg-sunken",
  "bg + bg-hover",
  "bg + bg-active",
  "bg-raised + bg-active",
  "bg-rail + bg-active",
];
const texts = ["text", "text-2", "accent-text"];
const pairs: [ink: string, ground: string, least: number][] = [
  ...texts.flatMap((ink) => surfaces.map((ground): [string, string, number] => [ink, ground, 4.5])),
  ...["text-3", "good", "bad", "calm"].flatMap((ink) =>
    ["bg", "bg-raised", "bg-field", "bg + bg-hover"].map((ground): [string, string, number] => [ink, ground, 4.5]),
  ),
  ["on-accent", "accent-fill", 4.5],
  ["on-accent", "accent-fill-hover", 4.5],
  ["accent-text", "bg + accent-soft", 4.5],
  ["text", "bg + bad-soft", 4.5],
  ["text-2", "bg + bad-soft", 4.5],
  ["bad", "bg + bad-soft", 4.5],
  ["accent", "bg", 3],
  ["accent", "bg-rail + bg-active", 3],
  ["focus", "bg", 3],
  ["focus", "bg-raised", 3],
  ["line-strong", "bg-field", 3],
  ["line-strong", "bg-sunken", 3],
  ["bg", "accent", 3],
];

test.each(
  pairs.flatMap(([ink, ground, least]) =>
    (["light", "dark"] as const).map((scheme) => [ink, ground, scheme, least] as const),
  ),
)("--%s on --%s, %s", (ink, ground, scheme, least) => {
  const below = surface(ground, scheme);
  expect(contrast(over(token(ink, scheme), below), below)).toBeGreaterThanOrEqual(least);
});

test("sizes in code match the style sheets", () => {
  const size = (name: string) => new RegExp(`--${name}: (\\d+)px;`).exec(css)?.[1];
  const ofRun = readFileSync(new URL("../domain/RunRow.module.css", import.meta.url), "utf8");
  const narrowed = /@media \(max-width: (\d+)px\) \{(?:(?!@media)[^])*--row-two/.exec(ofRun)?.[1];
  expect([size("row"), size("row-two"), narrowed].map(Number)).toEqual([rowHeight, rowHeightOfTwo, narrowWidth]);
});
