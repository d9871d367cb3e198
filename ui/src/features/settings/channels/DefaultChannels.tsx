/* Default channels of reports, failures and approval requests. */

import { ChannelChoice } from "@/domain/ChannelChoice";
import { overridingVariable } from "@/features/settings/configPatch";
import { SettingRow } from "@/features/settings/SettingRow";
import { useSetting } from "@/features/settings/useSetting";
import type { ChannelsListResult, ConfigView, MessageRoutes } from "@/platform";

import type { DefaultKey } from "./defaultLists";

interface DefaultChannel {
  name: DefaultKey;
  title: string;
  routes: keyof MessageRoutes;
  about: string;
  none: string;
}

const defaultChannels: readonly DefaultChannel[] = [
  {
    name: "deliverTo",
    title: "Reports",
    routes: "reports",
    about: "Reports, reminders and messages of runs.",
    none: "Default",
  },
  { name: "deliverFailuresTo", title: "Failures", routes: "failures", about: "Failed runs.", none: "Same as reports" },
  {
    name: "deliverApprovalsTo",
    title: "Approval requests",
    routes: "approvals",
    about: "Requests for an approval or input.",
    none: "Same as reports",
  },
];

interface Props {
  config: ConfigView;
  list: ChannelsListResult;
}

export function DefaultChannels(props: Props) {
  return defaultChannels.map((setting) => <DefaultChannelRow key={setting.name} {...props} setting={setting} />);
}

function DefaultChannelRow({ config, list, setting }: Props & { setting: DefaultChannel }) {
  const { name, title, routes, about, none } = setting;
  const { saveState, set } = useSetting(name);
  const overridden = overridingVariable(config, name);
  return (
    <SettingRow
      tall
      title={title}
      help={`${about} Sent to: ${list.deliverTo[routes].join(", ")}.`}
      saveState={saveState}
      overridden={overridden}
    >
      <ChannelChoice
        label={title}
        channels={list.channels}
        chosen={config[name] ?? []}
        none={none}
        isDisabled={overridden !== undefined || saveState.kind === "saving"}
        onChange={(chosen) => void set(chosen.length === 0 ? null : chosen)}
      />
    </SettingRow>
  );
}
