/* How large the database is, and how much of what happened it keeps. */

import { useQuery } from "@tanstack/react-query";

import { Time } from "@/components/Time";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { bytes, plural } from "@/format/amount";
import type { ConfigView } from "@/platform";

import { NumberSetting } from "./controls";
import { Setting } from "./Setting";

export function KeptSettings({ config }: { config: ConfigView }) {
  return (
    <>
      <Size />
      <NumberSetting
        config={config}
        name="retention.runsPerJob"
        title="Runs kept of each job"
        help="Older ones go with their steps and messages. A slot that has fired stays fired."
        value={config.retention.runsPerJob}
        least={10}
        most={1_000_000}
      />
      <NumberSetting
        config={config}
        name="retention.messagesPerSession"
        title="Messages kept of each job"
        help="The main session is kept whole."
        value={config.retention.messagesPerSession}
        least={10}
        most={1_000_000}
      />
      <NumberSetting
        config={config}
        name="retention.maxDatabaseMb"
        title="Largest database"
        help="When it is full, the oldest runs of all jobs go first. The main session does not count."
        value={config.retention.maxDatabaseMb}
        unit="MB"
        least={8}
        most={1_000_000}
      />
    </>
  );
}

function Size() {
  const platform = usePlatform();
  const { data } = useQuery({ queryKey: keys.storage, queryFn: () => platform.rpc("system.storage", {}) });
  if (!data) return null;
  return (
    <Setting
      title="Database"
      help={
        <>
          {bytes(data.usedBytes)} with {plural(data.runs, "run")} and {plural(data.messages, "message")}
          {data.oldestRunAtMs !== null && <>, the oldest run from <Time at={data.oldestRunAtMs} as="within" /></>}.
        </>
      }
    />
  );
}
