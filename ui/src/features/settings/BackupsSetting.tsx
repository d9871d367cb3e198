/* The backups there are, one more on request, and how one comes back. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Archive } from "lucide-react";

import { Button } from "@/components/Button";
import { Time } from "@/components/Time";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { bytes, plural } from "@/format/amount";
import type { BackupsView } from "@/platform";

import { Setting } from "./Setting";
import styles from "./Settings.module.css";
import { useFate } from "./useSetting";

export function BackupsSetting() {
  const platform = usePlatform();
  const client = useQueryClient();
  const { data } = useQuery({ queryKey: keys.backups, queryFn: () => platform.rpc("backup.list", {}) });
  const [fate, follow] = useFate();
  const backUp = async () => {
    await platform.rpc("backup.create", {});
    await client.invalidateQueries({ queryKey: keys.backups });
  };
  if (!data) return null;
  return (
    <Setting title="Backups" help={<Help view={data} />} fate={fate}>
      <Button small icon={Archive} isPending={fate.kind === "saving"} onPress={() => void follow(backUp)}>
        Back up now
      </Button>
    </Setting>
  );
}

function Help({ view: { folder, backups } }: { view: BackupsView }) {
  const newest = backups[0];
  return (
    <>
      {newest ? <>The newest is from <Time at={newest.madeAtMs} as="within" />.</> : "None yet."} One is made each day that
      Rouse works, without secrets; seven are kept in <code>{folder}</code>. To restore one, quit Rouse and run <code>rouse restore FILE</code>.
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
          {backup.leftOut > 0 && `, ${plural(backup.leftOut, "large or surplus file")} left out`}: <code>{backup.path.split(/[/\\]/).at(-1)}</code>
        </li>
      ))}
    </ul>
  );
}
