/* Secrets that a server gets. A secret without a value for this server can be set here. */

import { CircleCheck } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { TextField } from "@/components/Field";
import { useCall } from "@/data/actions";
import { keys } from "@/data/keys";
import { useSecrets } from "@/data/queries";
import type { SecretView } from "@/platform";

import styles from "./Servers.module.css";

export function SecretValues({ server, names }: { server: string; names: readonly string[] }) {
  const { data } = useSecrets();
  if (!data || names.length === 0) return null;
  return (
    <div className={styles.secrets} role="group" aria-label="Secrets">
      {names.map((name) => {
        const secret = data.secrets.find((one) => one.name === name);
        return secret?.servers.includes(server) ? (
          <p key={name} className={styles.stored}>
            <CircleCheck size={14} aria-hidden /> <code>{name}</code> is stored for {server}.
          </p>
        ) : (
          <SecretValue key={name} name={name} server={server} secret={secret} />
        );
      })}
    </div>
  );
}

function SecretValue({ name, server, secret }: { name: string; server: string; secret: SecretView | undefined }) {
  const set = useCall("secrets.set", [keys.secrets]);
  const [value, setValue] = useState("");
  const save = () => set.mutate({ name, value, servers: [...(secret?.servers ?? []), server] });
  return (
    <form
      className={styles.secret}
      aria-label={`Secret ${name}`}
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <TextField
        label={`Value of ${name}`}
        type="password"
        value={value}
        onChange={setValue}
        autoComplete="off"
        error={set.error?.message}
        help={
          secret
            ? `Stored, but not for ${server}. Enter the value to allow it.`
            : `Stored for ${server}. Never shown again.`
        }
      />
      <Button type="submit" isPending={set.isPending} isDisabled={value === ""}>
        Save secret
      </Button>
    </form>
  );
}
