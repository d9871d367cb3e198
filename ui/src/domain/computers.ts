/* Words for other computers and their connections. */

import type { Computer } from "@/platform";

export const THIS_COMPUTER = "This computer";

/** Address, or why the computer is not connected. */
export function computerStateText({ address, state, problem }: Computer): string {
  if (state === "connected") return `Connected: ${address}`;
  if (state === "connecting") return `Connecting to ${address} …`;
  return `Not connected, retrying. ${problem ?? ""}`.trimEnd();
}
