/* What an import would do, job by job, before it does it. */

import { useQueryClient } from "@tanstack/react-query";
import { CircleMinus, CirclePlus, CircleX, Power, RefreshCw } from "lucide-react";
import { Fragment, type KeyboardEvent, useMemo, useRef, useState } from "react";

import { Button } from "@/components/Button";
import { Checkbox } from "@/components/Choice";
import { cx } from "@/components/cx";
import { Warning } from "@/components/Field";
import { Folded } from "@/components/Folded";
import { HiddenCount, Marks } from "@/components/Marks";
import { Modal } from "@/components/Modal";
import { Time } from "@/components/Time";
import { toast } from "@/components/Toasts";
import { Worded } from "@/components/Worded";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { plural } from "@/format/amount";
import { foreignZone } from "@/format/time";
import { visible } from "@/format/visible";
import type { CronImportResult, ImportFormat, ImportLine, ImportOutcome, JobFact } from "@/platform";

import { complaintAbout, sentence } from "./patch";
import styles from "./Settings.module.css";

export interface ImportedFile {
  name: string;
  text: string;
  /** What the dry run said. */
  result: CronImportResult;
}

const formats: Record<ImportFormat, string> = { rouse: "an export of Rouse", rfc: "a jobs.json", openclaw: "jobs of OpenClaw", crontab: "a crontab", systemcrontab: "a system crontab" };

const looks: Record<ImportOutcome, { icon: typeof CirclePlus; label: string }> = {
  created: { icon: CirclePlus, label: "Will be added" },
  updated: { icon: RefreshCw, label: "Will be replaced" },
  switchedOn: { icon: Power, label: "Will be switched on" },
  skipped: { icon: CircleMinus, label: "Will be left alone" },
  refused: { icon: CircleX, label: "Cannot be taken" },
};

export function ImportReport({ file, onClose }: { file: ImportedFile; onClose: () => void }) {
  const platform = usePlatform();
  const client = useQueryClient();
  const [wish, setWish] = useState({ enable: false, update: false });
  const [result, setResult] = useState(file.result);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const taken = takenOf(result);
  const refused = refusedOf(result);

  const ask = async (next: typeof wish, dryRun: boolean) => {
    setBusy(true);
    setProblem(undefined);
    try {
      return await platform.rpc("cron.import", { text: file.text, format: result.format, ...next, dryRun });
    } catch (error) {
      setProblem(complaintAbout("text", error));
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  const change = async (next: typeof wish) => {
    const looked = await ask(next, true);
    if (!looked) return;
    setWish(next);
    setResult(looked);
  };
  const save = async () => {
    const done = await ask(wish, false);
    if (!done) return;
    for (const queryKey of [keys.jobs, keys.status]) void client.invalidateQueries({ queryKey });
    const refused = refusedOf(done);
    toast({ title: `${plural(takenOf(done), "job")} imported${refused === 0 ? "" : `, ${refused.toLocaleString()} refused`}` });
    onClose();
  };
  return (
    <Modal
      isOpen
      onClose={onClose}
      title={`Import from ${file.name}`}
      wide
      footer={
        <>
          <Button onPress={onClose}>Cancel</Button>
          <Button look="primary" isDisabled={taken === 0} isPending={busy} onPress={() => void save()}>
            {taken === 0 ? "Nothing to import" : `Import ${plural(taken, "job")}`}
          </Button>
        </>
      }
    >
      <p>
        Read as {formats[result.format]}. {taken === 0 ? "None of these jobs will be imported." : `${plural(taken, "job")} of ${result.lines.length.toLocaleString()} will be imported.`}
        {taken > 0 && refused > 0 && ` ${refused.toLocaleString()} cannot be taken.`}
      </p>
      <Lines lines={result.lines} />
      <div className={styles.wishes}>
        <Checkbox isSelected={wish.enable} isDisabled={busy} onChange={(enable) => void change({ ...wish, enable })} help="Otherwise all of them begin paused. None fires because it is imported.">
          Switch on those that are on in the file
        </Checkbox>
        <Checkbox isSelected={wish.update} isDisabled={busy} onChange={(update) => void change({ ...wish, update })} help="Otherwise they are left alone.">
          Replace jobs that are here already
        </Checkbox>
      </div>
      {problem !== undefined && <p className={styles.error} role="alert"><Worded text={problem} /></p>}
    </Modal>
  );
}

function takenOf(result: CronImportResult): number {
  return result.lines.filter(({ outcome }) => outcome !== "skipped" && outcome !== "refused").length;
}

function refusedOf(result: CronImportResult): number {
  return result.lines.filter(({ outcome }) => outcome === "refused").length;
}

/** What wants to be looked at stands first: what is refused, then what is warned of. */
function urgency({ outcome, warnings }: ImportLine): number {
  return outcome === "refused" ? 0 : warnings.length > 0 ? 1 : 2;
}

/** A file may have hundreds of jobs: all of them are one stop of Tab, and the arrows go from one to the next. */
function Lines({ lines }: { lines: readonly ImportLine[] }) {
  const list = useRef<HTMLUListElement>(null);
  const shown = useMemo(() => lines.map((line, place) => ({ line, place })).toSorted((a, b) => urgency(a.line) - urgency(b.line)), [lines]);
  const [chosen, setChosen] = useState<number>();
  const first = shown.find(({ line }) => line.facts.length > 0)?.place;
  const current = chosen !== undefined && (lines[chosen]?.facts.length ?? 0) > 0 ? chosen : first;
  const onKeyDown = (event: KeyboardEvent) => {
    const stops = [...(list.current?.querySelectorAll<HTMLElement>("button") ?? [])];
    const at = stops.findIndex((stop) => stop === event.target);
    const to = ({ ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: stops.length - 1 } as Record<string, number>)[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    stops[to]?.focus();
  };
  return (
    <ul ref={list} className={styles.report} aria-label="What would happen" tabIndex={first === undefined ? 0 : undefined} onKeyDown={onKeyDown}>
      {shown.map(({ line, place }) => <Line key={place} line={line} isCurrent={place === current} onReach={() => setChosen(place)} />)}
    </ul>
  );
}

function Line({ line, isCurrent, onReach }: { line: ImportLine; isCurrent: boolean; onReach: () => void }) {
  const { icon: Icon, label } = looks[line.outcome];
  const about = [line.reason, ...line.notes].filter((text) => text !== null);
  const zone = foreignZone(line.zone ?? undefined);
  return (
    <li onFocus={onReach} className={cx(styles.line, line.outcome === "refused" ? styles.bad : line.outcome !== "skipped" && styles.good)}>
      <Icon size={14} aria-label={label} />
      <div className={styles.job}>
        <Marks text={visible(line.name)} />
        {line.enabled && line.outcome !== "skipped" && " (on)"}
        {line.scheduleText !== null && (
          <span className={styles.help}>
            {" "}
            <Marks text={line.scheduleText} />{zone !== undefined && `, ${zone} time`}
            {line.next.length > 0 && <>; next {line.next.map(({ atMs }, i) => <Fragment key={atMs}>{i > 0 && ", "}<Time at={atMs} as="when" /></Fragment>)}</>}.
          </span>
        )}
        {about.map((text) => <span key={text} className={styles.help}> <Worded text={visible(sentence(text))} /></span>)}
        {line.warnings.map(({ field, message }) => <Warning key={field}>{sentence(message)}</Warning>)}
        {line.facts.length > 0 && <Facts facts={line.facts} isCurrent={isCurrent} />}
      </div>
    </li>
  );
}

/** All that a job does and how: one line while nobody asks, and whole when somebody does. That something in it cannot be seen is said in any case. */
function Facts({ facts, isCurrent }: { facts: readonly JobFact[]; isCurrent: boolean }) {
  return (
    <>
      <Folded title="What it does" excludeFromTabOrder={!isCurrent} summary={<Marks text={facts[0]?.text ?? ""} />}>
        <dl className={styles.facts}>
          {facts.map(({ about, text }, i) => (
            <div key={i}>
              <dt>{about}</dt>
              <dd><Marks text={text} /></dd>
            </div>
          ))}
        </dl>
      </Folded>
      <HiddenCount text={facts.map(({ text }) => text).join("\n")} />
    </>
  );
}
