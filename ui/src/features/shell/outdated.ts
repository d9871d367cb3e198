/* Whether a page broke because a part of the program, which is loaded when it is first needed, is not there any more. Each
   browser says that in words of its own, and none gives it a name. */

const words = [
  /^Failed to fetch dynamically imported module/,
  /^error loading dynamically imported module/,
  /^Importing a module script failed/,
  /^Unable to preload CSS/,
];

export function isOutdated({ message }: Error): boolean {
  return words.some((one) => one.test(message));
}
