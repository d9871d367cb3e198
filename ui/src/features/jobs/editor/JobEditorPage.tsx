/* Loads the editor's starting point: a new job, a copy, a proposal or a stored job. */

import { useParams, useSearch } from "@tanstack/react-router";
import { SearchX } from "lucide-react";
import { useState } from "react";

import { ButtonLink } from "@/components/Button";
import { Page } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/Placeholders";
import { useNow } from "@/components/useNow";
import { useApproval, useDecide } from "@/data/approvals";
import { useJob } from "@/data/queries";
import { changedJobReason } from "@/domain/changedJob";
import { type ApprovalView, errorCode, type JobDraft, RpcError } from "@/platform";

import { JobEditor } from "./JobEditor";
import { copyJob } from "@/features/jobs/form/jobChanges";
import { emptyJobForm, jobFormFrom } from "@/features/jobs/form/jobForm";
import { readProposal } from "./proposal";
import { type TemplateId, templates } from "@/features/jobs/templates";

interface Props {
  /** Job to edit; undefined for a new job. */
  jobId?: string;
  /** Job to copy. */
  from?: string;
  template?: TemplateId;
}

/** Route `/jobs/new`. */
export function NewJobPage() {
  const { from, template, ask } = useSearch({ from: "/jobs/new" });
  if (ask !== undefined) return <ProposalEditor key={ask} ask={ask} />;
  return <JobEditorPage key={`${from ?? ""}:${template ?? ""}`} from={from} template={template} />;
}

/** Route `/jobs/<id>`. */
export function JobPage() {
  const { jobId } = useParams({ from: "/jobs/$jobId" });
  return <JobEditorPage key={jobId} jobId={jobId} />;
}

function JobEditorPage({ jobId, from, template }: Props) {
  const source = jobId ?? from;
  return source === undefined ? (
    <NewJobEditor template={template} />
  ) : (
    <ExistingJobEditor source={source} isCopy={jobId === undefined} />
  );
}

function NewJobEditor({ template }: { template: TemplateId | undefined }) {
  const now = useNow(60_000);
  const [initial] = useState(() => ({ ...emptyJobForm(now), ...(template && templates[template].form) }));
  return <JobEditor initial={initial} />;
}

/** Editor of an agent's proposal. Denies the agent's call before creating the job, to prevent a second job; the denial names the new job's id. A decision made elsewhere wins. */
function ProposalEditor({ ask }: { ask: string }) {
  const now = useNow(60_000);
  const { data, error, refetch } = useApproval(ask);
  const decide = useDecide();
  const [id] = useState(() => crypto.randomUUID());
  const [isRefusedHere, setRefusedHere] = useState(false);
  const refuse = async ({ name }: JobDraft) => {
    if (isRefusedHere) return true;
    setRefusedHere(true);
    try {
      const { applied } = await decide(ask, { kind: "deny", reason: changedJobReason({ id, name }) });
      setRefusedHere(applied);
      return applied;
    } catch (failed) {
      setRefusedHere(false);
      throw failed;
    }
  };
  if (data) {
    const { draft, form, unread } = readProposal(data, now);
    return (
      <JobEditor
        initial={form}
        original={{ ...draft, id }}
        initialErrors={unread}
        lockReason={isRefusedHere ? undefined : proposalLock(data)}
        beforeCreate={refuse}
      />
    );
  }
  return (
    <Page title="New job">
      {error ? (
        <Failure title="Could not load the proposal." error={error} onRetry={() => void refetch()} />
      ) : (
        <SkeletonRows rows={8} />
      )}
    </Page>
  );
}

/** Reason why a proposal can no longer be saved. */
function proposalLock({ state }: ApprovalView): string | undefined {
  switch (state) {
    case "pending":
      return undefined;
    case "approved":
      return "This proposal was approved elsewhere. The agent creates the job as proposed, so nothing can be saved here.";
    case "denied":
      return "This proposal was denied elsewhere. Nothing can be saved here.";
    case "expired":
      return "This proposal expired. Nothing can be saved here.";
    case "withdrawn":
      return "This proposal ended with its run. Nothing can be saved here.";
    case "covered":
      return "A grant covers this proposal. The agent creates the job as proposed, so nothing can be saved here.";
  }
}

function ExistingJobEditor({ source, isCopy }: { source: string; isCopy: boolean }) {
  const now = useNow(60_000);
  const { data: view, error, refetch } = useJob(source);
  const title = isCopy ? "New job" : "Job";
  const isMissing = error instanceof RpcError && error.code === errorCode.notFound;
  const gone = isMissing ? <JobNotFound title={title} /> : undefined;
  if (view && isCopy) {
    const copy = copyJob(view.job);
    return <JobEditor initial={jobFormFrom(copy, now)} original={copy} />;
  }
  if (view) return <JobEditor initial={jobFormFrom(view.job, now)} view={view} deletedPage={gone} />;
  if (gone) return gone;
  return (
    <Page title={title}>
      {error ? (
        <Failure title="Could not load the job." error={error} onRetry={() => void refetch()} />
      ) : (
        <SkeletonRows rows={8} />
      )}
    </Page>
  );
}

function JobNotFound({ title }: { title: string }) {
  return (
    <Page title={title}>
      <Empty
        icon={SearchX}
        title="Job not found"
        action={
          <ButtonLink to="/jobs" search={{}}>
            All jobs
          </ButtonLink>
        }
      >
        It was deleted, or deleted itself after its run. Its runs are still in the history.
      </Empty>
    </Page>
  );
}
