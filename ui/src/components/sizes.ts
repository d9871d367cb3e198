/* Sizes that code must know as well as the style sheets. tokens.test.ts holds both to be the same. */

/** How high a row of a long list is, on one line and on two: `--row` and `--row-two`. */
export const rowHeight = 40;
export const rowHeightOfTwo = 56;

/** Up to this width a window is as narrow as a phone, and a run has two lines. */
export const narrowWidth = 520;
