/* One question to a person: what would run, exactly; why it is asked; who asks; how long there is; and the answers. Answers
   are keys as well, named on the buttons while they count: not in the first half second, not while something is being typed,
   and not while the key is held down. The highest class has no "always". */

import { Hand, ShieldAlert } from "lucide-react";
import { type ReactNode, use, useEffect, useRef, useState } from "react";

import { Button } from "@/components/Button";
import { Code, pretty } from "@/components/Code";
import { type Fact, Facts } from "@/components/Facts";
import { Folded } from "@/components/Folded";
import { GoneSinceContext, useShownNow } from "@/components/gone";
import { Kbd } from "@/components/Kbd";
import { Marks } from "@/components/Marks";
import { Notice } from "@/components/Notice";
import { useKeysCount, useShortcut } from "@/components/shortcuts";
import { Time } from "@/components/Time";
import { useArmed } from "@/components/useArmed";
import { useNow } from "@/components/useNow";
import { Worded } from "@/components/Worded";
import { unmistakable } from "@/format/visible";
import type { Answer, ApprovalView } from "@/platform";

import styles from "./ApprovalCard.module.css";
import { Countdown } from "./Countdown";
import { DenyForm } from "./DenyForm";
import { GrantEditor } from "./GrantEditor";
import { answerIcon } from "./icons";
import { apart } from "./preview";
import { Preview } from "./Preview";
import { Waited } from "./Waited";
import { afterwards, answerWords, argumentsWords, type AskingRun, questionTitle } from "./words";

interface Props {
  approval: ApprovalView;
  /** Gives the answer; rejects when it could not be given. */
  onAnswer: (answer: Answer) => Promise<unknown>;
  onCopy: (text: string) => Promise<void>;
  /** Who asks, as links: the job and the run. Left out where the page says it already. */
  who?: readonly Fact[];
  /** Opens what is proposed in an editor; only calls that propose a job offer it. */
  onEdit?: () => void;
  /** The run makes this one call and no other, so a yes for the run says nothing more. */
  isOnlyCall?: boolean;
  /** How the run that asked stands. */
  run?: AskingRun;
  /** What comes after an answer, such as the way to the next question. */
  next?: ReactNode;
}

/** The tool whose calls propose a job. */
const proposes = "routine_create";

export function ApprovalCard({ approval, onAnswer, onCopy, onEdit, isOnlyCall = false, run = { state: undefined, others: 0, makesOneCall: isOnlyCall }, who = [], next }: Props) {
  const { tool, why, isHighest, askedAtMs, expiresAtMs, state, holdsUp } = approval;
  const isOpen = state === "pending";
  const held = [...approval.files, ...approval.replaces];
  // A command's preview says where it would run.
  const saysWhere = apart(approval.preview, approval.arguments).said.length > 0;
  const [wasOpen] = useState(isOpen);
  return (
    <article className={styles.card} aria-label={`Question: ${tool} in ${approval.jobName}`}>
      <header className={styles.head}>
        <h2 className={styles.title}>
          <Hand size={17} aria-hidden className={styles.hand} />
          <span><Question approval={approval} /></span>
        </h2>
        {isOpen && <Countdown endsAtMs={expiresAtMs} />}
      </header>
      <p className={styles.why}>
        {isHighest && <ShieldAlert size={14} aria-hidden />}
        <Worded text={why} />
      </p>
      <Preview text={approval.preview} call={approval} />
      <Facts
        facts={[
          ...who,
          isOpen ? { name: "Waits", value: <>for <Waited sinceMs={askedAtMs} /></> } : { name: "Asked", value: <Time at={askedAtMs} /> },
          holdsUp !== null && !isOnlyCall && { name: "Holds up", value: holdsUp.text, wide: true },
          approval.directory !== null && !saysWhere && { name: "Works in", value: <code><Marks text={unmistakable(approval.directory)} /></code>, wide: true },
          approval.ungranted !== null && { name: "Always", value: <>Not this one. <Worded text={approval.ungranted} /></>, wide: true },
          held.length > 0 && { name: "The answer holds for these files as they are", value: held.map((file) => <div key={file}><code><Marks text={unmistakable(file)} /></code></div>), wide: true },
        ]}
      />
      <Folded title="Arguments" summary={argumentsWords(approval)}>
        <Code label="Arguments" text={pretty(approval.arguments)} onCopy={onCopy} unfolded decided />
      </Folded>
      {isOpen ? <Answers key={approval.id} approval={approval} onAnswer={onAnswer} onEdit={onEdit} isOnlyCall={isOnlyCall} /> : <Answered approval={approval} run={run} next={next} takesFocus={wasOpen} />}
    </article>
  );
}

/** What is asked, in plain words where the tool has some, and the tool's name. */
function Question({ approval: { tool, toolLabel } }: Pick<Props, "approval">) {
  const plain = questionTitle(tool);
  if (plain !== undefined) return plain;
  return toolLabel === null ? <>May <code>{tool}</code> run?</> : <>{toolLabel}? <code>{tool}</code></>;
}

function Answers({ approval, onAnswer, onEdit, isOnlyCall }: Pick<Props, "approval" | "onAnswer" | "onEdit" | "isOnlyCall">) {
  const { id, jobId, isHighest, expiresAtMs } = approval;
  const [open, setOpen] = useState<"deny" | "grant">();
  const [busy, setBusy] = useState<Answer["kind"]>();
  const [problem, setProblem] = useState<string>();
  const isOver = useShownNow(1_000) >= expiresAtMs;
  const isArmed = useArmed(id);
  const isGone = use(GoneSinceContext) !== undefined;
  const isClosed = isOver || isGone;
  const armed = isArmed && !isClosed && busy === undefined;
  const { areNamed, onPointerDownCapture } = useKeysNamed();

  const give = async (answer: Answer) => {
    setBusy(answer.kind);
    setProblem(undefined);
    try {
      await onAnswer(answer);
      return true;
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      return false;
    } finally {
      setBusy(undefined);
    }
  };
  const pressed = (what: () => unknown) => () => {
    if (armed) what();
  };
  const once = pressed(() => void give({ kind: "once" }));
  const run = pressed(() => void give({ kind: "run" }));
  const always = pressed(() => setOpen("grant"));
  const deny = pressed(() => setOpen("deny"));
  const canAlways = !isHighest && jobId !== null && approval.ungranted === null;
  const canRun = !isHighest && !isOnlyCall;
  const keys = { group: "This question", when: !isClosed && open === undefined };
  useShortcut("a", "Allow once", once, keys);
  useShortcut("r", "Allow for this run", run, { ...keys, when: keys.when && canRun });
  useShortcut("g", "Always for this job…", always, { ...keys, when: keys.when && canAlways });
  useShortcut("d", "Deny, with a reason", deny, keys);

  return (
    <div className={styles.answers}>
      {problem !== undefined && open !== "grant" && <p role="alert" className={styles.problem}>It was not answered. <Worded text={problem} /></p>}
      {isOver && <p className={styles.over}>The time for an answer is over.</p>}
      {open === "deny" ? (
        <DenyForm busy={busy === "deny"} isDisabled={isClosed} onDeny={(reason) => void give({ kind: "deny", ...(reason !== "" && { reason }) })} onCancel={() => setOpen(undefined)} />
      ) : (
        <div className={styles.buttons} role="group" aria-label="Answers" data-arming={!isArmed || undefined} data-unheard={!areNamed || undefined} onPointerDownCapture={onPointerDownCapture}>
          <AnswerButton letter="A" look="primary" isDisabled={isClosed} isPending={busy === "once"} onPress={once}>Allow once</AnswerButton>
          {canRun && <AnswerButton letter="R" isDisabled={isClosed} isPending={busy === "run"} onPress={run}>This run</AnswerButton>}
          {approval.tool === proposes && onEdit && <Button isDisabled={isClosed} onPress={onEdit}>Change it first…</Button>}
          {canAlways && <AnswerButton letter="G" isDisabled={isClosed} isPending={busy === "always"} onPress={always}>Always…</AnswerButton>}
          <span className={styles.gap} />
          <AnswerButton letter="D" look="danger" isDisabled={isClosed} isPending={busy === "deny"} onPress={deny}>Deny</AnswerButton>
        </div>
      )}
      {open === "grant" && <GrantEditor approval={approval} onClose={() => setOpen(undefined)} onGrant={give} problem={problem} />}
    </div>
  );
}

/** Whether the buttons name their keys, which takes room. A press takes the focus out of a field, so that the keys count from then
    on; but the buttons must not move from under it, so they are named only after it. */
function useKeysNamed() {
  const keysCount = useKeysCount();
  const [isPressed, setPressed] = useState(false);
  useEffect(() => {
    if (!isPressed) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const released = () => (timer = setTimeout(() => setPressed(false)));
    for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, released);
    return () => {
      clearTimeout(timer);
      for (const end of ["pointerup", "pointercancel"]) window.removeEventListener(end, released);
    };
  }, [isPressed]);
  return { areNamed: keysCount && !isPressed, onPointerDownCapture: () => setPressed(!keysCount) };
}

interface ButtonProps {
  letter: string;
  look?: "primary" | "quiet" | "danger";
  isDisabled: boolean;
  isPending: boolean;
  onPress: () => void;
  children: string;
}

function AnswerButton({ letter, look = "quiet", children, ...props }: ButtonProps) {
  return (
    <Button look={look} aria-keyshortcuts={letter} {...props}>
      {children} <Kbd>{letter}</Kbd>
    </Button>
  );
}

/** The buttons that were pressed are gone with the answer; what came of it takes the focus they had. */
function Answered({ approval, run, next, takesFocus }: Pick<Props, "approval" | "next"> & { run: AskingRun; takesFocus: boolean }) {
  const now = useNow(30_000);
  const answer = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (takesFocus && document.activeElement === document.body) answer.current?.focus({ preventScroll: true });
  }, [takesFocus]);
  return (
    <div role="status" ref={answer} tabIndex={-1}>
      <Notice icon={answerIcon[approval.state]} action={next}>
        <p className={styles.answer}>{answerWords(approval, now)}</p>
        <p className={styles.after}>{afterwards(approval, run)}</p>
      </Notice>
    </div>
  );
}
