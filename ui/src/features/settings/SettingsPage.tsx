/* The settings. Each is saved at once and says so beside itself; an error stands where it belongs. */

import { Cable } from "lucide-react";

import { Notice } from "@/components/Notice";
import { Page } from "@/components/Page";
import { Failure, SkeletonRows } from "@/components/States";
import { useConfig, useEngineElsewhere, useStatus } from "@/data/queries";
import { engineElsewhere } from "@/domain/words";

import { AboutSection } from "./AboutSection";
import { AppearanceSection } from "./AppearanceSection";
import { DataSection } from "./DataSection";
import { HeartbeatSection, QuietSection, SchedulingSection } from "./EngineSections";
import { FileNotice } from "./FileNotice";
import { HooksSection } from "./HooksSection";
import { ModelSection } from "./ModelSection";
import { NotificationSection } from "./NotificationSection";
import styles from "./Settings.module.css";
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
      {config.data && (
        <div className={styles.section}>
          <FileNotice config={config.data} />
          <ModelSection config={config.data} />
          <HeartbeatSection config={config.data} status={status.data} />
          <QuietSection config={config.data} />
          <SchedulingSection config={config.data} status={status.data} />
          <NotificationSection status={status.data} />
          <StartUpSection />
          <SpendingSection config={config.data} />
          <SecretsSection />
          <HooksSection config={config.data} />
          <DataSection config={config.data} status={status.data} />
          <AppearanceSection />
          <AboutSection status={status.data} />
        </div>
      )}
    </Page>
  );
}
