/* Access of an accepted tool. Shows the new choice at once, and the old one if the change fails. */

import { Select } from "@/components/Field";
import { useExtensionCall } from "@/data/extensions";
import { accessChoices } from "@/domain/toolAccess";
import type { ToolAccess } from "@/platform";

interface Props {
  server: string;
  /** Raw name at the server. */
  tool: string;
  access: ToolAccess;
  label: string;
  labelHidden?: boolean;
  className?: string;
}

export function AccessSelect({ server, tool, access, ...props }: Props) {
  const set = useExtensionCall("extensions.setAccess");
  const shown = set.isPending ? set.variables.access : access;
  return (
    <Select
      {...props}
      choices={accessChoices}
      value={shown}
      onChange={(id) => {
        const next = accessChoices.find((choice) => choice.id === id)?.id;
        if (next !== undefined && next !== shown) set.mutate({ name: server, tool, access: next });
      }}
      error={set.error?.message}
    />
  );
}
