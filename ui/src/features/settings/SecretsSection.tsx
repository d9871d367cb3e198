/* Secrets with their hosts and MCP servers. Values are never shown after saving. */

import { toSentence } from "@/format/text";
import { Plus } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { TextArea, TextField } from "@/components/Field";
import { Modal, ConfirmDialog } from "@/components/Modal";
import { Notice } from "@/components/Notice";
import { Section } from "@/components/Page";
import { Failure } from "@/components/Placeholders";
import { Time } from "@/components/Time";
import { InlineCode } from "@/components/InlineCode";
import { useCall } from "@/data/actions";
import { keys } from "@/data/keys";
import { useSecrets } from "@/data/queries";
import { fieldErrors, type SecretView } from "@/platform";

import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";

export function SecretsSection() {
  const { data, error, refetch } = useSecrets();
  const [open, setOpen] = useState<SecretView | "new">();
  const [removing, setRemoving] = useState<SecretView>();
  const remove = useCall("secrets.remove", [keys.secrets]);
  return (
    <Section
      title="Secrets"
      id="secrets"
      aside={
        <Button small look="ghost" icon={Plus} onPress={() => setOpen("new")}>
          Add secret
        </Button>
      }
    >
      {error && !data && <Failure title="Could not load secrets." error={error} onRetry={() => void refetch()} />}
      {data?.warning != null && <Notice className={styles.warning}>{data.warning}</Notice>}
      {remove.data?.manualCleanup != null && (
        <Notice className={styles.warning}>
          “{remove.variables?.name}” was removed. {remove.data.manualCleanup}
        </Notice>
      )}
      <div className={styles.list}>
        {data?.secrets.length === 0 && (
          <SettingRow
            title="No secrets"
            help={
              <>
                Keys for tools, stored outside the database. A call refers to one as <code>{"{{secret:name}}"}</code>;
                no model sees its value.
              </>
            }
          />
        )}
        {data?.secrets.map((secret) => (
          <SettingRow key={secret.name} title={secret.name} help={<About secret={secret} />}>
            <Button small look="ghost" onPress={() => setOpen(secret)} aria-label={`Change ${secret.name}`}>
              Change
            </Button>
            <Button small look="ghost" onPress={() => setRemoving(secret)} aria-label={`Remove ${secret.name}`}>
              Remove
            </Button>
          </SettingRow>
        ))}
      </div>
      {open !== undefined && (
        <SecretForm secret={open === "new" ? undefined : open} onClose={() => setOpen(undefined)} />
      )}
      <ConfirmDialog
        isOpen={removing !== undefined}
        onClose={() => setRemoving(undefined)}
        title={`Remove “${removing?.name ?? ""}”?`}
        confirm="Remove"
        danger
        onConfirm={() => removing && remove.mutateAsync({ name: removing.name })}
      >
        The value is deleted. Calls that use this secret fail until you set a new value.
      </ConfirmDialog>
    </Section>
  );
}

/** Receivers of the value. The signing key of a webhook has none. */
function receivers({ hosts, servers }: SecretView): string {
  if (hosts.length === 0 && servers.length === 0) return "Checks the signatures of a webhook";
  const named = servers.length > 0 && `the MCP ${servers.length === 1 ? "server" : "servers"} ${servers.join(", ")}`;
  return `Sent to ${[hosts.join(", "), named].filter(Boolean).join(" and ")} only`;
}

function About({ secret }: { secret: SecretView }) {
  const { setAtMs, storedIn, problem, warning } = secret;
  return (
    <>
      {receivers(secret)} · set <Time at={setAtMs} as="log" /> · stored in{" "}
      {storedIn === "keyring" ? "the system keyring" : "a file that only you can read"}
      {problem !== null && (
        <p className={styles.problem}>
          <InlineCode text={problem} />
        </p>
      )}
      {warning !== null && (
        <p className={styles.problem}>
          <InlineCode text={warning} />
        </p>
      )}
    </>
  );
}

function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}

function SecretForm({ secret, onClose }: { secret: SecretView | undefined; onClose: () => void }) {
  const set = useCall("secrets.set", [keys.secrets]);
  const [name, setName] = useState(secret?.name ?? "");
  const [value, setValue] = useState("");
  const [hosts, setHosts] = useState(secret?.hosts.join("\n") ?? "");
  const [servers, setServers] = useState(secret?.servers.join("\n") ?? "");
  const wrong = fieldErrors(set.error);
  const errorAt = (path: string) => {
    const found = wrong.find((one) => one.path === path || one.path.startsWith(`${path}[`));
    return found && toSentence(found.message);
  };
  const save = () =>
    set.mutate({ name: name.trim(), value, hosts: wordsOf(hosts), servers: wordsOf(servers) }, { onSuccess: onClose });
  return (
    <Modal isOpen onClose={onClose} title={secret ? `Change “${secret.name}”` : "Add secret"}>
      <form
        className={styles.form}
        aria-label="Secret"
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <TextField
          mono
          label="Name"
          value={name}
          onChange={setName}
          isDisabled={secret !== undefined}
          autoFocus={!secret}
          error={errorAt("name")}
          help="Lowercase letters, digits, _ and -."
          placeholder="github"
          autoComplete="off"
        />
        <TextField
          label="Value"
          type="password"
          value={value}
          onChange={setValue}
          autoFocus={secret !== undefined}
          error={errorAt("value")}
          help="Never shown again."
          autoComplete="off"
        />
        <TextArea
          mono
          label="Hosts"
          rows={2}
          value={hosts}
          onChange={setHosts}
          error={errorAt("hosts")}
          help="One per line. Calls send the secret to these hosts only. [default: none]"
          placeholder="api.github.com"
        />
        <TextArea
          mono
          label="MCP servers"
          rows={2}
          value={servers}
          onChange={setServers}
          error={errorAt("servers")}
          help="One name per line. These servers get the value in variables and headers. [default: none]"
          placeholder="github"
        />
        {set.error && wrong.length === 0 && (
          <p role="alert" className={styles.error}>
            Not saved. <InlineCode text={set.error.message} />
          </p>
        )}
        <div className={styles.answers}>
          <Button onPress={onClose}>Cancel</Button>
          <Button
            look="primary"
            type="submit"
            isPending={set.isPending}
            isDisabled={name.trim() === "" || value === ""}
          >
            Save
          </Button>
        </div>
      </form>
    </Modal>
  );
}
