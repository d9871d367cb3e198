/* Coding agent of an agent turn, and its folder; hidden while no coding agent is installed or selected. */

import { Select } from "@/components/Field";
import { useCodingAgents } from "@/data/extensions";
import type { ExtensionView } from "@/platform";

import { JobTextField, useJobField } from "./jobFields";
import styles from "./JobEditor.module.css";

export function CodingAgentFields() {
  const { value: agent, ...field } = useJobField("agent");
  const { data: installed = [] } = useCodingAgents();
  if (installed.length === 0 && agent === "") return null;
  const chosen = installed.find(({ name }) => name === agent);
  const isMissing = agent !== "" && chosen === undefined;
  return (
    <div className={styles.pair}>
      <Select
        {...field}
        label="Coding agent"
        choices={[
          { id: "", label: "None: a model" },
          ...installed.map(({ name, isEnabled }) => ({
            id: name,
            label: name,
            ...(!isEnabled && { about: "Disabled." }),
          })),
          ...(isMissing ? [{ id: agent, label: agent, about: "Not installed." }] : []),
        ]}
        value={agent}
        warning={agent === "" ? undefined : (unavailableText(chosen) ?? field.warning)}
        help="Works on the task with its own model and tools. [default: none]"
      />
      {agent !== "" && (
        <JobTextField
          mono
          name="cwd"
          label="Folder"
          placeholder="The workspace"
          help="A folder outside the workspace needs write access under Permissions. [default: the workspace]"
        />
      )}
    </div>
  );
}

/** Why runs cannot use the chosen agent; undefined if they can. */
function unavailableText(chosen: ExtensionView | undefined): string | undefined {
  if (chosen === undefined) return "Not installed. Runs fail until you choose another agent or install it in Tools.";
  return chosen.isEnabled ? undefined : "Disabled. Runs fail until you enable the agent in Tools.";
}
