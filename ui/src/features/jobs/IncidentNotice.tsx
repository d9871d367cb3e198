/* Why a job fails, above its form: since when, how often, the first failure in words, and the way on. */

import { TriangleAlert } from "lucide-react";

import { Button, ButtonLink } from "@/components/Button";
import { Notice } from "@/components/Notice";
import { useNow } from "@/components/useNow";
import { incidentWords } from "@/domain/incident";
import { firstLine } from "@/format/text";
import type { IncidentView, Job } from "@/platform";

import { useJobActions } from "./useJobActions";

export function IncidentNotice({ job, incident }: { job: Job; incident: IncidentView }) {
  const now = useNow(60_000);
  const actions = useJobActions();
  const isPaused = !job.enabled && incident.pausedBecause !== null;
  const action = isPaused ? (
    <Button small onPress={() => void actions.setEnabled(job, true)}>Resume</Button>
  ) : (
    <ButtonLink to="/runs/$runId" params={{ runId: incident.lastRunId }} small>Last failure</ButtonLink>
  );
  return (
    <Notice tone="bad" icon={TriangleAlert} action={action}>
      {incidentWords(incident, now)}: {firstLine(incident.cause)}
    </Notice>
  );
}
