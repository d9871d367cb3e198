/* One job: made, copied, changed, looked at. This page finds what the form begins with. */

import { useParams, useSearch } from "@tanstack/react-router";
import { SearchX } from "lucide-react";
import { useState } from "react";

import { ButtonLink } from "@/components/Button";
import { Page } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/States";
import { useNow } from "@/components/useNow";
import { useAnswer, useApproval } from "@/data/approvals";
import { useJob } from "@/data/queries";
import { changedWords } from "@/domain/changedJob";
import { type ApprovalView, errorCode, type JobDraft, RpcError } from "@/platform";

import { Editor } from "./Editor";
import { copyOf, emptyForm, formOf } from "./form";
import { proposalOf } from "./proposal";
import { type TemplateId, templates } from "./templates";

interface Props {
  /** The job to change; a new one is made without it. */
  jobId?: string;
  /** The job to begin with a copy of. */
  from?: string;
  /** The template to begin with. */
  template?: TemplateId;
}

/** The page of `/jobs/new`. */
export function NewJobPage() {
  const { from, template, ask } = useSearch({ from: "/jobs/new" });
  if (ask !== undefined) return <Proposed key={ask} ask={ask} />;
  return <JobEditorPage key={`${from ?? ""}:${template ?? ""}`} from={from} template={template} />;
}

/** The page of `/jobs/<id>`. */
export function JobPage() {
  const { jobId } = useParams({ from: "/jobs/$jobId" });
  return <JobEditorPage key={jobId} jobId={jobId} />;
}

function JobEditorPage({ jobId, from, template }: Props) {
  const source = jobId ?? from;
  return source === undefined ? <NewJob template={template} /> : <FromJob source={source} isCopy={jobId === undefined} />;
}

function NewJob({ template }: { template: TemplateId | undefined }) {
  const now = useNow(60_000);
  const [initial] = useState(() => ({ ...emptyForm(now), ...(template && templates[template].form) }));
  return <Editor initial={initial} />;
}

/** A job that a model has proposed, to be changed before it is made. The model's own call is refused first, or the job would be
    made twice; where somebody was faster with an answer, nothing is made here. The refusal says which job stands in its place, so
    the job has its id before it is made. */
function Proposed({ ask }: { ask: string }) {
  const now = useNow(60_000);
  const { data, error, refetch } = useApproval(ask);
  const answer = useAnswer();
  const [id] = useState(() => crypto.randomUUID());
  const [isRefusedHere, setRefusedHere] = useState(false);
  const refuse = async ({ name }: JobDraft) => {
    if (isRefusedHere) return true;
    setRefusedHere(true);
    try {
      const { counts } = await answer(ask, { kind: "deny", reason: changedWords({ id, name }) });
      setRefusedHere(counts);
      return counts;
    } catch (failed) {
      setRefusedHere(false);
      throw failed;
    }
  };
  if (data) {
    const { draft, form, unread } = proposalOf(data, now);
    return <Editor initial={form} original={{ ...draft, id }} marked={unread} locked={isRefusedHere ? undefined : lockOf(data)} beforeMade={refuse} />;
  }
  return (
    <Page title="New job">
      {error ? <Failure title="The proposal could not be read." error={error} onRetry={() => void refetch()} /> : <SkeletonRows rows={8} />}
    </Page>
  );
}

/** Why a proposal cannot be made into a job here any more. */
function lockOf({ state }: ApprovalView): string | undefined {
  switch (state) {
    case "pending":
      return undefined;
    case "approved":
      return "The question about this job was answered elsewhere, with a yes: the model makes it as it was proposed. Nothing can be saved here.";
    case "denied":
      return "The question about this job was answered elsewhere, with a no. Nothing can be saved here.";
    case "expired":
      return "The question about this job had no answer in time. Nothing can be saved here.";
    case "withdrawn":
      return "The question about this job ended with its run. Nothing can be saved here.";
    case "covered":
      return "A grant has answered the question about this job: the model makes it as it was proposed. Nothing can be saved here.";
  }
}

function FromJob({ source, isCopy }: { source: string; isCopy: boolean }) {
  const now = useNow(60_000);
  const { data: view, error, refetch } = useJob(source);
  const title = isCopy ? "New job" : "Job";
  const isGone = error instanceof RpcError && error.code === errorCode.notFound;
  const gone = isGone ? <Gone title={title} /> : undefined;
  if (view && isCopy) {
    const copy = copyOf(view.job);
    return <Editor initial={formOf(copy, now)} original={copy} />;
  }
  if (view) return <Editor initial={formOf(view.job, now)} view={view} gone={gone} />;
  if (gone) return gone;
  return (
    <Page title={title}>
      {error ? <Failure title="This job could not be read." error={error} onRetry={() => void refetch()} /> : <SkeletonRows rows={8} />}
    </Page>
  );
}

function Gone({ title }: { title: string }) {
  return (
    <Page title={title}>
      <Empty icon={SearchX} title="There is no such job" action={<ButtonLink to="/jobs" search={{}}>All jobs</ButtonLink>}>
        It may have been deleted, or have deleted itself after its run: what it did is still in the history.
      </Empty>
    </Page>
  );
}
