/* The editor of a job: the form on the left, what it will do on the right. What happens elsewhere to the same job is taken
   over while nothing here is changed, and said calmly otherwise. Leaving with changes asks first. */

import { useBlocker, useNavigate } from "@tanstack/react-router";
import { Check, Copy, Ellipsis, Play, Save, Trash2, TriangleAlert } from "lucide-react";
import { type KeyboardEvent, useEffect, useEffectEvent, useMemo, useRef, useState, type ReactNode } from "react";
import { useForm, type UseFormReturn, useWatch } from "react-hook-form";

import { Button, IconButton } from "@/components/Button";
import { Switch } from "@/components/Choice";
import { modKey } from "@/components/Kbd";
import { MenuButton } from "@/components/Menu";
import { Question } from "@/components/Modal";
import { Notice } from "@/components/Notice";
import { Page } from "@/components/Page";
import { useShortcut } from "@/components/shortcuts";
import { toast } from "@/components/Toasts";
import { useNow } from "@/components/useNow";
import { Worded } from "@/components/Worded";
import { useOpenApprovals } from "@/data/approvals";
import { useRunsOfJob } from "@/data/runs";
import { signedWords } from "@/domain/createdBy";
import type { ApprovalView, Job, JobDraft, JobView } from "@/platform";

import { AskingNotice } from "./AskingNotice";
import { FormContext, WarningContext } from "./bound";
import styles from "./Editor.module.css";
import { advanced, type Complaint, sentence } from "./fields";
import { formOf, type JobForm, patchOf, sameDefinition } from "./form";
import { IncidentNotice } from "./IncidentNotice";
import { StandingDot } from "./JobRow";
import { LivePanel, sentenceOf } from "./LivePanel";
import { onceOver } from "./onceOver";
import { RecentRuns } from "./RecentRuns";
import { useJobActions } from "./useJobActions";
import { standingOf } from "./standing";
import { TellSection } from "./TellSection";
import { type Trouble, useSave } from "./useSave";
import { useSchedulePreview } from "./useSchedulePreview";
import { allow } from "./offers";
import { savedAs, useWarnings } from "./useWarnings";
import { WhatSection } from "./WhatSection";
import { WhenSection } from "./WhenSection";
import { WithSection } from "./WithSection";
import { SignedContext } from "./WhoseWords";
import { WrongSection } from "./WrongSection";

interface Props {
  initial: JobForm;
  /** The job as the engine has it now; a new one is made without it. */
  view?: JobView;
  /** What a new one begins as, with all it holds. */
  original?: JobDraft;
  /** Fields that are marked from the start, with what is wrong. */
  marked?: readonly [keyof JobForm, string][];
  /** What to show in place of the form when the job was deleted elsewhere and nothing was written here. */
  gone?: ReactNode;
  /** Why nothing can be saved. */
  locked?: string;
  /** What comes before a new job is made; false when it is not to be. */
  beforeMade?: (draft: JobDraft) => Promise<boolean>;
}

/** What the form was filled from. */
interface Base {
  form: JobForm;
  job?: Job;
}

export function Editor({ initial, view, original, marked, gone, locked, beforeMade }: Props) {
  const [base, setBase] = useState<Base>({ form: initial, job: view?.job });
  const form = useForm<JobForm>({ defaultValues: base.form });
  useMarked(form, marked);
  const values = useWatch({ control: form.control }) as JobForm;
  const isDirty = patchOf(base.form, values) !== undefined;
  const take = (job: Job) => {
    const next = formOf(job, 0);
    setBase({ form: next, job });
    form.reset(next);
  };
  const elsewhere = useElsewhere(view, base, isDirty, take);
  const { save, busy, trouble, calm } = useSave({ form, before: base.form, job: base.job && elsewhere.isStale ? base.job : view?.job, original, beforeMade });
  const leave = useLeaving(isDirty);
  const waiting = useOpenApprovals().data?.filter(({ jobId }) => view !== undefined && jobId === view.job.id) ?? [];
  const preview = useSchedulePreview(values, base.form, base.job, original);
  const draft = savedAs({ values, before: base.form, job: base.job, original });
  const over = useOver(view, preview.touched);
  const warnings = useWarnings(draft, over !== undefined);
  // Only of a job as it is stored: whoever types in there has unfolded it, and must not lose their place.
  const [isUnfolded, setUnfolded] = useState(false);
  if (!isUnfolded && !isDirty && advanced.some((field) => warnings.placed.has(field))) setUnfolded(true);
  const words = base.job ?? original;
  const signed = useMemo(() => words && signedWords(words), [words]);
  const root = useRef<HTMLFormElement>(null);
  const [isSaved, setSaved] = useFlash();
  const navigate = useNavigate();

  const submit = async () => {
    if (busy || locked !== undefined || (view && !isDirty)) return;
    const saved = await save();
    if (!saved) {
      requestAnimationFrame(() => focusFirstError(root.current));
      return;
    }
    if (view) {
      take(saved.job);
      setSaved();
    } else {
      leave.freely();
      toast({ title: `Saved “${saved.job.name}”` }, 3_000);
      void navigate({ to: "/jobs/$jobId", params: { jobId: saved.job.id }, replace: true });
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "Enter") return;
    event.preventDefault();
    void submit();
  };
  useSaveKey(() => void submit());
  const showNew = () => {
    if (view) take(view.job);
    calm();
  };

  if (gone !== undefined && !isDirty) return gone;
  return (
    <Page
      title={view ? view.job.name : "New job"}
      lead={view && <StandingDot view={view} standing={standingOf(view, waiting.length > 0)} />}
      about={<span className={styles.brief} aria-hidden>{over ?? sentenceOf(values, preview.shown, preview.problem)}</span>}
      className={styles.page}
      actions={
        <>
          <span role="status" className={styles.saved}>{isSaved && <><Check size={15} aria-hidden /> Saved</>}</span>
          {view && <JobControls view={view} onDeleted={leave.freely} />}
          <Button look="primary" icon={Save} isPending={busy} isDisabled={locked !== undefined || (view !== undefined && !isDirty)} onPress={() => void submit()} aria-keyshortcuts={`${modKey === "⌘" ? "Meta" : "Control"}+S`}>
            Save
          </Button>
        </>
      }
    >
      <Above locked={locked} warnings={warnings.others} trouble={gone !== undefined ? { kind: "gone" } : elsewhere.isStale ? { kind: "stale" } : trouble} view={view} waiting={waiting} onShowNew={showNew} />
      <FormContext value={form}>
        <WarningContext value={warnings.placed}>
          <SignedContext value={signed}>
            <div className={styles.columns}>
              <form ref={root} className={styles.form} aria-label="Job" onSubmit={(event) => event.preventDefault()} onKeyDown={onKeyDown} noValidate>
                <WhatSection isNew={!view} />
                <WhenSection said={preview.said} jobId={view?.job.schedule.kind === "webhook" ? view.job.id : undefined} />
                <WithSection jobId={view?.job.id} />
                <TellSection jobId={view?.job.id} />
                <WrongSection open={isUnfolded || advanced.some((field) => form.formState.errors[field] !== undefined)} />
              </form>
              <LivePanel values={values} draft={draft} preview={preview.shown} problem={preview.problem} over={over} job={view?.job} spent={view?.spentThisMonth} offers={warnings.offers} onAllow={() => allow(form, warnings.offers)} />
            </div>
          </SignedContext>
          {view && <RecentRuns jobId={view.job.id} />}
        </WarningContext>
      </FormContext>
      <Question isOpen={leave.isAsking} onClose={leave.stay} title="Leave without saving?" confirm="Leave" danger onConfirm={leave.go}>
        What you changed here is lost then.
      </Question>
    </Page>
  );
}

/** What became of a job whose only time is behind it, as long as nobody gives it another. */
function useOver(view: JobView | undefined, touched: boolean): string | undefined {
  const now = useNow();
  const { data: newest } = useRunsOfJob(view?.job.id);
  return view && !touched ? onceOver(view, newest?.runs, now) : undefined;
}

function useMarked({ setError }: UseFormReturn<JobForm>, marked: Props["marked"]) {
  const [atFirst] = useState(marked);
  useEffect(() => {
    for (const [field, message] of atFirst ?? []) setError(field, { message });
  }, [atFirst, setError]);
}

/** Takes over what happened to the job elsewhere, unless it would overwrite what is being written here. */
function useElsewhere(view: JobView | undefined, base: Base, isDirty: boolean, take: (job: Job) => void) {
  const differs = view !== undefined && base.job !== undefined && !sameDefinition(view.job, base.job);
  const current = view?.job;
  useEffect(() => {
    if (differs && !isDirty && current) take(current);
    // `take` is made anew with every render; what it does depends on the job alone.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [differs, isDirty, current]);
  return { isStale: differs && isDirty };
}

function useLeaving(isDirty: boolean) {
  const free = useRef(false);
  const blocker = useBlocker({ shouldBlockFn: () => isDirty && !free.current, enableBeforeUnload: () => isDirty && !free.current, withResolver: true });
  return {
    isAsking: blocker.status === "blocked",
    stay: () => blocker.reset?.(),
    go: () => blocker.proceed?.(),
    freely: () => {
      free.current = true;
    },
  };
}

/** Ctrl S and ⌘ S, wherever the focus is, unless a dialog stands above the page. */
function useSaveKey(save: () => void) {
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
  root?.querySelector<HTMLElement>('[data-invalid] :is(input:not([type="hidden"]), textarea, [role="spinbutton"], button), [aria-invalid="true"]')?.focus();
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
      <Switch isSelected={job.enabled} onChange={(on) => void actions.setEnabled(job, on)}>Active</Switch>
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
      <Button icon={Play} onPress={run}>Run now</Button>
    </>
  );
}

interface AboveProps {
  locked: string | undefined;
  trouble: Trouble | { kind: "gone" } | undefined;
  /** What will go wrong as things stand and the form has no field for. */
  warnings: readonly Complaint[];
  view: JobView | undefined;
  waiting: readonly ApprovalView[];
  onShowNew: () => void;
}

function Above({ locked, trouble, warnings, view, waiting, onShowNew }: AboveProps) {
  const incident = view?.incident ?? null;
  const isStranded = view?.predecessorIsGone ?? false;
  if (locked === undefined && !trouble && incident === null && !isStranded && warnings.length + waiting.length === 0) return null;
  return (
    <div className={styles.above}>
      {locked !== undefined && (
        <div role="alert">
          <Notice tone="accent" icon={TriangleAlert}>{locked}</Notice>
        </div>
      )}
      {trouble && (
        <div role="alert">
          {trouble.kind === "stale" && (
            <Notice tone="accent" icon={TriangleAlert} action={<Button small onPress={onShowNew}>Show the new version</Button>}>
              This job was changed elsewhere while you were editing it. Nothing of yours was saved, and nothing was overwritten.
            </Notice>
          )}
          {trouble.kind === "gone" && (
            <Notice tone="bad" icon={TriangleAlert}>This job was deleted elsewhere while you were editing it. What you have written is still here.</Notice>
          )}
          {trouble.kind === "failed" && <Notice tone="bad" icon={TriangleAlert}>It was not saved. <Worded text={trouble.message} /></Notice>}
          {trouble.kind === "complaints" && (
            <Notice tone="bad" icon={TriangleAlert}>
              It was not saved. Something that this page does not show is wrong:
              <ul className={styles.complaints}>
                {trouble.complaints.map(({ path, message }) => (
                  <li key={path}>
                    <code>{path}</code>: <Worded text={sentence(message)} />
                  </li>
                ))}
              </ul>
            </Notice>
          )}
        </div>
      )}
      <AskingNotice waiting={waiting} />
      {warnings.length > 0 && (
        <Notice tone="accent" icon={TriangleAlert}>
          It can be saved, but as things stand it will not do all that it says:
          <ul className={styles.complaints}>
            {warnings.map(({ path, message }) => <li key={path}><Worded text={sentence(message)} /></li>)}
          </ul>
        </Notice>
      )}
      {isStranded && (
        <Notice tone="bad" icon={TriangleAlert}>The job that this one waits for is gone, so it never fires. Choose what it waits for below, or delete it.</Notice>
      )}
      {view && incident && <IncidentNotice job={view.job} incident={incident} />}
    </div>
  );
}
