/* The settings. Each is saved at once and says so beside itself; an error stands where it belongs. */

import { Cable } from "lucide-react";
import { useReducer, useRef } from "react";

import { Notice } from "@/components/Notice";
import { Page } from "@/components/Page";
import { Failure, SkeletonRows } from "@/components/States";
import { useConfig, useEngineElsewhere, useStatus } from "@/data/queries";
import { engineElsewhere } from "@/domain/words";
import type { ConfigView, SystemStatus } from "@/platform";

import { AboutSection } from "./AboutSection";
import { AppearanceSection } from "./AppearanceSection";
import { DataSection } from "./DataSection";
import { HeartbeatSection, QuietSection, SchedulingSection } from "./EngineSections";
import { FileNotice } from "./FileNotice";
import { HooksSection } from "./HooksSection";
import { ModelSection } from "./ModelSection";
import { NotificationSection } from "./NotificationSection";
import { SectionIndex, useNamedSection } from "./SectionIndex";
import styles from "./Settings.module.css";
import { SearchSection } from "./SearchSection";
import { SecretsSection } from "./SecretsSection";
import { SpendingSection } from "./SpendingSection";
import { StartUpSection } from "./StartUpSection";

export function SettingsPage() {
  const config = useConfig();
  const status = useStatus();
  const elsewhere = useEngineElsewhere();
  return (
    <Page title="Settings">
      {elsewhere && <Notice icon={Cable}>{engineElsewhere(elsewhere).full}</Notice>}
      {config.error && !config.data ? <Failure title="The settings could not be read." error={config.error} onRetry={() => void config.refetch()} /> : null}
      {config.isPending && <SkeletonRows rows={8} />}
      {config.data && <Sections config={config.data} status={status.data} />}
    </Page>
  );
}

function Sections({ config, status }: { config: ConfigView; status: SystemStatus | undefined }) {
  const all = useRef<HTMLDivElement>(null);
  const [again, leadAgain] = useReducer((times: number) => times + 1, 0);
  useNamedSection(all, again);
  return (
    <div className={styles.columns}>
      <SectionIndex onAgain={leadAgain} />
      <div ref={all} className={styles.sections}>
        <FileNotice config={config} />
        <ModelSection config={config} />
        <SearchSection config={config} />
        <HeartbeatSection config={config} status={status} />
        <QuietSection config={config} />
        <SchedulingSection config={config} status={status} />
        <NotificationSection status={status} />
        <StartUpSection />
        <SpendingSection config={config} />
        <SecretsSection />
        <HooksSection config={config} />
        <DataSection config={config} status={status} />
        <AppearanceSection />
        <AboutSection status={status} />
      </div>
    </div>
  );
}
