/* Other computers: list with connections, set-up, removal. Belongs to this computer, so it is absent on the pages of
   another one, and in a browser, which cannot connect. */

import { Plus, Server } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { TextField } from "@/components/Field";
import { InlineCode } from "@/components/InlineCode";
import { ConfirmDialog, Modal } from "@/components/Modal";
import { Section } from "@/components/Page";
import { Empty } from "@/components/Placeholders";
import { usePatch } from "@/data/config";
import { useShellInfo } from "@/data/queries";
import { computerStateText } from "@/domain/computers";
import type { Computer, ConfigView } from "@/platform";

import { providerName, settingError } from "./configPatch";
import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";
import { useSaveState } from "./useSetting";

export function ComputersSection({ config }: { config: ConfigView }) {
  const { data: shell } = useShellInfo();
  const [isAdding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<string>();
  if (!shell || shell.computer !== null) return null;
  const names = Object.keys(config.computers);
  const isEmpty = names.length === 0;
  const add = (
    <Button small look={isEmpty ? "quiet" : "ghost"} icon={Plus} onPress={() => setAdding(true)}>
      Add a computer…
    </Button>
  );
  return (
    <Section title="Computers" id="computers" aside={!isEmpty && add}>
      {isEmpty && (
        <Empty icon={Server} title="No other computers" action={add}>
          Rouse on another computer, such as a server at home, keeps its own jobs. You see and change them here over
          SSH, and get its notifications.
        </Empty>
      )}
      {!isEmpty && (
        <div className={styles.list}>
          {names.map((name) => (
            <ComputerRow
              key={name}
              name={name}
              address={config.computers[name]?.address ?? ""}
              computer={shell.computers.find((one) => one.name === name)}
              onRemove={() => setRemoving(name)}
            />
          ))}
        </div>
      )}
      {isAdding && <AddComputerDialog taken={names} onClose={() => setAdding(false)} />}
      {removing !== undefined && <RemoveComputerDialog name={removing} onClose={() => setRemoving(undefined)} />}
    </Section>
  );
}

interface RowProps {
  name: string;
  address: string;
  computer: Computer | undefined;
  onRemove: () => void;
}

function ComputerRow({ name, address, computer, onRemove }: RowProps) {
  return (
    <SettingRow
      title={name}
      help={<p role="status">{computer ? <InlineCode text={computerStateText(computer)} /> : address}</p>}
    >
      <Button small look="ghost" onPress={onRemove} aria-label={`Remove ${name}…`}>
        Remove…
      </Button>
    </SettingRow>
  );
}

function AddComputerDialog({ taken, onClose }: { taken: readonly string[]; onClose: () => void }) {
  const patch = usePatch();
  const [saveState, follow] = useSaveState();
  const [label, setLabel] = useState("");
  const [address, setAddress] = useState("");
  const [program, setProgram] = useState("");
  const name = providerName(label);
  const isTaken = taken.includes(name);
  const save = async () => {
    const path = program.trim();
    const section = { address: address.trim(), ...(path !== "" && { program: path }) };
    if (await follow(() => patch({ computers: { [name]: section } }), `computers.${name}`)) onClose();
  };
  return (
    <Modal isOpen onClose={onClose} title="Add a computer">
      <form
        className={styles.form}
        aria-label="Computer"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <TextField
          label="Name"
          value={label}
          onChange={setLabel}
          error={isTaken ? "This name is taken." : undefined}
          help={name !== "" && name !== label ? `Saved as ${name}` : "Letters, digits and hyphens, such as box"}
          autoFocus
        />
        <TextField
          label="Address"
          value={address}
          onChange={setAddress}
          help="anna@box, a host of your ssh configuration, or ssh://anna@box:2222. ssh must sign in without a password."
        />
        <TextField
          label="Path of rouse"
          value={program}
          onChange={setProgram}
          help="On that computer, such as ~/.cargo/bin/rouse [default: rouse]"
        />
        {saveState.kind === "failed" && (
          <p role="alert" className={styles.error}>
            Not added. <InlineCode text={saveState.message} />
          </p>
        )}
        <div className={styles.answers}>
          <Button onPress={onClose}>Cancel</Button>
          <Button
            look="primary"
            type="submit"
            isPending={saveState.kind === "saving"}
            isDisabled={name === "" || isTaken || address.trim() === ""}
          >
            Add
          </Button>
        </div>
      </form>
    </Modal>
  );
}

function RemoveComputerDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const patch = usePatch();
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={`Remove “${name}”?`}
      confirm="Remove"
      danger
      onConfirm={async () => {
        try {
          await patch({ computers: { [name]: null } });
        } catch (error) {
          throw new Error(settingError("", error));
        }
      }}
    >
      Its jobs stay there and keep running. You no longer see them or its notifications here.
    </ConfirmDialog>
  );
}
