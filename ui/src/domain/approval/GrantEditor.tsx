/* A grant before it is made: exactly this call, or a pattern over its arguments, for how long and how often. The sentence at
   the foot is the whole of it in words. Text that a shell reads is granted as it is or not at all. */

import { use, useState } from "react";

import { Button } from "@/components/Button";
import { Chips, Segmented } from "@/components/Choice";
import { GoneSinceContext } from "@/components/gone";
import { NumberField, Select, TextArea, TextField } from "@/components/Field";
import { HiddenCount, Marks } from "@/components/Marks";
import { Modal } from "@/components/Modal";
import { useNow } from "@/components/useNow";
import { Worded } from "@/components/Worded";
import { hiddenIn, unmistakable, visible } from "@/format/visible";
import type { Answer, ApprovalView } from "@/platform";

import styles from "./GrantEditor.module.css";
import { answerOf, draftFor, type DraftRule, draftWords, type GrantDraft, kindsFor, problemsOf, type RuleKind } from "./rules";
import { SaidWords } from "./SaidWords";
import { valuesWords } from "./words";

interface Props {
  approval: ApprovalView;
  onClose: () => void;
  /** True when it was made. */
  onGrant: (answer: Answer) => Promise<boolean>;
  /** Why it was not made, the last time. */
  problem: string | undefined;
}

const covers = [{ id: "exact", label: "Exactly this call" }, { id: "pattern", label: "Calls like this one" }] as const;
const spans = [{ id: "1", label: "A day" }, { id: "7", label: "A week" }, { id: "30", label: "30 days" }, { id: "365", label: "A year" }, { id: "", label: "No end" }] as const;

export function GrantEditor({ approval, onClose, onGrant, problem }: Props) {
  const now = useNow(60_000);
  const [draft, setDraft] = useState(() => draftFor(approval));
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const isGone = use(GoneSinceContext) !== undefined;
  const set = (part: Partial<GrantDraft>) => setDraft({ ...draft, ...part });
  const problems = problemsOf(draft);
  const values = valuesWords(approval);
  const grant = async () => {
    setTried(true);
    if (Object.keys(problems).length > 0 || busy) return;
    setBusy(true);
    if (await onGrant(answerOf(draft, Date.now()))) onClose();
    else setBusy(false);
  };
  return (
    <Modal
      isOpen
      onClose={onClose}
      title={`Always for “${visible(approval.jobName)}”`}
      wide
      footer={
        <>
          <Button onPress={onClose}>Cancel</Button>
          <Button look="primary" isDisabled={isGone} isPending={busy} onPress={() => void grant()}>Allow from now on</Button>
        </>
      }
    >
      <div className={styles.form}>
        {approval.shellText.length > 0 ? (
          <p className={styles.sentence}>A shell reads what is run here, so only exactly this call can be granted.</p>
        ) : (
          <Segmented label="What it covers" options={covers} value={draft.cover} onChange={(cover) => set({ cover })} className={styles.fit} />
        )}
        {draft.cover === "pattern" && (
          <ul className={styles.rules} aria-label="Arguments">
            {draft.rules.map((rule, i) => (
              <li key={rule.name}>
                <Rule rule={rule} onChange={(next) => set({ rules: draft.rules.with(i, next) })} problem={tried ? problems[rule.name] : undefined} />
              </li>
            ))}
          </ul>
        )}
        <div className={styles.limits}>
          <div>
            <span className={styles.label} aria-hidden>For how long</span>
            <Chips label="For how long" options={spans} value={String(draft.days ?? "") as (typeof spans)[number]["id"]} onChange={(days) => set({ days: days === "" ? null : Number(days) })} />
          </div>
          <NumberField label="How often" unit="times" placeholder="Any" minValue={1} value={draft.uses ?? NaN} onChange={(uses) => set({ uses: Number.isNaN(uses) ? null : uses })} className={styles.uses} />
        </div>
        <p className={styles.sentence} role="status">
          <SaidWords said={draftWords(draft, approval, now)} />
          {values !== undefined && <> <Worded text={values} /></>}
        </p>
        {problem !== undefined && <p role="alert" className={styles.problem}>It was not granted: <Worded text={problem} /></p>}
      </div>
    </Modal>
  );
}

const kindWords: Record<RuleKind, string> = { equals: "is exactly this", below: "is this or lies below it", oneOf: "is one of these", any: "may be anything" };

function Rule({ rule, onChange, problem }: { rule: DraftRule; onChange: (rule: DraftRule) => void; problem: string | undefined }) {
  const { name, kind, lines, root, value } = rule;
  const kinds = kindsFor(rule);
  return (
    <div className={styles.rule}>
      <code className={styles.name}><Marks text={unmistakable(name)} /></code>
      <Select
        label={`What ${name} may be`}
        labelHidden
        choices={kinds.map((id) => ({ id, label: kindWords[id] }))}
        value={kind}
        onChange={(next) => onChange({ ...rule, kind: next as RuleKind })}
      />
      <div className={styles.value}>
        {kind === "equals" && <Fixed name={name} text={typeof value === "string" ? value : JSON.stringify(value, null, 2)} />}
        {kind === "below" && <TextField mono label={`${name} lies below`} labelHidden value={root} onChange={(next) => onChange({ ...rule, root: next })} error={problem} spellCheck="false" />}
        {kind === "below" && <Unseen text={root} />}
        {kind === "oneOf" && <TextArea mono rows={2} label={`Values of ${name}, one a line`} labelHidden value={lines} onChange={(next) => onChange({ ...rule, lines: next })} error={problem} spellCheck="false" />}
        {kind === "oneOf" && <Unseen text={lines} />}
      </div>
    </div>
  );
}

/** A value that the grant is bound to, whole. */
function Fixed({ name, text }: { name: string; text: string }) {
  const shown = unmistakable(text);
  return (
    <>
      <pre className={styles.fixed} tabIndex={0} role="group" aria-label={`The value of ${name}`}><Marks text={shown} /></pre>
      <HiddenCount text={shown} />
    </>
  );
}

/** What is in a field and cannot be seen there: a field shows a text as it is. */
function Unseen({ text }: { text: string }) {
  const shown = unmistakable(text);
  if (hiddenIn(shown) === 0) return null;
  return (
    <>
      <pre className={styles.fixed}><Marks text={shown} /></pre>
      <HiddenCount text={shown} />
    </>
  );
}
