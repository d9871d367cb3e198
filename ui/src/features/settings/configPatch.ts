/* Dotted setting names: patch, override and error. */

import { toSentence } from "@/format/text";
import { fieldErrors, type ConfigView } from "@/platform";

/** `("cron.enabled", false)` → `{cron: {enabled: false}}`. */
export function settingPatch(key: string, value: unknown): Record<string, unknown> {
  const patch = key.split(".").reduceRight<unknown>((inner, part) => ({ [part]: inner }), value);
  return patch as Record<string, unknown>;
}

/** Environment variable that overrides a setting. */
export function overridingVariable(config: ConfigView, key: string): string | undefined {
  return config.overridden.find((one) => one.key === key)?.variable;
}

/** Error of a setting as a sentence. */
export function settingError(key: string, error: unknown): string {
  const complaint = fieldErrors(error).find(
    ({ path }) => path === key || key.startsWith(`${path}.`) || path.startsWith(key),
  );
  return toSentence(complaint?.message ?? (error instanceof Error ? error.message : String(error)));
}

/** Valid provider name: letters, digits, dashes. */
export function providerName(label: string): string {
  return label
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^-+|-+$/g, "");
}
