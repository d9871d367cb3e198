/* Notice of an open incident. */

import { TriangleAlert } from "lucide-react";

import { Button, ButtonLink } from "@/components/Button";
import { Notice } from "@/components/Notice";
import { useNow } from "@/components/useNow";
import { incidentLabel } from "@/domain/incident";
import { firstLine } from "@/format/text";
import type { IncidentView, Job } from "@/platform";

import { useJobActions } from "@/features/jobs/useJobActions";

export function IncidentNotice({ job, incident }: { job: Job; incident: IncidentView }) {
  const now = useNow(60_000);
  const actions = useJobActions();
  const isPaused = !job.enabled && incident.pausedBecause !== null;
  const action = isPaused ? (
    <Button small onPress={() => void actions.setEnabled(job, true)}>
      Resume
    </Button>
  ) : (
    <ButtonLink to="/runs/$runId" params={{ runId: incident.lastRunId }} small>
      View last failure
    </ButtonLink>
  );
  return (
    <Notice tone="bad" icon={TriangleAlert} action={action}>
      {incidentLabel(incident, now)}: {firstLine(incident.cause)}
    </Notice>
  );
}
