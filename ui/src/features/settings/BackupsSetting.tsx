/* Backups: list, create, restore instructions. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Archive } from "lucide-react";

import { Button } from "@/components/Button";
import { Time } from "@/components/Time";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { bytes, plural } from "@/format/amount";
import type { BackupsView } from "@/platform";

import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";
import { useSaveState } from "./useSetting";

export function BackupsSetting() {
  const platform = usePlatform();
  const client = useQueryClient();
  const { data } = useQuery({ queryKey: keys.backups, queryFn: () => platform.rpc("backup.list", {}) });
  const [saveState, follow] = useSaveState();
  const backUp = async () => {
    await platform.rpc("backup.create", {});
    await client.invalidateQueries({ queryKey: keys.backups });
  };
  if (!data) return null;
  return (
    <SettingRow title="Backups" help={<Help view={data} />} saveState={saveState}>
      <Button small icon={Archive} isPending={saveState.kind === "saving"} onPress={() => void follow(backUp)}>
        Back up now
      </Button>
    </SettingRow>
  );
}

function Help({ view: { folder, backups } }: { view: BackupsView }) {
  const newest = backups[0];
  return (
    <>
      {newest ? (
        <>
          Newest: <Time at={newest.madeAtMs} as="within" />.
        </>
      ) : (
        "None yet."
      )}{" "}
      Made daily, without secrets; the last seven are kept in <code>{folder}</code>. To restore one, quit Rouse and run{" "}
      <code>rouse restore FILE</code>.
      <BackupList backups={backups} />
    </>
  );
}

function BackupList({ backups }: Pick<BackupsView, "backups">) {
  if (backups.length === 0) return null;
  return (
    <ul aria-label="Backups" className={styles.backups}>
      {backups.map((backup) => (
        <li key={backup.path}>
          <Time at={backup.madeAtMs} as="within" />, {bytes(backup.bytes)}
          {backup.omittedFiles > 0 && `, ${plural(backup.omittedFiles, "large or surplus file")} omitted`}:{" "}
          <code>{backup.path.split(/[/\\]/).at(-1)}</code>
        </li>
      ))}
    </ul>
  );
}
