/* Search of a registry, or the address field while the settings have no address. Contacts no registry. */

import { type ReactNode, useState } from "react";

import { Button } from "@/components/Button";
import { TextField } from "@/components/Field";
import { Failure, SkeletonRows } from "@/components/Placeholders";
import { usePatchCall } from "@/data/config";
import { useConfig } from "@/data/queries";
import { toSentence } from "@/format/text";
import { fieldErrors, type RegistriesSection } from "@/platform";

import styles from "./Registry.module.css";

/** Setting with the address of a registry. */
export type RegistryName = keyof RegistriesSection;

interface Props {
  name: RegistryName;
  /** The search. */
  children: ReactNode;
}

const texts: Record<RegistryName, { label: string; about: string }> = {
  servers: {
    label: "MCP registry",
    about: "Rouse knows no registry until you name one: an address with the official MCP registry API.",
  },
  skills: {
    label: "Skill registry",
    about: "Rouse knows no registry until you name one: an address with the ClawHub API.",
  },
};

export function WithRegistry({ name, children }: Props) {
  const { data: config, error, refetch } = useConfig();
  if (!config)
    return error ? (
      <Failure title="Could not load settings." error={error} onRetry={() => void refetch()} />
    ) : (
      <SkeletonRows rows={2} />
    );
  return (config.registries[name] ?? "") === "" ? <AddressForm name={name} /> : children;
}

function AddressForm({ name }: { name: RegistryName }) {
  const [address, setAddress] = useState("");
  const save = usePatchCall();
  const { label, about } = texts[name];
  return (
    <form
      className={styles.search}
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        if (address.trim() !== "" && !save.isPending) save.mutate({ registries: { [name]: address.trim() } });
      }}
    >
      <p className={styles.note}>{about} Rouse connects only when you search or install.</p>
      <div className={styles.query}>
        <TextField
          mono
          autoFocus
          label="Registry address"
          value={address}
          onChange={(text) => {
            setAddress(text);
            save.reset();
          }}
          error={save.error ? addressError(save.error) : undefined}
          help="You can change this address in Settings."
          placeholder="https://registry.example.org"
          autoComplete="off"
          spellCheck="false"
        />
        <Button type="submit" isPending={save.isPending} isDisabled={address.trim() === ""}>
          Save
        </Button>
      </div>
    </form>
  );
}

function addressError(error: Error): string {
  return toSentence(fieldErrors(error)[0]?.message ?? error.message);
}
