/* Secrets: names that stand for values which go to their hosts alone. A value is typed here once and never shown again; it is
   in this page's memory only until it is saved. */

import { Plus } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { TextArea, TextField } from "@/components/Field";
import { Modal, Question } from "@/components/Modal";
import { Notice } from "@/components/Notice";
import { Section } from "@/components/Page";
import { Failure } from "@/components/States";
import { Time } from "@/components/Time";
import { Worded } from "@/components/Worded";
import { useCall } from "@/data/actions";
import { keys } from "@/data/keys";
import { useSecrets } from "@/data/queries";
import { fieldErrors, type SecretView } from "@/platform";

import { sentence } from "./patch";
import { Setting } from "./Setting";
import styles from "./Settings.module.css";

export function SecretsSection() {
  const { data, error, refetch } = useSecrets();
  const [open, setOpen] = useState<SecretView | "new">();
  const [asked, setAsked] = useState<SecretView>();
  const remove = useCall("secrets.remove", [keys.secrets]);
  return (
    <Section title="Secrets" id="secrets" aside={<Button small look="ghost" icon={Plus} onPress={() => setOpen("new")}>Add a secret</Button>}>
      {error && !data && <Failure title="The secrets could not be listed." error={error} onRetry={() => void refetch()} />}
      {data?.warning != null && <Notice className={styles.warning}>{data.warning}</Notice>}
      {remove.data?.remains != null && <Notice className={styles.warning}>“{remove.variables?.name}” was removed. {remove.data.remains}</Notice>}
      <div className={styles.list}>
        {data?.secrets.length === 0 && <Setting title="None yet" help={<>Keys that tools need, kept outside the database. A call names one as <code>{"{{secret:name}}"}</code>; no model ever sees its value.</>} />}
        {data?.secrets.map((secret) => (
          <Setting key={secret.name} title={secret.name} help={<About secret={secret} />}>
            <Button small look="ghost" onPress={() => setOpen(secret)} aria-label={`Change ${secret.name}`}>Change</Button>
            <Button small look="ghost" onPress={() => setAsked(secret)} aria-label={`Remove ${secret.name}`}>Remove</Button>
          </Setting>
        ))}
      </div>
      {open !== undefined && <SecretForm secret={open === "new" ? undefined : open} onClose={() => setOpen(undefined)} />}
      <Question
        isOpen={asked !== undefined}
        onClose={() => setAsked(undefined)}
        title={`Remove “${asked?.name ?? ""}”?`}
        confirm="Remove"
        danger
        onConfirm={() => asked && remove.mutateAsync({ name: asked.name })}
      >
        Its value is gone then. Calls that name it fail until it is set again.
      </Question>
    </Section>
  );
}

function About({ secret: { hosts, setAtMs, keptIn, problem, warning } }: { secret: SecretView }) {
  return (
    <>
      Goes to {hosts.join(", ")} alone · set <Time at={setAtMs} as="log" /> · kept in {keptIn === "keyring" ? "the system’s keyring" : "a file that only you can read"}
      {problem !== null && <p className={styles.problem}><Worded text={problem} /></p>}
      {warning !== null && <p className={styles.problem}><Worded text={warning} /></p>}
    </>
  );
}

function SecretForm({ secret, onClose }: { secret: SecretView | undefined; onClose: () => void }) {
  const set = useCall("secrets.set", [keys.secrets]);
  const [name, setName] = useState(secret?.name ?? "");
  const [value, setValue] = useState("");
  const [hosts, setHosts] = useState(secret?.hosts.join("\n") ?? "");
  const wrong = fieldErrors(set.error);
  const said = (path: string) => {
    const found = wrong.find((one) => one.path === path || one.path.startsWith(`${path}[`));
    return found && sentence(found.message);
  };
  const save = () => set.mutate({ name: name.trim(), value, hosts: hosts.split(/[\s,]+/).filter((host) => host !== "") }, { onSuccess: onClose });
  return (
    <Modal isOpen onClose={onClose} title={secret ? `Change “${secret.name}”` : "Add a secret"}>
      <form
        className={styles.form}
        aria-label="Secret"
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <TextField mono label="Name" value={name} onChange={setName} isDisabled={secret !== undefined} autoFocus={!secret} error={said("name")} help="Small letters, digits, _ and -." placeholder="github" autoComplete="off" />
        <TextField label="Value" type="password" value={value} onChange={setValue} autoFocus={secret !== undefined} error={said("value")} help="Never shown again." autoComplete="off" />
        <TextArea mono label="Hosts" rows={2} value={hosts} onChange={setHosts} error={said("hosts")} help="One a line. It is sent to these alone." placeholder="api.github.com" />
        {set.error && wrong.length === 0 && <p role="alert" className={styles.error}>It was not saved. <Worded text={set.error.message} /></p>}
        <div className={styles.answers}>
          <Button onPress={onClose}>Cancel</Button>
          <Button look="primary" type="submit" isPending={set.isPending} isDisabled={name.trim() === "" || value === ""}>Save</Button>
        </div>
      </form>
    </Modal>
  );
}
