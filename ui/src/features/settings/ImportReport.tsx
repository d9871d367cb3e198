/* What an import would do, job by job, before it does it. */

import { useQueryClient } from "@tanstack/react-query";
import { CircleCheck, CircleX } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { Checkbox } from "@/components/Choice";
import { cx } from "@/components/cx";
import { Modal } from "@/components/Modal";
import { toast } from "@/components/Toasts";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { plural } from "@/format/amount";
import type { ImportLine } from "@/platform";

import { complaintAbout, sentence } from "./patch";
import styles from "./Settings.module.css";

export interface ImportedFile {
  name: string;
  jobs: Record<string, unknown>[];
  lines: ImportLine[];
}

export function ImportReport({ file, onClose }: { file: ImportedFile; onClose: () => void }) {
  const platform = usePlatform();
  const client = useQueryClient();
  const [keepEnabled, setKeepEnabled] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const good = file.jobs.filter((_, i) => file.lines[i]?.ok);
  const add = async () => {
    setBusy(true);
    try {
      const { lines } = await platform.rpc("cron.import", { jobs: good, keepEnabled });
      for (const queryKey of [keys.jobs, keys.status]) void client.invalidateQueries({ queryKey });
      toast({ title: `${plural(lines.filter((line) => line.ok).length, "job")} imported` });
      onClose();
    } catch (error) {
      setProblem(complaintAbout("", error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal isOpen onClose={onClose} title={`Import from ${file.name}`} wide>
      <p>{good.length === 0 ? "None of these jobs can be imported." : `${plural(good.length, "job")} of ${file.jobs.length} can be imported.`}</p>
      <ul className={styles.report} aria-label="What would happen">
        {file.lines.map((line, i) => (
          <li key={i} className={cx(styles.line, line.ok ? styles.good : styles.bad)}>
            {line.ok ? <CircleCheck size={14} aria-label="Can be imported" /> : <CircleX size={14} aria-label="Cannot be imported" />}
            <span>
              {line.name}
              {line.message !== null && <span className={styles.help}> {sentence(line.message)}</span>}
            </span>
          </li>
        ))}
      </ul>
      <Checkbox isSelected={keepEnabled} onChange={setKeepEnabled} help="Otherwise all of them begin paused.">
        Let those that are active in the file fire at once
      </Checkbox>
      {problem !== undefined && <p className={styles.error} role="alert">{problem}</p>}
      <div className={styles.actions} style={{ justifyContent: "flex-end", marginTop: 20 }}>
        <Button onPress={onClose}>Cancel</Button>
        <Button look="primary" isDisabled={good.length === 0} isPending={busy} onPress={() => void add()}>
          Import {plural(good.length, "job")}
        </Button>
      </div>
    </Modal>
  );
}
