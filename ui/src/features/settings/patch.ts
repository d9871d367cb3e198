/* Dotted names of settings: the patch that changes one, the variable that overrides it, the complaint about it. */

import { ended } from "@/format/text";
import { fieldErrors, type ConfigView } from "@/platform";

/** `("cron.enabled", false)` → `{cron: {enabled: false}}`. */
export function patchFor(key: string, value: unknown): Record<string, unknown> {
  const patch = key.split(".").reduceRight<unknown>((inner, part) => ({ [part]: inner }), value);
  return patch as Record<string, unknown>;
}

/** The environment variable that decides instead of the file. */
export function overriddenBy(config: ConfigView, key: string): string | undefined {
  return config.overridden.find((one) => one.key === key)?.variable;
}

/** What went wrong with one setting, as a sentence: the engine's complaint about it, or the whole failure. */
export function complaintAbout(key: string, error: unknown): string {
  const complaint = fieldErrors(error).find(({ path }) => path === key || key.startsWith(`${path}.`) || path.startsWith(key));
  return sentence(complaint?.message ?? (error instanceof Error ? error.message : String(error)));
}

export function sentence(message: string): string {
  const text = /^(is|must|has) /.test(message) ? `this ${message}` : message;
  return ended(text.charAt(0).toLocaleUpperCase() + text.slice(1));
}

/** A name for a provider that the file takes: letters, digits, dashes. */
export function providerName(label: string): string {
  return label.trim().toLowerCase().replace(/[^a-z0-9_-]+/g, "-").replace(/^-+|-+$/g, "");
}
