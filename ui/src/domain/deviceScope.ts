/* Words for the scopes of paired devices. */

import type { DeviceScope } from "@/platform";

export const scopeLabels: Record<DeviceScope, string> = {
  read: "Read only",
  approve: "Read and approve",
  write: "Read and write",
};

/** What a device with the scope may do, as a sentence. */
export const scopeEffect: Record<DeviceScope, string> = {
  read: "It may see jobs, runs, approvals and conversations, and change nothing.",
  approve: "It may see everything and decide approvals.",
  write: "It may also change and start jobs, and chat. A job can run any command on the computer.",
};
