/* Settings. Each is saved at once, with errors in place. */

import { Cable } from "lucide-react";
import { useReducer, useRef } from "react";

import { Notice } from "@/components/Notice";
import { Page } from "@/components/Page";
import { Failure, SkeletonRows } from "@/components/Placeholders";
import { useDevice } from "@/data/access";
import { useConfig, useAttachedEngine, useStatus } from "@/data/queries";
import { attachedEngineText } from "@/domain/labels";
import type { ConfigView, SystemStatus } from "@/platform";

import { AboutSection } from "./AboutSection";
import { AppearanceSection } from "./AppearanceSection";
import { ChannelsSection } from "./channels/ChannelsSection";
import { ComputersSection } from "./ComputersSection";
import { DevicesSection, ThisDeviceSection } from "./DevicesSection";
import { DataSection } from "./DataSection";
import { HeartbeatSection, QuietSection, SchedulingSection } from "./EngineSections";
import { ConfigFileNotice } from "./FileNotice";
import { HooksSection } from "./HooksSection";
import { ModelSection } from "./ModelSection";
import { NotificationSection } from "./NotificationSection";
import { ProgramsSection } from "./ProgramsSection";
import { RegistriesSection } from "./RegistriesSection";
import { SectionIndex, useScrollToSection } from "./SectionIndex";
import styles from "./Settings.module.css";
import { SearchSection } from "./SearchSection";
import { SecretsSection } from "./SecretsSection";
import { SpendingSection } from "./SpendingSection";
import { StartUpSection } from "./StartUpSection";

export function SettingsPage() {
  const config = useConfig();
  const status = useStatus();
  const elsewhere = useAttachedEngine();
  const device = useDevice();
  if (device !== null)
    return (
      <Page title="Settings">
        <ThisDeviceSection />
        <AppearanceSection />
        <AboutSection status={status.data} />
      </Page>
    );
  return (
    <Page title="Settings">
      {elsewhere && <Notice icon={Cable}>{attachedEngineText(elsewhere).full}</Notice>}
      {config.error && !config.data ? (
        <Failure title="Could not load settings." error={config.error} onRetry={() => void config.refetch()} />
      ) : null}
      {config.isPending && <SkeletonRows rows={8} />}
      {config.data && <Sections config={config.data} status={status.data} />}
    </Page>
  );
}

function Sections({ config, status }: { config: ConfigView; status: SystemStatus | undefined }) {
  const all = useRef<HTMLDivElement>(null);
  const [again, leadAgain] = useReducer((times: number) => times + 1, 0);
  useScrollToSection(all, again);
  return (
    <div className={styles.columns}>
      <SectionIndex onAgain={leadAgain} />
      <div ref={all} className={styles.sections}>
        <ConfigFileNotice config={config} />
        <ModelSection config={config} />
        <SearchSection config={config} />
        <RegistriesSection config={config} />
        <HeartbeatSection config={config} status={status} />
        <QuietSection config={config} />
        <SchedulingSection config={config} status={status} />
        <NotificationSection status={status} />
        <ChannelsSection config={config} />
        <ComputersSection config={config} />
        <StartUpSection />
        <SpendingSection config={config} />
        <SecretsSection />
        <DevicesSection />
        <ProgramsSection />
        <HooksSection config={config} />
        <DataSection config={config} status={status} />
        <AppearanceSection />
        <AboutSection status={status} />
      </div>
    </div>
  );
}
