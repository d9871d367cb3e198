/* Preview of an import. */

import { toSentence } from "@/format/text";
import { useQueryClient } from "@tanstack/react-query";
import { CircleMinus, CirclePlus, CircleX, Power, RefreshCw } from "lucide-react";
import { Fragment, type KeyboardEvent, useMemo, useRef, useState } from "react";

import { Button } from "@/components/Button";
import { Checkbox } from "@/components/Choice";
import { cx } from "@/components/cx";
import { Warning } from "@/components/Field";
import { Collapsible } from "@/components/Collapsible";
import { InvisibleCount, VisibleText } from "@/components/VisibleText";
import { Modal } from "@/components/Modal";
import { Time } from "@/components/Time";
import { toast } from "@/components/Toasts";
import { InlineCode } from "@/components/InlineCode";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { plural } from "@/format/amount";
import { otherZoneName } from "@/format/time";
import { showInvisible } from "@/format/visible";
import type { CronImportResult, ImportFormat, ImportLine, ImportOutcome, JobFact } from "@/platform";

import { settingError } from "./configPatch";
import styles from "./Settings.module.css";

export interface ImportedFile {
  name: string;
  text: string;
  /** Dry run result. */
  result: CronImportResult;
}

const formats: Record<ImportFormat, string> = {
  rouse: "a Rouse export",
  rfc: "a jobs.json",
  openclaw: "jobs of OpenClaw",
  crontab: "a crontab",
  systemcrontab: "a system crontab",
};

const outcomeStyles: Record<ImportOutcome, { icon: typeof CirclePlus; label: string }> = {
  created: { icon: CirclePlus, label: "Will be added" },
  updated: { icon: RefreshCw, label: "Will be replaced" },
  switchedOn: { icon: Power, label: "Will be enabled" },
  skipped: { icon: CircleMinus, label: "Will be skipped" },
  refused: { icon: CircleX, label: "Cannot be imported" },
};

export function ImportReport({ file, onClose }: { file: ImportedFile; onClose: () => void }) {
  const platform = usePlatform();
  const client = useQueryClient();
  const [options, setOptions] = useState({ enable: false, update: false });
  const [result, setResult] = useState(file.result);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const importCount = countImported(result);
  const refused = countRefused(result);

  const ask = async (next: typeof options, dryRun: boolean) => {
    setBusy(true);
    setProblem(undefined);
    try {
      return await platform.rpc("cron.import", { text: file.text, format: result.format, ...next, dryRun });
    } catch (error) {
      setProblem(settingError("text", error));
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  const change = async (next: typeof options) => {
    const preview = await ask(next, true);
    if (!preview) return;
    setOptions(next);
    setResult(preview);
  };
  const save = async () => {
    const done = await ask(options, false);
    if (!done) return;
    for (const queryKey of [keys.jobs, keys.status]) void client.invalidateQueries({ queryKey });
    const refused = countRefused(done);
    toast({
      title: `${plural(countImported(done), "job")} imported${refused === 0 ? "" : `, ${refused.toLocaleString()} refused`}`,
    });
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
          <Button look="primary" isDisabled={importCount === 0} isPending={busy} onPress={() => void save()}>
            {importCount === 0 ? "Nothing to import" : `Import ${plural(importCount, "job")}`}
          </Button>
        </>
      }
    >
      <p>
        Read as {formats[result.format]}.{" "}
        {importCount === 0
          ? "None of these jobs will be imported."
          : `${plural(importCount, "job")} of ${result.lines.length.toLocaleString()} will be imported.`}
        {importCount > 0 && refused > 0 && ` ${refused.toLocaleString()} cannot be imported.`}
      </p>
      <ImportLines lines={result.lines} />
      <div className={styles.wishes}>
        <Checkbox
          isSelected={options.enable}
          isDisabled={busy}
          onChange={(enable) => void change({ ...options, enable })}
          help="Otherwise all start paused. Importing never runs a job."
        >
          Enable jobs that are enabled in the file
        </Checkbox>
        <Checkbox
          isSelected={options.update}
          isDisabled={busy}
          onChange={(update) => void change({ ...options, update })}
          help="Otherwise they are skipped."
        >
          Replace existing jobs
        </Checkbox>
      </div>
      {problem !== undefined && (
        <p className={styles.error} role="alert">
          <InlineCode text={problem} />
        </p>
      )}
    </Modal>
  );
}

function countImported(result: CronImportResult): number {
  return result.lines.filter(({ outcome }) => outcome !== "skipped" && outcome !== "refused").length;
}

function countRefused(result: CronImportResult): number {
  return result.lines.filter(({ outcome }) => outcome === "refused").length;
}

/** Refused lines first, then warnings. */
function urgency({ outcome, warnings }: ImportLine): number {
  return outcome === "refused" ? 0 : warnings.length > 0 ? 1 : 2;
}

/** One Tab stop; arrow keys move between jobs. */
function ImportLines({ lines }: { lines: readonly ImportLine[] }) {
  const list = useRef<HTMLUListElement>(null);
  const shown = useMemo(
    () => lines.map((line, place) => ({ line, place })).toSorted((a, b) => urgency(a.line) - urgency(b.line)),
    [lines],
  );
  const [chosen, setChosen] = useState<number>();
  const first = shown.find(({ line }) => line.facts.length > 0)?.place;
  const current = chosen !== undefined && (lines[chosen]?.facts.length ?? 0) > 0 ? chosen : first;
  const onKeyDown = (event: KeyboardEvent) => {
    const stops = [...(list.current?.querySelectorAll<HTMLElement>("button") ?? [])];
    const at = stops.findIndex((stop) => stop === event.target);
    const to = ({ ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: stops.length - 1 } as Record<string, number>)[
      event.key
    ];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    stops[to]?.focus();
  };
  return (
    <ul
      ref={list}
      className={styles.report}
      aria-label="Import preview"
      tabIndex={first === undefined ? 0 : undefined}
      onKeyDown={onKeyDown}
    >
      {shown.map(({ line, place }) => (
        <ImportLineRow key={place} line={line} isCurrent={place === current} onReach={() => setChosen(place)} />
      ))}
    </ul>
  );
}

function ImportLineRow({ line, isCurrent, onReach }: { line: ImportLine; isCurrent: boolean; onReach: () => void }) {
  const { icon: Icon, label } = outcomeStyles[line.outcome];
  const about = [line.reason, ...line.notes].filter((text) => text !== null);
  const zone = otherZoneName(line.zone ?? undefined);
  return (
    <li
      onFocus={onReach}
      className={cx(styles.line, line.outcome === "refused" ? styles.bad : line.outcome !== "skipped" && styles.good)}
    >
      <Icon size={14} aria-label={label} />
      <div className={styles.job}>
        <VisibleText text={showInvisible(line.name)} />
        {line.enabled && line.outcome !== "skipped" && " (enabled)"}
        {line.scheduleText !== null && (
          <span className={styles.help}>
            {" "}
            <VisibleText text={line.scheduleText} />
            {zone !== undefined && `, ${zone} time`}
            {line.next.length > 0 && (
              <>
                ; next{" "}
                {line.next.map(({ atMs }, i) => (
                  <Fragment key={atMs}>
                    {i > 0 && ", "}
                    <Time at={atMs} as="when" />
                  </Fragment>
                ))}
              </>
            )}
            .
          </span>
        )}
        {about.map((text) => (
          <span key={text} className={styles.help}>
            {" "}
            <InlineCode text={showInvisible(toSentence(text))} />
          </span>
        ))}
        {line.warnings.map(({ field, message }) => (
          <Warning key={field}>{toSentence(message)}</Warning>
        ))}
        {line.facts.length > 0 && <JobFacts facts={line.facts} isCurrent={isCurrent} />}
      </div>
    </li>
  );
}

/** Details of a job, collapsed; invisible characters are always reported. */
function JobFacts({ facts, isCurrent }: { facts: readonly JobFact[]; isCurrent: boolean }) {
  return (
    <>
      <Collapsible
        title="Details"
        excludeFromTabOrder={!isCurrent}
        summary={<VisibleText text={facts[0]?.text ?? ""} />}
      >
        <dl className={styles.facts}>
          {facts.map(({ about, text }, i) => (
            <div key={i}>
              <dt>{about}</dt>
              <dd>
                <VisibleText text={text} />
              </dd>
            </div>
          ))}
        </dl>
      </Collapsible>
      <InvisibleCount text={facts.map(({ text }) => text).join("\n")} />
    </>
  );
}
