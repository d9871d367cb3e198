/* One job: made, changed, looked at. */

import { Page } from "@/components/Page";

export function JobEditorPage({ jobId }: { jobId?: string; from?: string }) {
  return <Page title={jobId === undefined ? "New job" : "Job"}>{null}</Page>;
}
