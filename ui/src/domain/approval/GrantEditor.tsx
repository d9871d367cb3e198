/* Editor of a grant: this exact call or a pattern over its arguments, expiry and maximum uses. Shell text can only
   be granted exactly. */

import { use, useState } from "react";

import { Button } from "@/components/Button";
import { Chips, Segmented } from "@/components/Choice";
import { EngineLostContext } from "@/components/engineLost";
import { NumberField, Select, TextArea, TextField } from "@/components/Field";
import { InvisibleCount, VisibleText } from "@/components/VisibleText";
import { Modal } from "@/components/Modal";
import { useNow } from "@/components/useNow";
import { InlineCode } from "@/components/InlineCode";
import { countInvisible, showUnambiguous, showInvisible } from "@/format/visible";
import type { ApprovalView, DecisionDraft } from "@/platform";

import styles from "./GrantEditor.module.css";
import {
  grantDecision,
  newGrantDraft,
  type GrantRuleDraft,
  grantSentence,
  type GrantDraft,
  ruleKindsFor,
  grantDraftErrors,
  type RuleKind,
} from "./grantDraft";
import { GrantSentenceText } from "./GrantSentenceText";

interface Props {
  approval: ApprovalView;
  onClose: () => void;
  /** Resolves to true on success. */
  onGrant: (decision: DecisionDraft) => Promise<boolean>;
  /** Error of the last attempt. */
  problem: string | undefined;
}

const covers = [
  { id: "exact", label: "This exact call" },
  { id: "pattern", label: "Similar calls" },
] as const;
const spans = [
  { id: "1", label: "1 day" },
  { id: "7", label: "1 week" },
  { id: "30", label: "30 days" },
  { id: "365", label: "1 year" },
  { id: "", label: "Never" },
] as const;

export function GrantEditor({ approval, onClose, onGrant, problem }: Props) {
  const now = useNow(60_000);
  const [draft, setDraft] = useState(() => newGrantDraft(approval));
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const isGone = use(EngineLostContext) !== undefined;
  const set = (part: Partial<GrantDraft>) => setDraft({ ...draft, ...part });
  const problems = grantDraftErrors(draft);
  const grant = async () => {
    setTried(true);
    if (Object.keys(problems).length > 0 || busy) return;
    setBusy(true);
    if (await onGrant(grantDecision(draft, Date.now()))) onClose();
    else setBusy(false);
  };
  return (
    <Modal
      isOpen
      onClose={onClose}
      title={`Always allow for “${showInvisible(approval.jobName)}”`}
      wide
      footer={
        <>
          <Button onPress={onClose}>Cancel</Button>
          <Button look="primary" isDisabled={isGone} isPending={busy} onPress={() => void grant()}>
            Create grant
          </Button>
        </>
      }
    >
      <div className={styles.form}>
        {approval.shellText.length > 0 ? (
          <p className={styles.sentence}>A shell runs this text, so only this exact call can be granted.</p>
        ) : (
          <Segmented
            label="Scope"
            options={covers}
            value={draft.cover}
            onChange={(cover) => set({ cover })}
            className={styles.fit}
          />
        )}
        {draft.cover === "pattern" && (
          <ul className={styles.rules} aria-label="Arguments">
            {draft.rules.map((rule, i) => (
              <li key={rule.name}>
                <RuleRow
                  rule={rule}
                  onChange={(next) => set({ rules: draft.rules.with(i, next) })}
                  problem={tried ? problems[rule.name] : undefined}
                />
              </li>
            ))}
          </ul>
        )}
        <div className={styles.limits}>
          <div>
            <span className={styles.label} aria-hidden>
              Expires after
            </span>
            <Chips
              label="Expires after"
              options={spans}
              value={String(draft.days ?? "") as (typeof spans)[number]["id"]}
              onChange={(days) => set({ days: days === "" ? null : Number(days) })}
            />
          </div>
          <NumberField
            label="Max uses"
            unit="times"
            placeholder="No limit"
            minValue={1}
            value={draft.uses ?? NaN}
            onChange={(uses) => set({ uses: Number.isNaN(uses) ? null : uses })}
            className={styles.uses}
          />
        </div>
        <p className={styles.sentence} role="status">
          <GrantSentenceText sentence={grantSentence(draft, approval, now)} />
        </p>
        {problem !== undefined && (
          <p role="alert" className={styles.problem}>
            The grant was not created. <InlineCode text={problem} />
          </p>
        )}
      </div>
    </Modal>
  );
}

const ruleKindLabels: Record<RuleKind, string> = {
  equals: "is exactly",
  below: "is or is under",
  oneOf: "is one of",
  any: "can be anything",
};

function RuleRow({
  rule,
  onChange,
  problem,
}: {
  rule: GrantRuleDraft;
  onChange: (rule: GrantRuleDraft) => void;
  problem: string | undefined;
}) {
  const { name, kind, lines, root, value } = rule;
  const kinds = ruleKindsFor(rule);
  return (
    <div className={styles.rule}>
      <code className={styles.name}>
        <VisibleText text={showUnambiguous(name)} />
      </code>
      <Select
        label={`Rule for ${name}`}
        labelHidden
        choices={kinds.map((id) => ({ id, label: ruleKindLabels[id] }))}
        value={kind}
        onChange={(next) => onChange({ ...rule, kind: next as RuleKind })}
      />
      <div className={styles.value}>
        {kind === "equals" && (
          <FixedValue name={name} text={typeof value === "string" ? value : JSON.stringify(value, null, 2)} />
        )}
        {kind === "below" && (
          <TextField
            mono
            label={`${name} is under`}
            labelHidden
            value={root}
            onChange={(next) => onChange({ ...rule, root: next })}
            error={problem}
            spellCheck="false"
          />
        )}
        {kind === "below" && <InvisibleInput text={root} />}
        {kind === "oneOf" && (
          <TextArea
            mono
            rows={2}
            label={`Values of ${name}, one per line`}
            labelHidden
            value={lines}
            onChange={(next) => onChange({ ...rule, lines: next })}
            error={problem}
            spellCheck="false"
          />
        )}
        {kind === "oneOf" && <InvisibleInput text={lines} />}
      </div>
    </div>
  );
}

/** Fixed value, shown in full. */
function FixedValue({ name, text }: { name: string; text: string }) {
  const shown = showUnambiguous(text);
  return (
    <>
      <pre className={styles.fixed} tabIndex={0} role="group" aria-label={`Value of ${name}`}>
        <VisibleText text={shown} />
      </pre>
      <InvisibleCount text={shown} />
    </>
  );
}

/** Shows invisible characters of an input. */
function InvisibleInput({ text }: { text: string }) {
  const shown = showUnambiguous(text);
  if (countInvisible(shown) === 0) return null;
  return (
    <>
      <pre className={styles.fixed}>
        <VisibleText text={shown} />
      </pre>
      <InvisibleCount text={shown} />
    </>
  );
}
