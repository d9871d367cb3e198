/* Data directory, retention, backups, export and import. */

import { Download, Upload } from "lucide-react";
import { useState } from "react";
import { FileTrigger } from "react-aria-components";

import { Button } from "@/components/Button";
import { Section } from "@/components/Page";
import { toast } from "@/components/Toasts";
import { usePlatform } from "@/data/platform";
import type { ConfigView, SystemStatus } from "@/platform";

import { BackupsSetting } from "./BackupsSetting";
import { ImportReport, type ImportedFile } from "./ImportReport";
import { readTextFile } from "./importFile";
import { RetentionSettings } from "./RetentionSettings";
import { settingError } from "./configPatch";
import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";
import { useSaveState } from "./useSetting";

export function DataSection({ config, status }: { config: ConfigView; status: SystemStatus | undefined }) {
  return (
    <Section title="Data" id="data">
      <div className={styles.list}>
        {status && <PathSetting title="Data directory" path={status.home} />}
        <PathSetting title="Settings file" path={config.path} />
        {config.riskyWorkspace.root === null ? (
          <PathSetting title="Workspace" path={config.workspace} />
        ) : (
          <PathSetting title="Workspace (risky mode)" path={config.riskyWorkspace.root} />
        )}
        <RetentionSettings config={config} />
        <BackupsSetting />
        <Export />
        <Import />
      </div>
    </Section>
  );
}

function PathSetting({ title, path }: { title: string; path: string }) {
  const { copyText } = usePlatform();
  const copy = () =>
    void copyText(path).then(
      () => toast({ title: "Path copied" }, 3_000),
      (error: unknown) => toast({ title: "Could not copy", about: String(error) }),
    );
  return (
    <SettingRow title={title} help={<code>{path}</code>}>
      <Button small look="ghost" onPress={copy} aria-label={`Copy path: ${title}`}>
        Copy
      </Button>
    </SettingRow>
  );
}

function Export() {
  const platform = usePlatform();
  const [saveState, follow] = useSaveState();
  const text = async () => `${JSON.stringify(await platform.rpc("cron.export", {}), null, 2)}\n`;
  const save = async () => {
    const path = await platform.saveFile("rouse-jobs.json", await text());
    if (path !== null) toast({ title: "Jobs exported", about: path });
  };
  return (
    <SettingRow title="Export all jobs" help="A file in the job format, without runs." saveState={saveState}>
      <Button small look="ghost" onPress={() => void follow(async () => platform.copyText(await text()))}>
        Copy
      </Button>
      <Button small icon={Download} isPending={saveState.kind === "saving"} onPress={() => void follow(save)}>
        Export
      </Button>
    </SettingRow>
  );
}

function Import() {
  const platform = usePlatform();
  const [file, setFile] = useState<ImportedFile>();
  const [problem, setProblem] = useState<string>();
  const open = async (files: FileList | null) => {
    const [chosen] = files ?? [];
    if (!chosen) return;
    setProblem(undefined);
    try {
      const text = await readTextFile(chosen);
      const result = await platform.rpc("cron.import", { text, dryRun: true });
      setFile({ name: chosen.name, text, result });
    } catch (error) {
      setProblem(settingError("text", error));
    }
  };
  return (
    <SettingRow
      title="Import jobs"
      help="From an export, another program’s jobs.json, or a crontab. You preview the changes first."
      saveState={problem === undefined ? undefined : { kind: "failed", message: problem }}
    >
      <FileTrigger onSelect={(files) => void open(files)}>
        <Button small icon={Upload}>
          Choose file
        </Button>
      </FileTrigger>
      {file && <ImportReport file={file} onClose={() => setFile(undefined)} />}
    </SettingRow>
  );
}
