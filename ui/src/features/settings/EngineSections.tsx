/* Heartbeat, quiet hours and scheduling. */

import { Button } from "@/components/Button";
import { Code } from "@/components/Code";
import { Notice } from "@/components/Notice";
import { Section } from "@/components/Page";
import { Time } from "@/components/Time";
import { useCall } from "@/data/actions";
import { keys } from "@/data/keys";
import { useSkills } from "@/data/queries";
import { skipReason } from "@/domain/skipReason";
import { SkillChoice } from "@/domain/SkillChoice";
import { isEqualJson } from "@/format/json";
import type { UntrustedList, ConfigView, CronStatus, SystemStatus } from "@/platform";

import { NumberSetting, SwitchSetting, TextSetting } from "./controls";
import { DayHoursSetting } from "./DayHoursSetting";
import { overridingVariable } from "./configPatch";
import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";
import { useSetting, useTypedValue } from "./useSetting";

interface Props {
  config: ConfigView;
  status: SystemStatus | undefined;
}

const dayNames: Record<string, string> = {
  mon: "Monday",
  tue: "Tuesday",
  wed: "Wednesday",
  thu: "Thursday",
  fri: "Friday",
  sat: "Saturday",
  sun: "Sunday",
};

export function QuietSection({ config }: Pick<Props, "config">) {
  const hours = config.quietHours;
  const days = hours?.days?.map((day) => dayNames[day] ?? day).join(", ");
  return (
    <Section title="Quiet hours" id="quiet-hours">
      <div className={styles.list}>
        <DayHoursSetting
          config={config}
          name="quietHours"
          title="Hold notifications"
          help={`Notifications are held and delivered together afterwards. Jobs can override this.${days === undefined ? "" : ` Only nights that begin on ${days}.`}`}
          hours={hours && { from: hours.from, to: hours.to, tz: hours.tz ?? null }}
          defaultHours={{ from: "22:00", to: "07:00" }}
        />
      </div>
    </Section>
  );
}

export function HeartbeatSection({ config, status }: Props) {
  const next = status?.heartbeat.nextAtMs ?? null;
  return (
    <Section title="Heartbeat" id="heartbeat">
      {status?.heartbeat.untrustedList != null && <UntrustedListNotice list={status.heartbeat.untrustedList} />}
      <div className={styles.list}>
        <SwitchSetting
          config={config}
          name="heartbeat.enabled"
          title="Run heartbeat turns"
          help="A regular turn of the main session that reads HEARTBEAT.md and queued system events. Costs nothing when there is nothing to do."
          isSelected={config.heartbeat.enabled}
        />
        <NumberSetting
          config={config}
          name="heartbeat.everyMs"
          title="Interval"
          help={
            config.heartbeat.enabled && next !== null ? (
              <>
                <NextHeartbeat at={next} cron={status?.cron} />
                {status?.heartbeat.lastSkipReason ? ` Last one skipped: ${status.heartbeat.lastSkipReason}` : ""}
              </>
            ) : config.heartbeat.enabled && status?.model === null ? (
              "Waiting for a model."
            ) : (
              (status?.heartbeat.lastSkipReason ?? undefined)
            )
          }
          value={config.heartbeat.everyMs / 60_000}
          toWire={(minutes) => Math.round(minutes * 60_000)}
          unit="minutes"
          most={10_080}
        />
        <DayHoursSetting
          config={config}
          name="heartbeat.activeHours"
          title="Active hours"
          help="Outside these hours the heartbeat only runs when woken."
          hours={config.heartbeat.activeHours}
          defaultHours={{ from: "08:00", to: "22:00" }}
        />
        <TextSetting
          config={config}
          name="heartbeat.prompt"
          title="Custom instructions"
          help="Added to every turn of the main session. [default: none]"
          value={config.heartbeat.prompt ?? ""}
          rows={3}
        />
        <TextSetting
          config={config}
          name="heartbeat.model"
          title="Model"
          help="Model for heartbeat turns. [default: the model above]"
          value={config.heartbeat.model ?? ""}
        />
        <SkillsSetting config={config} />
      </div>
    </Section>
  );
}

function NextHeartbeat({ at, cron }: { at: number; cron: CronStatus | undefined }) {
  const why = skipReason(cron, at);
  return why === undefined ? (
    <>
      Next: <Time at={at} as="within" />.
    </>
  ) : (
    <>Next one skipped: {why}.</>
  );
}

const skills = "heartbeat.skills";

function SkillsSetting({ config }: Pick<Props, "config">) {
  const { data, isPending } = useSkills();
  const { saveState, set } = useSetting(skills);
  const [chosen, setChosen] = useTypedValue(config.heartbeat.skills, isEqualJson);
  const overridden = overridingVariable(config, skills);
  const isNone = data !== undefined && chosen.length === 0 && data.skills.every(({ problem }) => problem !== null);
  const change = async (next: string[]) => {
    setChosen(next);
    if (!(await set(next.length === 0 ? null : next))) setChosen(config.heartbeat.skills);
  };
  return (
    <SettingRow
      tall
      title="Skills"
      help={
        isNone ? (
          <>No skills yet. Add one folder per skill to {data.ownFolder}.</>
        ) : (
          "Instructions for every turn of the main session, including replies to you."
        )
      }
      saveState={saveState}
      overridden={overridden}
    >
      {!isPending && (
        <SkillChoice
          label="Skills of the main session"
          known={data?.skills ?? []}
          chosen={chosen}
          onChange={(next) => void change(next)}
          isDisabled={overridden !== undefined || saveState.kind === "saving"}
          missing="Unavailable. Turns fail until you fix or deselect this skill."
          limits="A selected skill is not trusted, so main-session turns are read-only. Trust the skill in Tools, or deselect it."
        />
      )}
    </SettingRow>
  );
}

export function SchedulingSection({ config, status }: Props) {
  return (
    <Section title="Scheduling" id="scheduling">
      <div className={styles.list}>
        <SwitchSetting
          config={config}
          name="cron.enabled"
          title="Run jobs on schedule"
          help={
            config.cron.enabled
              ? "Off: jobs run only when you start them."
              : (status?.cron.offReason ?? "Jobs run only when you start them.")
          }
          isSelected={config.cron.enabled}
        />
        <NumberSetting
          config={config}
          name="cron.maxConcurrentRuns"
          title="Max concurrent runs"
          help="Further runs are queued."
          value={config.cron.maxConcurrentRuns}
          most={64}
        />
        <SwitchSetting
          config={config}
          name="system.keepAwake"
          title="Keep awake"
          help="Prevents sleep while a run is active. A closed lid or an empty battery still suspends the computer."
          isSelected={config.system.keepAwake}
        />
      </div>
    </Section>
  );
}

/** Changed HEARTBEAT.md; not an instruction of the user until reviewed. */
function UntrustedListNotice({ list }: { list: UntrustedList }) {
  const trust = useCall("heartbeat.trust", [keys.status]);
  return (
    <Notice
      className={styles.warning}
      action={
        <Button small isPending={trust.isPending} onPress={() => trust.mutate({ digest: list.digest })}>
          Confirm as mine
        </Button>
      }
    >
      {list.changedBy}. Until you confirm it, it counts as information, not as your instruction.
      <Code label="HEARTBEAT.md" text={list.text} isDecision />
      {trust.error && (
        <p role="alert" className={styles.error}>
          {trust.error.message}
        </p>
      )}
    </Notice>
  );
}
