/* What an import would do, job by job, before it does it. */

import { useQueryClient } from "@tanstack/react-query";
import { CircleMinus, CirclePlus, CircleX, Power, RefreshCw } from "lucide-react";
import { Fragment, useState } from "react";

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

const formats: Record<ImportFormat, string> = { rouse: "an export of Rouse", rfc: "a jobs.json", openclaw: "jobs of OpenClaw", crontab: "a crontab" };

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
    toast({ title: `${plural(takenOf(done), "job")} imported` });
    onClose();
  };
  return (
    <Modal isOpen onClose={onClose} title={`Import from ${file.name}`} wide>
      <p>
        Read as {formats[result.format]}. {taken === 0 ? "None of these jobs will be imported." : `${plural(taken, "job")} of ${result.lines.length} will be imported.`}
      </p>
      <ul className={styles.report} aria-label="What would happen">
        {result.lines.map((line, i) => <Line key={i} line={line} />)}
      </ul>
      <div className={styles.wishes}>
        <Checkbox isSelected={wish.enable} isDisabled={busy} onChange={(enable) => void change({ ...wish, enable })} help="Otherwise all of them begin paused. None fires because it is imported.">
          Switch on those that are on in the file
        </Checkbox>
        <Checkbox isSelected={wish.update} isDisabled={busy} onChange={(update) => void change({ ...wish, update })} help="Otherwise they are left alone.">
          Replace jobs that are here already
        </Checkbox>
      </div>
      {problem !== undefined && <p className={styles.error} role="alert"><Worded text={problem} /></p>}
      <div className={styles.actions} style={{ justifyContent: "flex-end", marginTop: 20 }}>
        <Button onPress={onClose}>Cancel</Button>
        <Button look="primary" isDisabled={taken === 0} isPending={busy} onPress={() => void save()}>
          {taken === 0 ? "Nothing to import" : `Import ${plural(taken, "job")}`}
        </Button>
      </div>
    </Modal>
  );
}

function takenOf(result: CronImportResult): number {
  return result.lines.filter(({ outcome }) => outcome !== "skipped" && outcome !== "refused").length;
}

function Line({ line }: { line: ImportLine }) {
  const { icon: Icon, label } = looks[line.outcome];
  const about = [line.reason, ...line.notes].filter((text) => text !== null);
  const zone = foreignZone(line.zone ?? undefined);
  return (
    <li className={cx(styles.line, line.outcome === "refused" ? styles.bad : line.outcome !== "skipped" && styles.good)}>
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
        {line.facts.length > 0 && <Facts facts={line.facts} />}
      </div>
    </li>
  );
}

/** All that a job does and how: one line while nobody asks, and whole when somebody does. That something in it cannot be seen is said in any case. */
function Facts({ facts }: { facts: readonly JobFact[] }) {
  return (
    <>
      <Folded title="What it does" summary={<Marks text={facts[0]?.text ?? ""} />}>
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
