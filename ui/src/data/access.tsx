/* What this page may do. The computer itself may do everything; a paired device, the methods of its scope. The engine
   decides; the UI leaves out what the engine would refuse. */

import type { ReactNode } from "react";

import { type DeviceAccess, type Method, methodScopes } from "@/platform";

import { usePlatform } from "./platform";

/** From the smallest scope to the largest. */
const order = ["read", "approve", "write", "admin"] as const;

/** Paired device of this page; null for the computer itself. */
export function useDevice(): DeviceAccess | null {
  return usePlatform().device();
}

/** Whether this page may call a method. */
export function useMay(method: Method): boolean {
  const device = useDevice();
  return device === null || order.indexOf(methodScopes[method]) <= order.indexOf(device.scope);
}

/** Why this page may decide no approval; undefined if it may. */
export function useDecisionRefusal(): string | undefined {
  return useMay("approvals.decide") ? undefined : notForDevice;
}

/** Shows an action only if this page may call its method. */
export function Allowed({ to, children }: { to: Method; children: ReactNode }) {
  return useMay(to) ? children : null;
}

/** Reason for an absent action on a device with a small scope. */
export const notForDevice = "This device may not do this. To change that, pair it again with more access.";
