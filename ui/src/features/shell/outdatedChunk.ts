/* Recognizes a failed chunk import by the browsers' error messages. */

const words = [
  /^Failed to fetch dynamically imported module/,
  /^error loading dynamically imported module/,
  /^Importing a module script failed/,
  /^Unable to preload CSS/,
];

export function isOutdated({ message }: Error): boolean {
  return words.some((one) => one.test(message));
}
