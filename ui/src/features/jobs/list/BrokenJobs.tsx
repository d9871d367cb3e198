/* Notices of unreadable jobs, with deletion. */

import { Unplug } from "lucide-react";

import { Button } from "@/components/Button";
import { Notice } from "@/components/Notice";
import type { BrokenJob } from "@/platform";

import { useJobActions } from "@/features/jobs/useJobActions";

export function BrokenJobs({ jobs }: { jobs: readonly BrokenJob[] }) {
  const actions = useJobActions();
  return jobs.map((job) => (
    <Notice
      key={job.id}
      tone="bad"
      icon={Unplug}
      action={
        <Button small aria-label={`Delete ${job.name}`} onPress={() => void actions.removeBroken(job)}>
          Delete
        </Button>
      }
    >
      “{job.name}” cannot run. {job.reason}
    </Notice>
  ));
}
