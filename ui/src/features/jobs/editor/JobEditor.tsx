/* Job editor: form left, preview right. An unchanged form takes over remote changes; a changed form reports them. Leaving with changes asks first. */

import { toSentence } from "@/format/text";
import { useBlocker, useNavigate } from "@tanstack/react-router";
import { Check, Copy, Ellipsis, Play, Save, Trash2, TriangleAlert } from "lucide-react";
import { type KeyboardEvent, useEffect, useEffectEvent, useMemo, useRef, useState, type ReactNode } from "react";
import { useForm, type UseFormReturn, useWatch } from "react-hook-form";

import { Button, IconButton } from "@/components/Button";
import { Switch } from "@/components/Choice";
import { modKey } from "@/components/Kbd";
import { MenuButton } from "@/components/Menu";
import { ConfirmDialog } from "@/components/Modal";
import { Notice } from "@/components/Notice";
import { Page } from "@/components/Page";
import { useShortcut } from "@/components/shortcuts";
import { toast } from "@/components/Toasts";
import { useNow } from "@/components/useNow";
import { InlineCode } from "@/components/InlineCode";
import { notForDevice, useMay } from "@/data/access";
import { useOpenApprovals } from "@/data/approvals";
import { useRunsOfJob } from "@/data/runs";
import { agentMessage } from "@/domain/authorship";
import type { ApprovalView, Job, JobDraft, JobView } from "@/platform";

import { ApprovalNotice } from "./ApprovalNotice";
import { JobFormContext, JobWarningContext } from "./jobFields";
import styles from "./JobEditor.module.css";
import type { FieldProblem } from "@/features/jobs/form/fieldPaths";
import { jobPatch, isSameDefinition } from "@/features/jobs/form/jobChanges";
import { jobFormFrom, type JobForm } from "@/features/jobs/form/jobForm";
import { IncidentNotice } from "./IncidentNotice";
import { HealthDot } from "@/features/jobs/list/JobRow";
import { PreviewPanel, scheduleSentence } from "./PreviewPanel";
import { oneTimeOutcome } from "@/features/jobs/oneTimeOutcome";
import { RecentRuns } from "./RecentRuns";
import { useJobActions } from "@/features/jobs/useJobActions";
import { jobHealthOf } from "@/features/jobs/jobStatus";
import { DeliverySection } from "./DeliverySection";
import { type SaveProblem, useSaveJob } from "./useSaveJob";
import { useSchedulePreview } from "./useSchedulePreview";
import { addGrantOffers } from "./grantOffers";
import { draftAsSaved, useJobWarnings } from "./useJobWarnings";
import { WhatSection } from "./WhatSection";
import { WhenSection } from "./WhenSection";
import { HowSection } from "./HowSection";
import { AgentMessageContext } from "./AuthorNotice";
import { advancedFields, FailureSection } from "./FailureSection";

interface Props {
  initial: JobForm;
  /** Stored job; undefined for a new job. */
  view?: JobView;
  /** Starting point of a new job. */
  original?: JobDraft;
  /** Errors shown from the start. */
  initialErrors?: readonly [keyof JobForm, string][];
  /** Page shown when the job was deleted elsewhere and the form is unchanged. */
  deletedPage?: ReactNode;
  /** Reason why saving is disabled. */
  lockReason?: string;
  /** Runs before creation; resolves to false to cancel. */
  beforeCreate?: (draft: JobDraft) => Promise<boolean>;
}

/** Values from which the form was filled. */
interface FormBase {
  form: JobForm;
  job?: Job;
}

export function JobEditor({ initial, view, original, initialErrors, deletedPage, beforeCreate, ...props }: Props) {
  const mayChange = useMay("cron.update");
  const lockReason = mayChange ? props.lockReason : notForDevice;
  const [base, setBase] = useState<FormBase>({ form: initial, job: view?.job });
  const form = useForm<JobForm>({ defaultValues: base.form });
  useInitialErrors(form, initialErrors);
  const values = useWatch({ control: form.control }) as JobForm;
  const isDirty = jobPatch(base.form, values) !== undefined;
  const resetTo = (job: Job) => {
    const next = jobFormFrom(job, 0);
    setBase({ form: next, job });
    form.reset(next);
  };
  const remote = useRemoteChanges(view, base, isDirty, resetTo);
  const { save, busy, saveProblem, clearProblem } = useSaveJob({
    form,
    before: base.form,
    job: base.job && remote.isStale ? base.job : view?.job,
    original,
    beforeCreate,
  });
  const leave = useLeaveGuard(isDirty);
  const pendingApprovals =
    useOpenApprovals().data?.filter(({ jobId }) => view !== undefined && jobId === view.job.id) ?? [];
  const draft = draftAsSaved({ values, before: base.form, job: base.job, original });
  const preview = useSchedulePreview(values, base.form, base.job, original, draft);
  const expiredText = useExpiredText(view, preview.touched);
  const warnings = useJobWarnings(draft, expiredText !== undefined);
  // Expands once for a stored job; typing must not collapse the section.
  const [isUnfolded, setUnfolded] = useState(false);
  if (!isUnfolded && !isDirty && advancedFields.some((field) => warnings.placed.has(field))) setUnfolded(true);
  const source = base.job ?? original;
  const agentText = useMemo(() => source && agentMessage(source), [source]);
  const root = useRef<HTMLFormElement>(null);
  const [isSaved, setSaved] = useFlash();
  const navigate = useNavigate();

  const submit = async () => {
    if (busy || lockReason !== undefined || (view && !isDirty)) return;
    const saved = await save();
    if (!saved) {
      requestAnimationFrame(() => focusFirstError(root.current));
      return;
    }
    if (view) {
      resetTo(saved.job);
      setSaved();
    } else {
      leave.unblock();
      toast({ title: `Saved “${saved.job.name}”` }, 3_000);
      void navigate({ to: "/jobs/$jobId", params: { jobId: saved.job.id }, replace: true });
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "Enter") return;
    event.preventDefault();
    void submit();
  };
  useSaveShortcut(() => void submit());
  const showNewVersion = () => {
    if (view) resetTo(view.job);
    clearProblem();
  };

  if (deletedPage !== undefined && !isDirty) return deletedPage;
  return (
    <Page
      title={view ? view.job.name : "New job"}
      lead={view && <HealthDot view={view} health={jobHealthOf(view, pendingApprovals.length > 0)} />}
      about={
        <span className={styles.brief} aria-hidden>
          {expiredText ?? scheduleSentence(values, preview.shown, preview.problem)}
        </span>
      }
      className={styles.page}
      actions={
        <>
          <span role="status" className={styles.saved}>
            {isSaved && (
              <>
                <Check size={15} aria-hidden /> Saved
              </>
            )}
          </span>
          {view && mayChange && <JobControls view={view} onDeleted={leave.unblock} />}
          <Button
            look="primary"
            icon={Save}
            isPending={busy}
            isDisabled={lockReason !== undefined || (view !== undefined && !isDirty)}
            onPress={() => void submit()}
            aria-keyshortcuts={`${modKey === "⌘" ? "Meta" : "Control"}+S`}
          >
            Save
          </Button>
        </>
      }
    >
      <EditorNotices
        lockReason={lockReason}
        warnings={warnings.others}
        saveProblem={deletedPage !== undefined ? { kind: "gone" } : remote.isStale ? { kind: "stale" } : saveProblem}
        view={view}
        pendingApprovals={pendingApprovals}
        onShowNew={showNewVersion}
      />
      <JobFormContext value={form}>
        <JobWarningContext value={warnings.placed}>
          <AgentMessageContext value={agentText}>
            <div className={styles.columns}>
              <form
                ref={root}
                className={styles.form}
                aria-label="Job"
                onSubmit={(event) => event.preventDefault()}
                onKeyDown={onKeyDown}
                noValidate
              >
                <WhatSection isNew={!view} />
                <WhenSection
                  scheduleErrors={preview.errors}
                  jobId={view?.job.schedule.kind === "webhook" ? view.job.id : undefined}
                />
                <HowSection jobId={view?.job.id} />
                <DeliverySection jobId={view?.job.id} />
                <FailureSection
                  open={isUnfolded || advancedFields.some((field) => form.formState.errors[field] !== undefined)}
                />
              </form>
              <PreviewPanel
                values={values}
                draft={draft}
                preview={preview.shown}
                problem={preview.problem}
                expiredText={expiredText}
                job={view?.job}
                spent={view?.spentThisMonth}
                offers={warnings.offers}
                onAllow={() => addGrantOffers(form, warnings.offers)}
              />
            </div>
          </AgentMessageContext>
          {view && <RecentRuns jobId={view.job.id} />}
        </JobWarningContext>
      </JobFormContext>
      <ConfirmDialog
        isOpen={leave.isAsking}
        onClose={leave.stay}
        title="Leave without saving?"
        confirm="Leave"
        danger
        onConfirm={leave.go}
      >
        Your changes will be lost.
      </ConfirmDialog>
    </Page>
  );
}

/** Outcome of a one-time job, until the schedule changes. */
function useExpiredText(view: JobView | undefined, touched: boolean): string | undefined {
  const now = useNow();
  const { data: newest } = useRunsOfJob(view?.job.id);
  return view && !touched ? oneTimeOutcome(view, newest?.runs, now) : undefined;
}

function useInitialErrors({ setError }: UseFormReturn<JobForm>, initialErrors: Props["initialErrors"]) {
  const [atFirst] = useState(initialErrors);
  useEffect(() => {
    for (const [field, message] of atFirst ?? []) setError(field, { message });
  }, [atFirst, setError]);
}

/** Takes over remote changes into an unchanged form. */
function useRemoteChanges(view: JobView | undefined, base: FormBase, isDirty: boolean, take: (job: Job) => void) {
  const differs = view !== undefined && base.job !== undefined && !isSameDefinition(view.job, base.job);
  const current = view?.job;
  const takeCurrent = useEffectEvent(take);
  useEffect(() => {
    if (differs && !isDirty && current) takeCurrent(current);
  }, [differs, isDirty, current]);
  return { isStale: differs && isDirty };
}

function useLeaveGuard(isDirty: boolean) {
  const free = useRef(false);
  const blocker = useBlocker({
    shouldBlockFn: () => isDirty && !free.current,
    enableBeforeUnload: () => isDirty && !free.current,
    withResolver: true,
  });
  return {
    isAsking: blocker.status === "blocked",
    stay: () => blocker.reset?.(),
    go: () => blocker.proceed?.(),
    unblock: () => {
      free.current = true;
    },
  };
}

/** Ctrl+S and ⌘S, unless a dialog is open. */
function useSaveShortcut(save: () => void) {
  const onKey = useEffectEvent((event: globalThis.KeyboardEvent) => {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "s") return;
    event.preventDefault();
    if (document.querySelector("[role=dialog], [role=alertdialog]") === null) save();
  });
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent) => onKey(event);
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
}

function useFlash(forMs = 2_500): [boolean, () => void] {
  const [at, setAt] = useState(0);
  useEffect(() => {
    if (at === 0) return;
    const timer = setTimeout(() => setAt(0), forMs);
    return () => clearTimeout(timer);
  }, [at, forMs]);
  return [at > 0, () => setAt((n) => n + 1)];
}

function focusFirstError(root: HTMLElement | null) {
  root
    ?.querySelector<HTMLElement>(
      '[data-invalid] :is(input:not([type="hidden"]), textarea, [role="spinbutton"], button), [aria-invalid="true"]',
    )
    ?.focus();
}

function JobControls({ view, onDeleted }: { view: JobView; onDeleted: () => void }) {
  const { job } = view;
  const actions = useJobActions();
  const navigate = useNavigate();
  const run = () => actions.run(job);
  const remove = async () => {
    if (!(await actions.remove(job))) return;
    onDeleted();
    void navigate({ to: "/jobs", search: {} });
  };
  useShortcut("r", "Run now", run, { group: "This job" });
  useShortcut("p", "Pause or resume", () => void actions.setEnabled(job, !job.enabled), { group: "This job" });
  return (
    <>
      <Switch isSelected={job.enabled} onChange={(on) => void actions.setEnabled(job, on)}>
        Active
      </Switch>
      <MenuButton
        label={job.name}
        entries={[
          { id: "duplicate", label: "Duplicate", icon: Copy, onAction: () => actions.duplicate(job.id) },
          null,
          { id: "delete", label: "Delete", icon: Trash2, danger: true, onAction: () => void remove() },
        ]}
      >
        <IconButton icon={Ellipsis} label="More" />
      </MenuButton>
      <Button icon={Play} onPress={run}>
        Run now
      </Button>
    </>
  );
}

interface EditorNoticesProps {
  lockReason: string | undefined;
  saveProblem: SaveProblem | { kind: "gone" } | undefined;
  /** Warnings without a form field. */
  warnings: readonly FieldProblem[];
  view: JobView | undefined;
  pendingApprovals: readonly ApprovalView[];
  onShowNew: () => void;
}

function EditorNotices({ lockReason, saveProblem, warnings, view, pendingApprovals, onShowNew }: EditorNoticesProps) {
  const incident = view?.incident ?? null;
  const isTriggerDeleted = view?.isPredecessorMissing ?? false;
  if (
    lockReason === undefined &&
    !saveProblem &&
    incident === null &&
    !isTriggerDeleted &&
    warnings.length + pendingApprovals.length === 0
  )
    return null;
  return (
    <div className={styles.above}>
      {lockReason !== undefined && (
        <div role="alert">
          <Notice tone="accent" icon={TriangleAlert}>
            {lockReason}
          </Notice>
        </div>
      )}
      {saveProblem && (
        <div role="alert">
          {saveProblem.kind === "stale" && (
            <Notice
              tone="accent"
              icon={TriangleAlert}
              action={
                <Button small onPress={onShowNew}>
                  Show the new version
                </Button>
              }
            >
              This job was changed elsewhere. Your edits are not saved, and nothing was overwritten.
            </Notice>
          )}
          {saveProblem.kind === "gone" && (
            <Notice tone="bad" icon={TriangleAlert}>
              This job was deleted elsewhere. Your edits are still here.
            </Notice>
          )}
          {saveProblem.kind === "failed" && (
            <Notice tone="bad" icon={TriangleAlert}>
              Not saved. <InlineCode text={saveProblem.message} />
            </Notice>
          )}
          {saveProblem.kind === "complaints" && (
            <Notice tone="bad" icon={TriangleAlert}>
              Not saved. These settings, which this page does not show, are invalid:
              <ul className={styles.complaints}>
                {saveProblem.complaints.map(({ path, message }) => (
                  <li key={path}>
                    <code>{path}</code>: <InlineCode text={toSentence(message)} />
                  </li>
                ))}
              </ul>
            </Notice>
          )}
        </div>
      )}
      <ApprovalNotice pendingApprovals={pendingApprovals} />
      {warnings.length > 0 && (
        <Notice tone="accent" icon={TriangleAlert}>
          You can save this job, but parts of it will not work:
          <ul className={styles.complaints}>
            {warnings.map(({ path, message }) => (
              <li key={path}>
                <InlineCode text={toSentence(message)} />
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {isTriggerDeleted && (
        <Notice tone="bad" icon={TriangleAlert}>
          The trigger job was deleted, so this job never fires. Choose another trigger below, or delete this job.
        </Notice>
      )}
      {view && incident && <IncidentNotice job={view.job} incident={incident} />}
    </div>
  );
}
