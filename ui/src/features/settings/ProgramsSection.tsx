/* Programs that use Rouse as an MCP server with a token. A token is shown once, after its creation. */

import { CircleCheck, Plus } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { Segmented } from "@/components/Choice";
import { Code } from "@/components/Code";
import { TextField } from "@/components/Field";
import { InlineCode } from "@/components/InlineCode";
import { ConfirmDialog, Modal } from "@/components/Modal";
import { Section } from "@/components/Page";
import { Failure, SkeletonRows } from "@/components/Placeholders";
import { Time } from "@/components/Time";
import { VisibleText } from "@/components/VisibleText";
import { useCall } from "@/data/actions";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { useMcpAccess } from "@/data/queries";
import { toSentence } from "@/format/text";
import { showOneLine } from "@/format/visible";
import { fieldErrors, type McpScope, type McpTokenCreated, type McpTokenView } from "@/platform";

import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";

const scopes: readonly { id: McpScope; label: string; about: string }[] = [
  { id: "read", label: "Read only", about: "May list jobs, runs and approvals." },
  { id: "write", label: "Read and write", about: "May also create, change, start and delete jobs." },
];

export function ProgramsSection() {
  const { data, error, refetch } = useMcpAccess();
  const [isAdding, setAdding] = useState(false);
  const [revoking, setRevoking] = useState<string>();
  const revoke = useCall("mcpAccess.revoke", [keys.mcpAccess]);
  return (
    <Section
      title="Programs"
      id="programs"
      aside={
        <Button small look="ghost" icon={Plus} onPress={() => setAdding(true)}>
          Add program
        </Button>
      }
    >
      <p className={styles.how}>
        Claude Code, Codex and other programs can use Rouse over MCP. A program on this computer needs no token:{" "}
        <code>rouse mcp install claude-code</code> connects it. No program can decide an approval.
      </p>
      {error && !data && <Failure title="Could not load programs." error={error} onRetry={() => void refetch()} />}
      {!error && !data && <SkeletonRows rows={1} height={52} />}
      {data && (
        <div className={styles.list}>
          {data.tokens.length === 0 && (
            <SettingRow title="No tokens" help="A token lets a program on this computer connect by URL." />
          )}
          {data.tokens.map((token) => (
            <SettingRow key={token.name} title={showOneLine(token.name)} help={<About token={token} />}>
              <Button
                small
                look="ghost"
                onPress={() => setRevoking(token.name)}
                aria-label={`Revoke ${showOneLine(token.name)}`}
              >
                Revoke
              </Button>
            </SettingRow>
          ))}
        </div>
      )}
      {isAdding && <AddProgram onClose={() => setAdding(false)} />}
      <ConfirmDialog
        isOpen={revoking !== undefined}
        onClose={() => setRevoking(undefined)}
        title={`Revoke “${showOneLine(revoking ?? "")}”?`}
        confirm="Revoke"
        danger
        onConfirm={() => revoking !== undefined && revoke.mutateAsync({ name: revoking })}
      >
        The program loses access at once. Jobs of the program stay.
      </ConfirmDialog>
    </Section>
  );
}

function About({ token: { scope, createdAtMs, lastUsedAtMs } }: { token: McpTokenView }) {
  return (
    <>
      {scopes.find(({ id }) => id === scope)?.label} · created <Time at={createdAtMs} as="log" /> ·{" "}
      {lastUsedAtMs === null ? (
        "never used"
      ) : (
        <>
          last used <Time at={lastUsedAtMs} as="log" />
        </>
      )}
    </>
  );
}

function AddProgram({ onClose }: { onClose: () => void }) {
  const create = useCall("mcpAccess.create", [keys.mcpAccess]);
  const [name, setName] = useState("");
  const [scope, setScope] = useState<McpScope>("read");
  if (create.data) return <NewToken created={create.data} onClose={onClose} />;
  const wrong = fieldErrors(create.error).find(({ path }) => path === "name");
  return (
    <Modal isOpen onClose={onClose} title="Add program">
      <form
        className={styles.form}
        aria-label="Program"
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate({ name: name.trim(), scope });
        }}
      >
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          autoFocus
          error={wrong && toSentence(wrong.message)}
          help="Shown here and at the jobs that it creates."
          placeholder="laptop"
          maxLength={60}
          autoComplete="off"
        />
        <div>
          <Segmented label="Scope" options={scopes} value={scope} onChange={setScope} />
          <p className={styles.help}>{scopes.find(({ id }) => id === scope)?.about}</p>
        </div>
        {create.error && !wrong && (
          <p role="alert" className={styles.error}>
            Not created. <InlineCode text={create.error.message} />
          </p>
        )}
        <div className={styles.answers}>
          <Button onPress={onClose}>Cancel</Button>
          <Button look="primary" type="submit" isPending={create.isPending} isDisabled={name.trim() === ""}>
            Create token
          </Button>
        </div>
      </form>
    </Modal>
  );
}

function NewToken({ created: { name, token, url }, onClose }: { created: McpTokenCreated; onClose: () => void }) {
  const { copyText } = usePlatform();
  const [copied, setCopied] = useState<"yes" | "failed">();
  const copy = () =>
    void copyText(token).then(
      () => setCopied("yes"),
      () => setCopied("failed"),
    );
  return (
    <Modal isOpen onClose={onClose} title="Token created">
      <div className={styles.form}>
        <p>
          Copy the token of “<VisibleText text={showOneLine(name)} />” now. Rouse never shows it again.
        </p>
        <Code label="Token" text={token} unfolded />
        <p className={styles.how}>
          The program sends it as <code>Authorization: Bearer TOKEN</code> to <code>{url}</code>, on this computer only.
        </p>
        <div className={styles.answers}>
          <span role="status" className={styles.saved}>
            {copied === "yes" && (
              <>
                <CircleCheck size={14} aria-hidden /> Copied
              </>
            )}
            {copied === "failed" && "The system blocked copying. Select the token and copy it."}
          </span>
          <Button look="primary" autoFocus onPress={copy}>
            Copy token
          </Button>
          <Button onPress={onClose}>Done</Button>
        </div>
      </div>
    </Modal>
  );
}
