/* Choice of channels as chips. The first chip stands for no choice. */

import { ChipSet } from "@/components/Choice";
import type { ChannelView } from "@/platform";

import { targetsOf } from "./channels";

/** Never a target, because a name is not empty. */
const NONE = ":none";

interface Props {
  label: string;
  channels: readonly ChannelView[];
  chosen: readonly string[];
  /** Label of no choice. */
  none: string;
  onChange: (chosen: string[]) => void;
  isDisabled?: boolean;
}

export function ChannelChoice({ label, channels, chosen, none, onChange, isDisabled }: Props) {
  const change = (ids: readonly string[]) => {
    if (ids.includes(NONE) && chosen.length > 0) {
      onChange([]);
      return;
    }
    // Keeps the written order.
    const added = ids.filter((id) => id !== NONE && !chosen.includes(id));
    const next = [...chosen.filter((id) => ids.includes(id)), ...added];
    if (next.length > 0 || chosen.length > 0) onChange(next);
  };
  return (
    <ChipSet
      label={label}
      options={[{ id: NONE, label: none }, ...targetsOf(channels, chosen)]}
      value={chosen.length === 0 ? [NONE] : chosen}
      onChange={change}
      isDisabled={isDisabled}
    />
  );
}
