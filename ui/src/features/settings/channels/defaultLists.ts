/* Default channels of the settings, with and without a channel. Pitfall: writing a list on an engine without a desktop;
   without a list, such an engine uses every channel. */

import { notificationTarget } from "@/domain/channels";
import type { ChannelsListResult } from "@/platform";

type DefaultLists = Pick<ChannelsListResult, "written" | "isHeadless">;

export const defaultKeys = ["deliverTo", "deliverFailuresTo", "deliverApprovalsTo"] as const;
export type DefaultKey = (typeof defaultKeys)[number];
type ListsPatch = Partial<Record<DefaultKey, string[] | null>>;

/** Patch after which all messages go to `added` too; empty without a change. */
export function listsWith({ written, isHeadless }: DefaultLists, added: readonly string[]): ListsPatch {
  const patch: ListsPatch = {};
  for (const key of defaultKeys) {
    const targets = written[key];
    if (targets !== null) {
      const missing = added.filter((target) => !targets.includes(target));
      if (missing.length > 0) patch[key] = [...targets, ...missing];
    } else if (key === "deliverTo" && !isHeadless) patch[key] = [notificationTarget, ...added];
  }
  return patch;
}

/** Patch that removes targets; empty without a change. */
export function listsWithout({ written }: DefaultLists, isRemoved: (target: string) => boolean): ListsPatch {
  const patch: ListsPatch = {};
  for (const key of defaultKeys) if (written[key]?.some(isRemoved)) patch[key] = remaining(written[key], isRemoved);
  return patch;
}

/** Null for none, because a list is never empty. */
export function remaining(targets: readonly string[], isRemoved: (target: string) => boolean): string[] | null {
  const rest = targets.filter((target) => !isRemoved(target));
  return rest.length === 0 ? null : rest;
}
