/* When the engine acts by itself: the heartbeat, and the switch that stops all firing. */

import { Button } from "@/components/Button";
import { Code } from "@/components/Code";
import { Notice } from "@/components/Notice";
import { Section } from "@/components/Page";
import { Time } from "@/components/Time";
import { useCall } from "@/data/actions";
import { keys } from "@/data/keys";
import { useSkills } from "@/data/queries";
import { leftOutBecause } from "@/domain/firing";
import { SkillChoice } from "@/domain/SkillChoice";
import { same } from "@/format/json";
import type { ChangedList, ConfigView, CronStatus, SystemStatus } from "@/platform";

import { NumberSetting, SwitchSetting, TextSetting } from "./controls";
import { DayHoursSetting } from "./DayHoursSetting";
import { overriddenBy } from "./patch";
import { Setting } from "./Setting";
import styles from "./Settings.module.css";
import { useSetting, useTyped } from "./useSetting";

interface Props {
  config: ConfigView;
  status: SystemStatus | undefined;
}

const dayNames: Record<string, string> = { mon: "Monday", tue: "Tuesday", wed: "Wednesday", thu: "Thursday", fri: "Friday", sat: "Saturday", sun: "Sunday" };

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
          help={`What comes then is told afterwards, in one notification. A job can say otherwise.${days === undefined ? "" : ` Only nights that begin on ${days}.`}`}
          hours={hours && { from: hours.from, to: hours.to, tz: hours.tz ?? null }}
          usual={{ from: "22:00", to: "07:00" }}
        />
      </div>
    </Section>
  );
}

export function HeartbeatSection({ config, status }: Props) {
  const next = status?.heartbeat.nextAtMs ?? null;
  return (
    <Section title="Heartbeat" id="heartbeat">
      {status?.heartbeat.changedList != null && <ListNotice list={status.heartbeat.changedList} />}
      <div className={styles.list}>
        <SwitchSetting
          config={config}
          name="heartbeat.enabled"
          title="Wake the main session regularly"
          help="It reads HEARTBEAT.md in the workspace and whatever has been put into its queue. A beat with nothing to do costs nothing."
          isSelected={config.heartbeat.enabled}
        />
        <NumberSetting
          config={config}
          name="heartbeat.everyMs"
          title="Every"
          help={
            config.heartbeat.enabled && next !== null
              ? <><NextBeat at={next} cron={status?.cron} />{status?.heartbeat.lastSkipReason ? ` The last one did nothing: ${status.heartbeat.lastSkipReason}` : ""}</>
              : config.heartbeat.enabled && status?.model === null ? "Waits for a model."
              : status?.heartbeat.lastSkipReason ?? undefined
          }
          value={config.heartbeat.everyMs / 60_000}
          toWire={(minutes) => Math.round(minutes * 60_000)}
          unit="minutes"
          most={10_080}
        />
        <DayHoursSetting
          config={config}
          name="heartbeat.activeHours"
          title="Only at certain hours"
          help="Outside of them it does not beat by itself; a wake still gets its turn."
          hours={config.heartbeat.activeHours}
          usual={{ from: "08:00", to: "22:00" }}
        />
        <TextSetting
          config={config}
          name="heartbeat.prompt"
          title="What it should always know"
          help="Your own words, put before the model at every turn of the main session."
          value={config.heartbeat.prompt ?? ""}
          rows={3}
        />
        <TextSetting
          config={config}
          name="heartbeat.model"
          title="Model"
          help="Another model for these turns, by its name; empty means the usual one."
          value={config.heartbeat.model ?? ""}
        />
        <SkillsSetting config={config} />
      </div>
    </Section>
  );
}

function NextBeat({ at, cron }: { at: number; cron: CronStatus | undefined }) {
  const why = leftOutBecause(cron, at);
  return why === undefined ? <>The next one: <Time at={at} as="within" />.</> : <>The next one is left out: {why}.</>;
}

const skills = "heartbeat.skills";

function SkillsSetting({ config }: Pick<Props, "config">) {
  const { data, isPending } = useSkills();
  const { fate, set } = useSetting(skills);
  const [chosen, setChosen] = useTyped(config.heartbeat.skills, same);
  const overridden = overriddenBy(config, skills);
  const isNone = data !== undefined && chosen.length === 0 && data.skills.every(({ problem }) => problem !== null);
  const change = async (next: string[]) => {
    setChosen(next);
    if (!(await set(next.length === 0 ? null : next))) setChosen(config.heartbeat.skills);
  };
  return (
    <Setting
      tall
      title="Skills"
      help={isNone ? <>None here yet. They go into {data.ownFolder}, a folder each.</> : "Every turn of the main session is told of these, answers to you among them."}
      fate={fate}
      overridden={overridden}
    >
      {!isPending && (
        <SkillChoice
          label="Skills of the main session"
          known={data?.skills ?? []}
          chosen={chosen}
          onChange={(next) => void change(next)}
          isDisabled={overridden !== undefined || fate.kind === "saving"}
          missing="It cannot be used here: turns fail until it can, or it is taken out here."
          limits="One of these is not trusted, so turns of the main session may only look. Trust it on the page of the tools, or leave it out."
        />
      )}
    </Setting>
  );
}

export function SchedulingSection({ config, status }: Props) {
  return (
    <Section title="Scheduling" id="scheduling">
      <div className={styles.list}>
        <SwitchSetting
          config={config}
          name="cron.enabled"
          title="Let jobs fire"
          help={config.cron.enabled ? "Off: nothing fires by itself; running by hand still works." : (status?.cron.offReason ?? "Nothing fires by itself.")}
          isSelected={config.cron.enabled}
        />
        <NumberSetting
          config={config}
          name="cron.maxConcurrentRuns"
          title="Most runs at the same time"
          help="More wait for their turn."
          value={config.cron.maxConcurrentRuns}
          most={64}
        />
        <SwitchSetting
          config={config}
          name="system.keepAwake"
          title="Keep the computer awake during a run"
          help="Only as long as a run is at work. A closed lid or an empty battery still puts it to sleep."
          isSelected={config.system.keepAwake}
        />
      </div>
    </Section>
  );
}

/** The person's own list, after an agent may have written it: what it says is shown before it counts as theirs again. */
function ListNotice({ list }: { list: ChangedList }) {
  const trust = useCall("heartbeat.trust", [keys.status]);
  return (
    <Notice
      className={styles.warning}
      action={<Button small isPending={trust.isPending} onPress={() => trust.mutate({ digest: list.digest })}>These are my words</Button>}
    >
      {list.why}. Until you have looked at it, it counts as information and not as your instruction.
      <Code label="What HEARTBEAT.md says" text={list.text} decided />
      {trust.error && <p role="alert" className={styles.error}>{trust.error.message}</p>}
    </Notice>
  );
}
