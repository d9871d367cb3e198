/* Database size and retention. */

import { useQuery } from "@tanstack/react-query";

import { Time } from "@/components/Time";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { bytes, plural } from "@/format/amount";
import type { ConfigView } from "@/platform";

import { NumberSetting } from "./controls";
import { SettingRow } from "./SettingRow";

export function RetentionSettings({ config }: { config: ConfigView }) {
  return (
    <>
      <DatabaseSize />
      <NumberSetting
        config={config}
        name="retention.runsPerJob"
        title="Runs per job"
        help="Older runs are deleted with their steps and messages. Deleted runs do not run again."
        value={config.retention.runsPerJob}
        least={10}
        most={1_000_000}
      />
      <NumberSetting
        config={config}
        name="retention.messagesPerSession"
        title="Messages per session"
        help="The main session is kept in full."
        value={config.retention.messagesPerSession}
        least={10}
        most={1_000_000}
      />
      <NumberSetting
        config={config}
        name="retention.maxDatabaseMb"
        title="Max database size"
        help="Above this size, the oldest runs of any job are deleted. The main session is not included."
        value={config.retention.maxDatabaseMb}
        unit="MB"
        least={8}
        most={1_000_000}
      />
    </>
  );
}

function DatabaseSize() {
  const platform = usePlatform();
  const { data } = useQuery({ queryKey: keys.storage, queryFn: () => platform.rpc("system.storage", {}) });
  if (!data) return null;
  return (
    <SettingRow
      title="Database"
      help={
        <>
          {bytes(data.usedBytes)} with {plural(data.runs, "run")} and {plural(data.messages, "message")}
          {data.oldestRunAtMs !== null && (
            <>
              , the oldest run from <Time at={data.oldestRunAtMs} as="within" />
            </>
          )}
          .
        </>
      }
    />
  );
}
