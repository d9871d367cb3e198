/* Icons of approval states. */

import { Hand, type LucideIcon, ShieldCheck, ShieldMinus, ShieldX } from "lucide-react";

import type { ApprovalStateKind } from "@/platform";

export const decisionIcons: Record<ApprovalStateKind, LucideIcon> = {
  pending: Hand,
  approved: ShieldCheck,
  denied: ShieldX,
  expired: ShieldMinus,
  withdrawn: ShieldMinus,
  covered: ShieldCheck,
};
