/* Command bar: jobs, runs and commands. Loads data when opened. */

import { useRouter } from "@tanstack/react-router";
import {
  CalendarClock,
  CirclePlay,
  Hand,
  History,
  House,
  Keyboard,
  MessagesSquare,
  Pause,
  Play,
  Plus,
  Search,
  Settings2,
  ShieldCheck,
  Wrench,
} from "lucide-react";
import { type ReactNode, useState } from "react";
import {
  Autocomplete,
  Dialog,
  Header,
  Input,
  ListBox,
  ListBoxItem,
  ListBoxSection,
  Modal,
  ModalOverlay,
  SearchField,
  Text,
  useFilter,
} from "react-aria-components";

import { Time } from "@/components/Time";
import { toast } from "@/components/Toasts";
import { useMay } from "@/data/access";
import { usePause, useResume, useRunNow } from "@/data/actions";
import { useOpenApprovals } from "@/data/approvals";
import { subjectText } from "@/domain/approval/subject";
import { useJobs } from "@/data/jobs";
import { useStatus } from "@/data/queries";
import { useNewestRuns } from "@/data/runs";
import { useStartedToast } from "@/data/useStartedToast";
import { outcomeSummary, scheduleLabel } from "@/domain/labels";
import { shownState, StateGlyph, stateLabel } from "@/domain/runState";

import styles from "./CommandBar.module.css";
import { pauseChoices } from "./engineState";

interface Props {
  isOpen: boolean;
  onClose: () => void;
  onHelp: () => void;
}

export function CommandBar({ isOpen, onClose, onHelp }: Props) {
  return (
    <ModalOverlay className={styles.scrim} isOpen={isOpen} onOpenChange={(open) => !open && onClose()} isDismissable>
      <Modal className={styles.modal}>
        <Dialog aria-label="Search and commands" className={styles.dialog}>
          <Commands onClose={onClose} onHelp={onHelp} />
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

interface Command {
  id: string;
  label: string;
  about?: string;
  /** Time, always visible. */
  at?: number;
  icon: ReactNode;
  /** Additional search words. */
  words?: string;
  run: () => void;
}

function Commands({ onClose, onHelp }: Omit<Props, "isOpen">) {
  const [typed, setTyped] = useState("");
  const sections = useSections(onHelp, typed);
  return (
    <Autocomplete inputValue={typed} onInputChange={setTyped}>
      <SearchField aria-label="Search and commands" autoFocus className={styles.field}>
        <Search size={16} aria-hidden />
        <Input
          role="combobox"
          aria-expanded
          className={styles.input}
          placeholder="Jump to a job or run, or type a command"
        />
      </SearchField>
      <ListBox
        aria-label="Results"
        className={styles.results}
        renderEmptyState={() => (
          <p className={styles.none}>No results. You can search jobs, recent runs and commands.</p>
        )}
      >
        {sections.map(({ title, commands }) => (
          <ListBoxSection key={title} id={title} className={styles.section}>
            <Header className={styles.title}>{title}</Header>
            {commands.map((command) => (
              <CommandRow
                key={command.id}
                command={command}
                onAction={() => {
                  onClose();
                  command.run();
                }}
              />
            ))}
          </ListBoxSection>
        ))}
      </ListBox>
    </Autocomplete>
  );
}

function CommandRow({ command, onAction }: { command: Command; onAction: () => void }) {
  return (
    <ListBoxItem
      id={command.id}
      textValue={`${command.label} ${command.words ?? ""}`}
      onAction={onAction}
      className={styles.item}
    >
      <span className={styles.icon}>{command.icon}</span>
      <Text slot="label" className={styles.label}>
        {command.label}
      </Text>
      {command.about !== undefined && (
        <Text slot="description" className={styles.about}>
          {command.about}
        </Text>
      )}
      {command.at !== undefined && <Time at={command.at} className={styles.at} />}
    </ListBoxItem>
  );
}

/** The bar closes before the response, so failures are toasts. */
async function withFailureToast<T>(call: Promise<T>, failure: string, success?: (answer: T) => void) {
  try {
    const answer = await call;
    success?.(answer);
  } catch (error) {
    toast({ title: failure, about: error instanceof Error ? error.message : String(error) });
  }
}

interface Group {
  title: string;
  commands: Command[];
}

const maxShown = { typed: 8, untyped: 5 };

/** Matching commands; without input some of each group. */
function useSections(onHelp: () => void, typed: string): Group[] {
  const { contains } = useFilter({ sensitivity: "base" });
  const { open, run } = useJobCommands();
  const runs = { title: "Recent runs", commands: useRunCommands() };
  const waiting = { title: "Needs you", commands: useWaitingCommands() };
  const general = { title: "Commands", commands: useGeneralCommands(onHelp) };
  const words = typed
    .trim()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0)
    return nonEmptyGroups(
      [waiting, { title: "Jobs", commands: open }, runs, general].map((group) => first(group, maxShown.untyped)),
    );
  const fits = ({ label, words: more = "" }: Command) => words.every((word) => contains(`${label} ${more}`, word));
  const groups = [waiting, { title: "Jobs", commands: open }, { title: "Run now", commands: run }, general, runs];
  return nonEmptyGroups(
    groups.map(({ title, commands }) => first({ title, commands: commands.filter(fits) }, maxShown.typed)),
  );
}

function first({ title, commands }: Group, most: number): Group {
  return { title, commands: commands.slice(0, most) };
}

function nonEmptyGroups(groups: Group[]): Group[] {
  return groups.filter(({ commands }) => commands.length > 0);
}

function useJobCommands(): { open: Command[]; run: Command[] } {
  const router = useRouter();
  const runNow = useRunNow();
  const mayRun = useMay("cron.run");
  const started = useStartedToast();
  const jobs = useJobs().data ?? [];
  const start = (id: string, name: string) =>
    void withFailureToast(runNow.mutateAsync({ id, mode: "force" }), `Could not start ${name}`, ({ runId }) =>
      started(name, runId),
    );
  return {
    open: jobs.map((view) => ({
      id: `job:${view.job.id}`,
      label: view.job.name,
      about: scheduleLabel(view),
      icon: <CalendarClock size={15} aria-hidden />,
      words: "open edit job",
      run: () => void router.navigate({ to: "/jobs/$jobId", params: { jobId: view.job.id } }),
    })),
    run: (mayRun ? jobs : []).map(({ job }) => ({
      id: `run:${job.id}`,
      label: `Run ${job.name}`,
      icon: <CirclePlay size={15} aria-hidden />,
      words: "start now job",
      run: () => start(job.id, job.name),
    })),
  };
}

function useWaitingCommands(): Command[] {
  const router = useRouter();
  const waiting = useOpenApprovals().data ?? [];
  return waiting.map((approval) => ({
    id: `ask:${approval.id}`,
    label: `${subjectText(approval)} in ${approval.jobName}`,
    icon: <Hand size={15} aria-hidden />,
    words: "needs you approval approve allow deny",
    run: () => void router.navigate({ to: "/approvals/$approvalId", params: { approvalId: approval.id } }),
  }));
}

function useRunCommands(): Command[] {
  const router = useRouter();
  const runs = useNewestRuns().data?.runs ?? [];
  return runs.slice(0, 20).map((run) => ({
    id: `history:${run.id}`,
    label: run.jobName,
    about: outcomeSummary(run) || stateLabel(shownState(run)),
    at: run.startedAtMs ?? run.createdAtMs,
    icon: <StateGlyph state={shownState(run)} size={15} />,
    words: `run ${outcomeSummary(run)}`,
    run: () => void router.navigate({ to: "/runs/$runId", params: { runId: run.id } }),
  }));
}

function useGeneralCommands(onHelp: () => void): Command[] {
  const router = useRouter();
  const pause = usePause();
  const resume = useResume();
  const mayChange = useMay("cron.add");
  const paused = useStatus().data?.cron.pause !== null;
  const places = [
    { id: "/", label: "Home", icon: <House size={15} aria-hidden /> },
    { id: "/jobs", label: "Jobs", icon: <CalendarClock size={15} aria-hidden /> },
    { id: "/runs", label: "Runs", icon: <History size={15} aria-hidden /> },
    { id: "/approvals", label: "Needs you", icon: <Hand size={15} aria-hidden /> },
    { id: "/grants", label: "Grants", icon: <ShieldCheck size={15} aria-hidden /> },
    { id: "/chat", label: "Chat", icon: <MessagesSquare size={15} aria-hidden /> },
    { id: "/tools", label: "Tools", icon: <Wrench size={15} aria-hidden /> },
    { id: "/settings", label: "Settings", icon: <Settings2 size={15} aria-hidden /> },
  ];
  return [
    ...(mayChange
      ? [
          {
            id: "new",
            label: "New job",
            icon: <Plus size={15} aria-hidden />,
            words: "create add schedule",
            run: () => void router.navigate({ href: "/jobs/new" }),
          },
        ]
      : []),
    ...(paused && mayChange
      ? [
          {
            id: "resume",
            label: "Resume all jobs",
            icon: <Play size={15} aria-hidden />,
            words: "unpause",
            run: () => void withFailureToast(resume.mutateAsync({}), "Could not resume"),
          },
        ]
      : []),
    ...(mayChange ? pauseChoices : []).map(({ id, words, until }) => ({
      id: `pause:${id}`,
      label: `Pause all jobs ${words}`,
      icon: <Pause size={15} aria-hidden />,
      words: "stop",
      run: () => void withFailureToast(pause.mutateAsync({ untilMs: until(Date.now()) }), "Could not pause"),
    })),
    ...places.map(({ id, label, icon }) => ({
      id: `go:${id}`,
      label: `Go to ${label}`,
      icon,
      run: () => void router.navigate({ href: id }),
    })),
    {
      id: "help",
      label: "Keyboard shortcuts",
      icon: <Keyboard size={15} aria-hidden />,
      words: "help keys",
      run: onHelp,
    },
  ];
}
