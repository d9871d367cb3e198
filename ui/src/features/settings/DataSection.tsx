/* Where the data lives, and taking jobs out and in as a file. */

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
import { textOf } from "./importFile";
import { KeptSettings } from "./KeptSettings";
import { complaintAbout } from "./patch";
import { Setting } from "./Setting";
import styles from "./Settings.module.css";
import { useFate } from "./useSetting";

export function DataSection({ config, status }: { config: ConfigView; status: SystemStatus | undefined }) {
  return (
    <Section title="Data" id="data">
      <div className={styles.list}>
        {status && <PathSetting title="Everything Rouse keeps" path={status.home} />}
        <PathSetting title="Settings file" path={config.path} />
        {config.riskyWorkspace.root === null ? (
          <PathSetting title="Workspace, the folder that file tools may see" path={config.workspace} />
        ) : (
          <PathSetting title="Workspace, opened wider than is safe (risky mode)" path={config.riskyWorkspace.root} />
        )}
        <KeptSettings config={config} />
        <BackupsSetting />
        <Export />
        <Import />
      </div>
    </Section>
  );
}

function PathSetting({ title, path }: { title: string; path: string }) {
  const { copyText } = usePlatform();
  const copy = () => void copyText(path).then(() => toast({ title: "Path copied" }, 3_000), (error: unknown) => toast({ title: "It was not copied", about: String(error) }));
  return (
    <Setting title={title} help={<code>{path}</code>}>
      <Button small look="ghost" onPress={copy} aria-label={`Copy path: ${title}`}>
        Copy
      </Button>
    </Setting>
  );
}

function Export() {
  const platform = usePlatform();
  const [fate, follow] = useFate();
  const text = async () => `${JSON.stringify(await platform.rpc("cron.export", {}), null, 2)}\n`;
  const save = async () => {
    const path = await platform.saveFile("rouse-jobs.json", await text());
    if (path !== null) toast({ title: "Jobs exported", about: path });
  };
  return (
    <Setting title="Export all jobs" help="As a file in the job format, without their runs." fate={fate}>
      <Button small look="ghost" onPress={() => void follow(async () => platform.copyText(await text()))}>
        Copy
      </Button>
      <Button small icon={Download} isPending={fate.kind === "saving"} onPress={() => void follow(save)}>
        Export
      </Button>
    </Setting>
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
      const text = await textOf(chosen);
      const result = await platform.rpc("cron.import", { text, dryRun: true });
      setFile({ name: chosen.name, text, result });
    } catch (error) {
      setProblem(complaintAbout("text", error));
    }
  };
  return (
    <Setting
      title="Import jobs"
      help="From an export, from the jobs.json of another program, or from a crontab. What would happen is shown first."
      fate={problem === undefined ? undefined : { kind: "failed", message: problem }}
    >
      <FileTrigger onSelect={(files) => void open(files)}>
        <Button small icon={Upload}>
          Choose a file
        </Button>
      </FileTrigger>
      {file && <ImportReport file={file} onClose={() => setFile(undefined)} />}
    </Setting>
  );
}
