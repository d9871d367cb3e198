/* Changes of skills. The jobs with a skill, and the warnings about them, change with the skill. */

import type { Method } from "@/platform";

import { useCall } from "./actions";
import { keys } from "./keys";

export function useSkillCall<M extends Method & `skills.${string}`>(method: M) {
  return useCall(method, [keys.skills, keys.eachJob, keys.toolsOfDrafts, keys.checks]);
}
