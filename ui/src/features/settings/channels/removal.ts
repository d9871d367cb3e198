/* Removes a channel from jobs, settings and secrets. Changes the jobs first: after an error the channel still works.
   Pitfall: a job that names the channel by its kind. */

import { useQueryClient } from "@tanstack/react-query";

import { usePatch } from "@/data/config";
import { readAllJobs } from "@/data/jobs";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import type { ChannelsListResult, ChannelView, Job, JobView, ParamsOf } from "@/platform";

import { secretNames } from "./channelKinds";
import { listsWithout, remaining } from "./defaultLists";

/** Test for the targets of a channel: its name, and its kind if no other channel has this kind. */
export function targetTest(
  channels: readonly ChannelView[],
  { name, kind }: Pick<ChannelView, "name" | "kind">,
): (target: string) => boolean {
  const isKindTaken = channels.some((other) => other.name !== name && (other.kind === kind || other.name === kind));
  const names = isKindTaken ? [name] : [name, kind];
  return (target) => names.includes(target.split(":", 1)[0] ?? "");
}

/** Patch that takes a channel out of a job; undefined if the job does not name the channel. */
export function jobPatchWithout(
  { payload, policies }: Pick<Job, "payload" | "policies">,
  isRemoved: (target: string) => boolean,
): Record<string, unknown> | undefined {
  const isNamed = payload.kind === "agentTurn" && payload.channel !== undefined && isRemoved(payload.channel);
  const targets = policies?.deliverTo ?? [];
  const isListed = targets.some(isRemoved);
  if (!isNamed && !isListed) return undefined;
  return {
    ...(isNamed && { payload: { channel: null, to: null } }),
    ...(isListed && { policies: { deliverTo: remaining(targets, isRemoved) } }),
  };
}

/** Names of the jobs that name a channel. */
export function jobsWith(jobs: readonly JobView[], isRemoved: (target: string) => boolean): string[] {
  return jobs.filter(({ job }) => jobPatchWithout(job, isRemoved) !== undefined).map(({ job }) => job.name);
}

/** Removes a channel. Resolves to the remaining copies of secrets, as sentences. */
export function useRemoveChannel() {
  const platform = usePlatform();
  const client = useQueryClient();
  const patch = usePatch();
  return async (list: ChannelsListResult, channel: ChannelView): Promise<string[]> => {
    const isRemoved = targetTest(list.channels, channel);
    const { jobs } = await readAllJobs(platform);
    for (const params of jobs.flatMap(({ job }) => jobUpdate(job, isRemoved)))
      await platform.rpc("cron.update", params);
    for (const { address } of channel.recipients.filter(({ isPaired }) => isPaired))
      await platform.rpc("channels.unpair", { name: channel.name, address });
    await patch({ ...listsWithout(list, isRemoved), channels: { [channel.name]: null } });
    const { secrets } = await platform.rpc("secrets.list", {});
    const own = secretNames(channel.name).filter((name) => secrets.some((secret) => secret.name === name));
    const removed = await Promise.all(own.map((name) => platform.rpc("secrets.remove", { name })));
    void client.invalidateQueries({ queryKey: keys.secrets });
    return removed.flatMap(({ manualCleanup }) => manualCleanup ?? []);
  };
}

function jobUpdate(job: Job, isRemoved: (target: string) => boolean): ParamsOf<"cron.update">[] {
  const patch = jobPatchWithout(job, isRemoved);
  return patch === undefined ? [] : [{ id: job.id, patch, expectedRevision: job.state.revision }];
}
