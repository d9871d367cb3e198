/* The glyph of each state of a question: a hand while it waits, a shield once it is decided. */

import { Hand, type LucideIcon, ShieldCheck, ShieldMinus, ShieldX } from "lucide-react";

import type { ApprovalState } from "@/platform";

export const answerIcon: Record<ApprovalState, LucideIcon> = { pending: Hand, approved: ShieldCheck, denied: ShieldX, expired: ShieldMinus, withdrawn: ShieldMinus, covered: ShieldCheck };
