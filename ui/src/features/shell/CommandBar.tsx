/* The command bar: jump to any job or run, start one, pause everything. It fetches nothing until it is opened. */

import { useRouter } from "@tanstack/react-router";
import { CalendarClock, CirclePlay, History, House, Keyboard, Pause, Play, Plus, Search, Settings2 } from "lucide-react";
import type { ReactNode } from "react";
import { Autocomplete, Dialog, Header, Input, Menu, MenuItem, MenuSection, Modal, ModalOverlay, SearchField, Text, useFilter } from "react-aria-components";

import { Time } from "@/components/Time";
import { toast } from "@/components/Toasts";
import { usePause, useResume, useRunNow } from "@/data/actions";
import { useJobs, useStatus } from "@/data/queries";
import { useNewestRuns } from "@/data/runs";
import { outcomeWords, scheduleWords } from "@/domain/words";
import { StateGlyph } from "@/domain/runState";

import styles from "./CommandBar.module.css";
import { pauseChoices } from "./engine";

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
  /** When it was; always seen. */
  at?: number;
  icon: ReactNode;
  /** More words that find it. */
  words?: string;
  run: () => void;
}

function Commands({ onClose, onHelp }: Omit<Props, "isOpen">) {
  const { contains } = useFilter({ sensitivity: "base" });
  const sections = useSections(onHelp);
  const matches = (text: string, typed: string) => typed.trim().split(/\s+/).every((word) => contains(text, word));
  return (
    <Autocomplete filter={matches}>
      <SearchField aria-label="Search and commands" autoFocus className={styles.field}>
        <Search size={16} aria-hidden />
        <Input className={styles.input} placeholder="Jump to a job or run, or type a command" />
      </SearchField>
      <Menu
        aria-label="Results"
        className={styles.results}
        renderEmptyState={() => <p className={styles.none}>Nothing found. Names of jobs, outcomes of recent runs, and commands can be searched.</p>}
      >
        {sections.map(({ title, commands }) => (
          <MenuSection key={title} id={title} className={styles.section}>
            <Header className={styles.title}>{title}</Header>
            {commands.map((command) => (
              <Line
                key={command.id}
                command={command}
                onAction={() => {
                  onClose();
                  command.run();
                }}
              />
            ))}
          </MenuSection>
        ))}
      </Menu>
    </Autocomplete>
  );
}

function Line({ command, onAction }: { command: Command; onAction: () => void }) {
  return (
    <MenuItem id={command.id} textValue={`${command.label} ${command.words ?? ""}`} onAction={onAction} className={styles.item}>
      <span className={styles.icon}>{command.icon}</span>
      <Text slot="label" className={styles.label}>{command.label}</Text>
      {command.about !== undefined && <Text slot="description" className={styles.about}>{command.about}</Text>}
      {command.at !== undefined && <Time at={command.at} className={styles.at} />}
    </MenuItem>
  );
}

/** The bar is gone before the answer comes, so the answer is told by a toast; `mutate`'s own callbacks would go with the bar. */
async function told<T>(call: Promise<T>, failure: string, success?: (answer: T) => void) {
  try {
    const answer = await call;
    success?.(answer);
  } catch (error) {
    toast({ title: failure, about: error instanceof Error ? error.message : String(error) });
  }
}

function useSections(onHelp: () => void): { title: string; commands: Command[] }[] {
  const sections = [
    { title: "Jobs", commands: useJobCommands() },
    { title: "Commands", commands: useGeneralCommands(onHelp) },
    { title: "Recent runs", commands: useRunCommands() },
  ];
  return sections.filter(({ commands }) => commands.length > 0);
}

function useJobCommands(): Command[] {
  const router = useRouter();
  const runNow = useRunNow();
  const jobs = useJobs().data ?? [];
  const open = (runId: string) => void router.navigate({ to: "/runs/$runId", params: { runId } });
  const start = (id: string, name: string) =>
    void told(runNow.mutateAsync({ id, mode: "force" }), `${name} was not started`, ({ runId }) =>
      toast({ title: `Started ${name}`, ...(runId !== null && { action: { label: "Open run", onAction: () => open(runId) } }) }),
    );
  return jobs.flatMap((view) => [
    {
      id: `job:${view.job.id}`,
      label: view.job.name,
      about: scheduleWords(view),
      icon: <CalendarClock size={15} aria-hidden />,
      words: "open edit job",
      run: () => void router.navigate({ to: "/jobs/$jobId", params: { jobId: view.job.id } }),
    },
    {
      id: `run:${view.job.id}`,
      label: `Run ${view.job.name}`,
      icon: <CirclePlay size={15} aria-hidden />,
      words: "start now job",
      run: () => start(view.job.id, view.job.name),
    },
  ]);
}

function useRunCommands(): Command[] {
  const router = useRouter();
  const runs = useNewestRuns().data?.runs ?? [];
  return runs.slice(0, 20).map((run) => ({
    id: `history:${run.id}`,
    label: run.jobName,
    about: outcomeWords(run),
    at: run.startedAtMs ?? run.createdAtMs,
    icon: <StateGlyph state={run.state} size={15} />,
    words: `run ${outcomeWords(run)}`,
    run: () => void router.navigate({ to: "/runs/$runId", params: { runId: run.id } }),
  }));
}

function useGeneralCommands(onHelp: () => void): Command[] {
  const router = useRouter();
  const pause = usePause();
  const resume = useResume();
  const paused = useStatus().data?.cron.pause !== null;
  const places = [
    { id: "/", label: "Home", icon: <House size={15} aria-hidden /> },
    { id: "/jobs", label: "Jobs", icon: <CalendarClock size={15} aria-hidden /> },
    { id: "/runs", label: "Runs", icon: <History size={15} aria-hidden /> },
    { id: "/settings", label: "Settings", icon: <Settings2 size={15} aria-hidden /> },
  ];
  return [
    { id: "new", label: "New job", icon: <Plus size={15} aria-hidden />, words: "create add schedule", run: () => void router.navigate({ href: "/jobs/new" }) },
    ...(paused ? [{ id: "resume", label: "Resume all jobs", icon: <Play size={15} aria-hidden />, words: "unpause", run: () => void told(resume.mutateAsync({}), "It was not resumed") }] : []),
    ...pauseChoices.map(({ id, words, until }) => ({
      id: `pause:${id}`,
      label: `Pause all jobs ${words}`,
      icon: <Pause size={15} aria-hidden />,
      words: "stop",
      run: () => void told(pause.mutateAsync({ untilMs: until(Date.now()) }), "It was not paused"),
    })),
    ...places.map(({ id, label, icon }) => ({ id: `go:${id}`, label: `Go to ${label}`, icon, run: () => void router.navigate({ href: id }) })),
    { id: "help", label: "Keyboard shortcuts", icon: <Keyboard size={15} aria-hidden />, words: "help keys", run: onHelp },
  ];
}
