/* Approval: call, reason, requester, time left and decision. Shortcuts are inactive for 500 ms, in fields, and while
   a key is held. Calls of the highest class cannot be granted. An input request has a form instead of buttons. */

import { Hand, ShieldAlert } from "lucide-react";
import { type ReactNode, use, useEffect, useRef, useState } from "react";

import { Button } from "@/components/Button";
import { Code, pretty } from "@/components/Code";
import { type Fact, Facts } from "@/components/Facts";
import { Collapsible } from "@/components/Collapsible";
import { EngineLostContext, useEngineNow } from "@/components/engineLost";
import { Kbd } from "@/components/Kbd";
import { VisibleText } from "@/components/VisibleText";
import { Notice } from "@/components/Notice";
import { useKeysActive, useShortcut } from "@/components/shortcuts";
import { Time } from "@/components/Time";
import { useClickGuard } from "@/components/useClickGuard";
import { useNow } from "@/components/useNow";
import { InlineCode } from "@/components/InlineCode";
import { showUnambiguous } from "@/format/visible";
import type { ApprovalView, DecisionDraft, InputPrompt } from "@/platform";

import styles from "./ApprovalCard.module.css";
import { Countdown } from "./Countdown";
import { DenyForm } from "./DenyForm";
import { GrantEditor } from "./GrantEditor";
import { InputForm } from "./InputForm";
import { decisionIcons } from "./decisionIcons";
import { splitCommandPreview } from "./preview";
import { Preview } from "./Preview";
import { actionOf, subjectText } from "./subject";
import { ElapsedTime } from "./ElapsedTime";
import { decisionEffect, decisionSummary, argumentsNote, type RequestingRun, approvalTitle } from "./decisionText";

interface Props {
  approval: ApprovalView;
  /** Sends the decision; rejects on failure. */
  onDecide: (decision: DecisionDraft) => Promise<unknown>;
  onCopy: (text: string) => Promise<void>;
  /** Opens the page of an input request. */
  onOpen: (url: string) => Promise<void>;
  /** Job and run; omitted on their own pages. */
  requestFacts?: readonly Fact[];
  /** Opens the proposed job in the editor. */
  onEdit?: (() => void) | undefined;
  /** Why nothing can be decided here; replaces the buttons. */
  refusal?: string | undefined;
  /** The run makes no other call, so "Allow for this run" is hidden. */
  isOnlyCall?: boolean;
  /** State of the requesting run. */
  run?: RequestingRun;
  /** Shown after the decision, such as a link to the next approval. */
  next?: ReactNode;
}

/** Tool that proposes jobs. */
const jobProposalTool = "routine_create";

export function ApprovalCard({
  approval,
  onDecide,
  onCopy,
  onOpen,
  onEdit,
  refusal,
  isOnlyCall = false,
  run = { state: undefined, others: 0, makesOneCall: isOnlyCall },
  requestFacts = [],
  next,
}: Props) {
  const { requestReason, isHighest, requestedAtMs, expiresAtMs, state, blockedWork, input, agent } = approval;
  const isOpen = state === "pending";
  const held = [...approval.files, ...approval.replacedFiles];
  // A command preview names the directory.
  const namesDirectory = splitCommandPreview(approval.preview, approval.arguments).notes.length > 0;
  const [wasOpen] = useState(isOpen);
  return (
    <article className={styles.card} aria-label={`Approval: ${subjectText(approval)} in ${approval.jobName}`}>
      <header className={styles.head}>
        <h2 className={styles.title}>
          <Hand size={17} aria-hidden className={styles.hand} />
          <span>
            <ApprovalTitle approval={approval} />
          </span>
        </h2>
        {isOpen && <Countdown endsAtMs={expiresAtMs} />}
      </header>
      <p className={styles.why}>
        {isHighest && input === null && <ShieldAlert size={14} aria-hidden />}
        <InlineCode text={requestReason} />
      </p>
      {agent !== null && <p className={styles.action}>{actionOf(approval)}</p>}
      {input !== null && (
        <blockquote className={styles.message}>
          <VisibleText text={input.message} />
        </blockquote>
      )}
      {input === null && <Preview text={approval.preview} call={approval} isAction={agent !== null} />}
      <Facts
        facts={[
          ...requestFacts,
          isOpen
            ? {
                name: "Requested",
                value: (
                  <>
                    <ElapsedTime sinceMs={requestedAtMs} /> ago
                  </>
                ),
              }
            : { name: "Requested", value: <Time at={requestedAtMs} /> },
          blockedWork !== null && !isOnlyCall && { name: "Blocks", value: blockedWork.text, wide: true },
          approval.directory !== null &&
            !namesDirectory && {
              name: "Working directory",
              value: (
                <code>
                  <VisibleText text={showUnambiguous(approval.directory)} />
                </code>
              ),
              wide: true,
            },
          approval.noGrantReason !== null && {
            name: "Grant",
            value: (
              <>
                Not available. <InlineCode text={approval.noGrantReason} />
              </>
            ),
            wide: true,
          },
          held.length > 0 && {
            name: "Valid for these file versions",
            value: held.map((file) => (
              <div key={file}>
                <code>
                  <VisibleText text={showUnambiguous(file)} />
                </code>
              </div>
            )),
            wide: true,
          },
        ]}
      />
      <Collapsible title={agent === null ? "Arguments" : "Task of the agent"} summary={argumentsNote(approval)}>
        <Code
          label={agent === null ? "Arguments" : "Task"}
          text={pretty(approval.arguments)}
          onCopy={onCopy}
          unfolded
          isDecision
        />
      </Collapsible>
      {isOpen && refusal !== undefined ? (
        <Notice>{refusal}</Notice>
      ) : isOpen && input !== null ? (
        <InputDecision key={approval.id} approval={approval} prompt={input} onDecide={onDecide} onOpen={onOpen} />
      ) : isOpen ? (
        <DecisionButtons
          key={approval.id}
          approval={approval}
          onDecide={onDecide}
          onEdit={onEdit}
          isOnlyCall={isOnlyCall}
        />
      ) : (
        <DecisionResult approval={approval} run={run} next={next} takesFocus={wasOpen} />
      )}
    </article>
  );
}

/** Title: the agent of an action, the plain title of a job tool, if any, and the tool's name. */
function ApprovalTitle({ approval: { tool, toolLabel, input, agent } }: Pick<Props, "approval">) {
  if (agent !== null)
    return (
      <>
        Let <code>{agent}</code> take this action?
      </>
    );
  if (input !== null)
    return (
      <>
        {input.server} asks for input <code>{tool}</code>
      </>
    );
  const plain = approvalTitle(tool);
  if (plain !== undefined) return plain;
  return toolLabel === null ? (
    <>
      Allow <code>{tool}</code>?
    </>
  ) : (
    <>
      {toolLabel}? <code>{tool}</code>
    </>
  );
}

function InputDecision({
  approval: { id, expiresAtMs },
  prompt,
  onDecide,
  onOpen,
}: Pick<Props, "approval" | "onDecide" | "onOpen"> & { prompt: InputPrompt }) {
  const isOver = useEngineNow(1_000) >= expiresAtMs;
  const isArmed = useClickGuard(id);
  const isGone = use(EngineLostContext) !== undefined;
  return (
    <div className={styles.decisions}>
      {isOver && <p className={styles.over}>This request has expired.</p>}
      <InputForm prompt={prompt} isDisabled={isOver || isGone || !isArmed} onDecide={onDecide} onOpen={onOpen} />
    </div>
  );
}

function DecisionButtons({
  approval,
  onDecide,
  onEdit,
  isOnlyCall,
}: Pick<Props, "approval" | "onDecide" | "onEdit" | "isOnlyCall">) {
  const { id, jobId, isHighest, expiresAtMs, agent } = approval;
  const [open, setOpen] = useState<"deny" | "grant">();
  const [busy, setBusy] = useState<DecisionDraft["kind"]>();
  const [problem, setProblem] = useState<string>();
  const isOver = useEngineNow(1_000) >= expiresAtMs;
  const isArmed = useClickGuard(id);
  const isGone = use(EngineLostContext) !== undefined;
  const isClosed = isOver || isGone;
  const armed = isArmed && !isClosed && busy === undefined;
  const { areNamed: isShown, onPointerDownCapture } = useKeyLabels();

  const give = async (decision: DecisionDraft) => {
    setBusy(decision.kind);
    setProblem(undefined);
    try {
      await onDecide(decision);
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
  const canAlways = !isHighest && jobId !== null && approval.noGrantReason === null;
  // A single call of a coding agent can ask for the same action again.
  const canRun = !isHighest && (!isOnlyCall || agent !== null);
  const keys = { group: "This approval", when: !isClosed && open === undefined };
  useShortcut("a", "Allow once", once, keys);
  useShortcut("r", "Allow for this run", run, { ...keys, when: keys.when && canRun });
  useShortcut("g", "Always allow…", always, { ...keys, when: keys.when && canAlways });
  useShortcut("d", "Deny", deny, keys);

  return (
    <div className={styles.decisions}>
      {problem !== undefined && open !== "grant" && (
        <p role="alert" className={styles.problem}>
          Your decision was not saved. <InlineCode text={problem} />
        </p>
      )}
      {isOver && <p className={styles.over}>This approval has expired.</p>}
      {open === "deny" ? (
        <DenyForm
          busy={busy === "deny"}
          isDisabled={isClosed}
          agent={agent}
          onDeny={(reason) => void give({ kind: "deny", ...(reason !== "" && { reason }) })}
          onCancel={() => setOpen(undefined)}
        />
      ) : (
        <div
          className={styles.buttons}
          role="group"
          aria-label="Decision"
          data-arming={!isArmed || undefined}
          data-unheard={!isShown || undefined}
          onPointerDownCapture={onPointerDownCapture}
        >
          <DecisionButton letter="A" look="primary" isDisabled={isClosed} isPending={busy === "once"} onPress={once}>
            Allow once
          </DecisionButton>
          {canRun && (
            <DecisionButton letter="R" isDisabled={isClosed} isPending={busy === "run"} onPress={run}>
              Allow for this run
            </DecisionButton>
          )}
          {approval.tool === jobProposalTool && onEdit && (
            <Button isDisabled={isClosed} onPress={onEdit}>
              Edit first…
            </Button>
          )}
          {canAlways && (
            <DecisionButton letter="G" isDisabled={isClosed} isPending={busy === "always"} onPress={always}>
              Always allow…
            </DecisionButton>
          )}
          <span className={styles.gap} />
          <DecisionButton letter="D" look="danger" isDisabled={isClosed} isPending={busy === "deny"} onPress={deny}>
            Deny
          </DecisionButton>
        </div>
      )}
      {agent !== null && open === undefined && (
        <p className={styles.after}>“Allow for this run” also allows the same action again in this task.</p>
      )}
      {open === "grant" && (
        <GrantEditor approval={approval} onClose={() => setOpen(undefined)} onGrant={give} problem={problem} />
      )}
    </div>
  );
}

/** True if the buttons show their keys. A press in a field activates the keys, but the labels appear only after
    release, so that the buttons do not move. */
function useKeyLabels() {
  const keysCount = useKeysActive();
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

function DecisionButton({ letter, look = "quiet", children, ...props }: ButtonProps) {
  return (
    <Button look={look} aria-keyshortcuts={letter} {...props}>
      {children} <Kbd>{letter}</Kbd>
    </Button>
  );
}

/** Takes over the focus of the removed buttons. */
function DecisionResult({
  approval,
  run,
  next,
  takesFocus,
}: Pick<Props, "approval" | "next"> & { run: RequestingRun; takesFocus: boolean }) {
  const now = useNow(30_000);
  const summary = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (takesFocus && document.activeElement === document.body) summary.current?.focus({ preventScroll: true });
  }, [takesFocus]);
  return (
    <div role="status" ref={summary} tabIndex={-1}>
      <Notice icon={decisionIcons[approval.state]} action={next}>
        <p className={styles.decision}>{decisionSummary(approval, now)}</p>
        <p className={styles.after}>{decisionEffect(approval, run)}</p>
      </Notice>
    </div>
  );
}
