/* Stores the secrets and the settings of a new channel, or neither. */

import { useQueryClient } from "@tanstack/react-query";

import { usePatch } from "@/data/config";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";

import { type ChannelDraft, channelSection, type DraftErrors, draftSecrets, placedErrors } from "./channelDraft";

/** Adds a channel with further settings. Resolves to the errors; undefined after success. */
export function useAddChannel() {
  const platform = usePlatform();
  const client = useQueryClient();
  const patch = usePatch();
  return async (draft: ChannelDraft, others: Record<string, unknown>): Promise<DraftErrors | undefined> => {
    const stored: string[] = [];
    let secretKey: string | undefined;
    try {
      // The settings refuse a missing secret, so the secrets are stored first.
      for (const { key, name, value, host } of draftSecrets(draft)) {
        secretKey = key;
        await platform.rpc("secrets.set", { name, value, hosts: [host] });
        stored.push(name);
      }
      secretKey = undefined;
      await patch({ channels: { [draft.name]: channelSection(draft) }, ...others });
      return undefined;
    } catch (error) {
      const errors = placedErrors(error, draft, secretKey);
      const removals = await Promise.allSettled(stored.map((name) => platform.rpc("secrets.remove", { name })));
      const left = stored.filter((_, at) => removals[at]?.status === "rejected");
      if (left.length === 0) return errors;
      const note = `These secrets stay unused, remove them under Secrets: ${left.join(", ")}.`;
      return { ...errors, other: [errors.other, note].filter(Boolean).join(" ") };
    } finally {
      if (stored.length > 0) void client.invalidateQueries({ queryKey: keys.secrets });
    }
  };
}
