/* Sizes shared with the style sheets; tokens.test.ts compares both. */

/** `--row` and `--row-two`. */
export const rowHeight = 40;
export const rowHeightOfTwo = 56;

/** Up to this width a run row has two lines. */
export const narrowWidth = 520;
