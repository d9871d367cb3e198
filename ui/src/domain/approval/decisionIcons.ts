/* Icons of approval states. */

import { Hand, type LucideIcon, ShieldCheck, ShieldMinus, ShieldX } from "lucide-react";

import type { ApprovalStateView } from "@/platform";

export const decisionIcons: Record<ApprovalStateView, LucideIcon> = {
  pending: Hand,
  approved: ShieldCheck,
  denied: ShieldX,
  expired: ShieldMinus,
  withdrawn: ShieldMinus,
  covered: ShieldCheck,
};
