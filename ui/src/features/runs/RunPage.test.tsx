import { screen, waitFor, within } from "@testing-library/react";
import { expect, onTestFinished, test, vi } from "vitest";

import { errorCode, RpcError } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aDetail, anApproval, aStatus, aStep, noon, noUsage } from "@/test/fixtures";
import { hears } from "@/test/hears";
import { renderApp } from "@/test/renderApp";

test("the header tells what came of it, why it fired, how long it took and what it cost", async () => {
  const detail = aDetail({ summary: "**All fine.**", model: "llama3.2", usage: { ...noUsage, inputTokens: 3_120, outputTokens: 80 }, lateByMs: 2_000, durationMs: 18_700 });
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => detail }));
  expect(await screen.findByRole("heading", { name: /Backup/, level: 1 })).toBeInTheDocument();
  for (const fact of ["On schedule", "2 s late", "19 s", "llama3.2", "3.1k in, 80 out", "unknown"]) expect(screen.getByText(fact, { exact: false })).toBeInTheDocument();
});

test("a tool's call is a line; its arguments and its result are behind it", async () => {
  const step = aStep({ name: "read_file", input: { path: "notes.md" }, output: "There is no such file.", isError: true });
  const { user } = renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { steps: [step] }) }));
  const line = await screen.findByRole("button", { name: /path: notes\.md/ });
  expect(line).toHaveAttribute("aria-expanded", "false");
  await user.click(line);
  expect(await screen.findByRole("region", { name: "Result" })).toHaveTextContent("There is no such file.");
  expect(screen.getByText("failed")).toBeInTheDocument();
});

test("what cannot be seen of a call and its result is shown by its number, also on their line", async () => {
  const step = aStep({ name: "echo", input: { text: "\u001B[31mred" }, output: "\u202Etxt.exe" });
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { steps: [step] }) }));
  const line = await screen.findByRole("button", { name: /^text: / });
  expect(line).toHaveTextContent("text: ⟨U+001B⟩[31mred⟨U+202E⟩txt.exe");
});

test("each step says what the gate decided and what it cost, the head what all of them cost", async () => {
  const steps = [
    aStep({ kind: "modelTurn", name: "claude", usage: { ...noUsage, inputTokens: 3_120, outputTokens: 80, costMicroUsd: 4_200 } }),
    aStep({ seq: 2, name: "image_make", usage: { ...noUsage, costMicroUsd: 20_000 }, gate: { decision: "answered", approvalId: "a", rewrittenBy: null } }),
  ];
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({ usage: { ...noUsage, inputTokens: 3_120, outputTokens: 80, costMicroUsd: 24_200 } }, { steps }) }));
  expect(await screen.findByText("3.1k in, 80 out · $0.0042 · 5 ms")).toBeInTheDocument();
  expect(screen.getByText("allowed by you · $0.020 · 5 ms")).toBeInTheDocument();
  expect(screen.getByText("$0.024")).toBeInTheDocument();
});

test("while a run goes on the head says what its steps have cost so far, and nothing before they cost anything", async () => {
  const live = { state: "running", finishedAtMs: null, durationMs: null } as const;
  const host = fakeHost({ "runs.get": () => aDetail(live, { steps: [aStep({ kind: "modelTurn", status: "started", durationMs: null })] }) });
  renderApp("/runs/run-1", host);
  await screen.findByText("Why it fired");
  expect(screen.queryByText(/so far/)).not.toBeInTheDocument();
  const usage = { ...noUsage, inputTokens: 3_120, outputTokens: 80, costMicroUsd: 4_200 };
  host.answers["runs.get"] = () => aDetail(live, { steps: [aStep({ kind: "modelTurn", usage }), aStep({ seq: 2, kind: "modelTurn", usage })] });
  host.emit("run", { runId: "run-1", state: "running" });
  expect((await screen.findByText("Tokens so far")).nextSibling).toHaveTextContent("6.2k in, 160 out");
  expect(screen.getByText("Cost so far").nextSibling).toHaveTextContent("$0.0084");
});

test("a call that was refused says of which kind that was, and is not called failed", async () => {
  const refused = { kind: "toolCall", status: "failed", isError: true, output: "http was called too often.", durationMs: 0 } as const;
  const steps = [
    aStep({ ...refused, gate: { decision: "refused", why: { kind: "rateLimited", waitMs: 40_000 }, rewrittenBy: null } }),
    aStep({ ...refused, seq: 2, gate: { decision: "refused", why: { kind: "hook", hook: "guard", how: "saidNo" }, rewrittenBy: "tidy" } }),
    aStep({ ...refused, seq: 3, gate: { decision: "refused", why: null, rewrittenBy: null } }),
  ];
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { steps }) }));
  expect(await screen.findByText("refused: over its rate, may be tried again after 40 s · 0 ms")).toBeInTheDocument();
  expect(screen.getByText("refused by the hook guard · rewritten by the hook tidy · 0 ms")).toBeInTheDocument();
  expect(screen.getByText("refused · 0 ms")).toBeInTheDocument();
  expect(screen.queryByText("failed")).not.toBeInTheDocument();
});

test.each([
  ["Cancelled by you", "Stopped by you"],
  ["Stopped by you", "Stopped by you"],
  ["The job was deleted", "Cancelled"],
])("in a run that is over because of %j what was cut off reads %s, and nothing went wrong", async (reason, word) => {
  const steps = [
    aStep({ kind: "modelTurn", name: "mock-1", status: "failed", isError: true, output: { text: "word", error: "the run was cancelled" } }),
    aStep({ seq: 2, name: "run_command", status: "unknown", isError: true, output: { error: "run_command was stopped with its run. It may have done its work all the same." } }),
    aStep({ seq: 3, name: "http", status: "failed", isError: true, output: { error: "No network." } }),
  ];
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({ state: "cancelled", reason }, { steps }) }));
  const [turn, command, call] = within(await screen.findByRole("list", { name: "Steps" })).getAllByRole("listitem");
  expect(turn).toHaveTextContent(word);
  expect(turn).not.toHaveTextContent(/went wrong/);
  expect(command).toHaveTextContent(word);
  expect(command).toHaveTextContent("It may have done its work all the same.");
  expect(call).toHaveTextContent("failed");
});

test("a step whose price nobody knows says so", async () => {
  const steps = [aStep({ kind: "modelTurn", name: "house-9", usage: { ...noUsage, inputTokens: 900, outputTokens: 60 } })];
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { steps }) }));
  expect(await screen.findByText("900 in, 60 out · cost unknown · 5 ms")).toBeInTheDocument();
});

test("a run whose tool cost nothing has no line about money", async () => {
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({ usage: { ...noUsage, costMicroUsd: 0 } }) }));
  await screen.findByText("Why it fired");
  expect(screen.queryByText("Cost")).not.toBeInTheDocument();
});

test("a run without a model says what its tool cost", async () => {
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({ usage: { ...noUsage, costMicroUsd: 20_000 } }) }));
  expect(await screen.findByText("$0.020")).toBeInTheDocument();
});

test("the raw record is one press away", async () => {
  const { user } = renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail() }));
  await user.click(await screen.findByRole("button", { name: "Raw JSON" }));
  expect(screen.getByRole("region", { name: "Raw JSON" })).toHaveTextContent('"standsFor": 1');
});

test("a live run streams its words and its end in place", async () => {
  const live = aDetail({ state: "running", finishedAtMs: null, durationMs: null }, { steps: [aStep({ kind: "modelTurn", name: "llama3.2", status: "started", durationMs: null })] });
  const host = fakeHost({ "runs.get": () => live });
  renderApp("/runs/run-1", host);
  await screen.findByText("Running for");
  await hears(host, { runId: "run-1", text: "Looking at the disks" });
  host.answers["runs.get"] = () => aDetail({ summary: "All fine." });
  host.emit("run", { runId: "run-1", jobId: "job-1", state: "succeeded" });
  expect(await screen.findByText("All fine.")).toBeInTheDocument();
  expect(screen.getByRole("button", { name: "Run again" })).toBeInTheDocument();
});

test("a run between two attempts says what failed and when it tries again", async () => {
  const run = { state: "running", finishedAtMs: null, durationMs: null, error: "No network.", nextAttemptAtMs: Date.now() + 600_000 } as const;
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail(run) }));
  expect(await screen.findByText("Tries again")).toBeInTheDocument();
  expect(screen.getByRole("heading", { name: /Backup/ }).closest("header")).toHaveTextContent("Waits for its next attempt");
  expect(screen.queryByText(/^Running/)).not.toBeInTheDocument();
  expect(screen.getByText("No network.")).toBeInTheDocument();
});

test("a live run can be cancelled, a finished one run again", async () => {
  const host = fakeHost({ "runs.get": () => aDetail({ state: "queued", startedAtMs: null }), "runs.cancel": () => ({ changed: true }), "runs.retry": () => ({ runId: "run-2" }) });
  const { user, path } = renderApp("/runs/run-1", host);
  await user.click(await screen.findByRole("button", { name: "Cancel" }));
  await waitFor(() => expect(host.called("runs.cancel")).toEqual([{ id: "run-1" }]));
  host.answers["runs.get"] = ({ id }) => aDetail({ id, state: "cancelled" });
  host.emit("run", { runId: "run-1" });
  await user.click(await screen.findByRole("button", { name: "Run again" }));
  await waitFor(() => expect(path()).toBe("/runs/run-2"));
});

test("E goes to the job; a job that is gone is not offered", async () => {
  const { user, path } = renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail() }));
  await screen.findByRole("link", { name: "Edit job" });
  await user.keyboard("e");
  await waitFor(() => expect(path()).toBe("/jobs/job-1"));
});

test("a run of a deleted job can be read, but not edited or run again", async () => {
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { jobExists: false }) }));
  await screen.findByRole("heading", { name: /Backup/ });
  expect(screen.queryByRole("link", { name: "Edit job" })).not.toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Run again" })).not.toBeInTheDocument();
});

test("a run that does not exist any more says so", async () => {
  renderApp("/runs/gone", fakeHost({ "runs.get": () => Promise.reject(new RpcError(errorCode.notFound, "no")) }));
  expect(await screen.findByText("This run is not there any more")).toBeInTheDocument();
});

test("a model's text loads no image, runs no script, and a link leaves only after a question", async () => {
  const text = 'Look ![pixel](https://evil.example/p.png) <img src="https://evil.example/q.png"> <script>alert(1)</script> at [the log](https://log.example/1) or [this](javascript:alert(2)).';
  const host = fakeHost({ "runs.get": () => aDetail({ summary: text }) });
  const { user } = renderApp("/runs/run-1", host);
  const link = await screen.findByRole("link", { name: "the log" });
  expect(document.querySelector("img, script, [href^=javascript]")).toBeNull();
  expect(screen.queryByRole("link", { name: "this" })).not.toBeInTheDocument();
  await user.click(link);
  const question = await screen.findByRole("alertdialog", { name: "Open this address?" });
  expect(question).toHaveTextContent("https://log.example/1");
  expect(host.openExternal).not.toHaveBeenCalled();
  await user.click(within(question).getByRole("button", { name: "Open" }));
  expect(host.openExternal).toHaveBeenCalledExactlyOnceWith("https://log.example/1");
});

test("a missed run says why and when", async () => {
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({ state: "missed", startedAtMs: null, durationMs: null, finishedAtMs: noon, reason: "The computer was asleep from 22:10 to 07:52." }) }));
  expect(await screen.findByText("The computer was asleep from 22:10 to 07:52.")).toBeInTheDocument();
  expect(screen.getByText("It never began, so there are no steps.")).toBeInTheDocument();
});

test.each(["failed", "timedOut", "cancelled", "interrupted"] as const)("a run that %s before its first step is not said to have needed none", async (state) => {
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({ state }) }));
  expect(await screen.findByText("It ended before its first step.")).toBeInTheDocument();
});

test("a run that had no model leads nowhere once one is set up", async () => {
  const host = fakeHost({ "system.status": () => aStatus({ model: "llama3.2" }), "runs.get": () => aDetail({ state: "failed", error: "No model is set up. Add a provider under Settings." }) });
  renderApp("/runs/run-1", host);
  await screen.findByText(/^No model is set up\./);
  await waitFor(() => expect(host.called("system.status")).not.toEqual([]));
  await waitFor(() => expect(within(screen.getByRole("main")).queryByRole("link", { name: "Settings" })).not.toBeInTheDocument());
});

test("a run that had no model leads to where one is set up", async () => {
  const host = fakeHost({ "runs.get": () => aDetail({ state: "failed", error: "No model is set up. Start Ollama or LM Studio on this computer, or add a provider under Settings." }) });
  renderApp("/runs/run-1", host);
  const notice = (await screen.findByText(/^No model is set up\./)).parentElement!;
  expect(await within(notice).findByRole("link", { name: "Settings" })).toHaveAttribute("href", "/settings#model");
  host.answers["runs.get"] = () => aDetail({ state: "failed", error: "No network." });
  host.emit("run", { runId: "run-1" });
  await screen.findByText("No network.");
  expect(within(screen.getByRole("main")).queryByRole("link", { name: "Settings" })).not.toBeInTheDocument();
});

test("how long a run worked and how long it waited for the person are two facts; questions of one time count once", async () => {
  const answered = { state: "approved", scope: "once", answeredFrom: "page" } as const;
  const approvals = [
    anApproval({ ...answered, askedAtMs: noon + 50, decidedAtMs: noon + 40_050 }),
    anApproval({ ...answered, id: "ask-2", askedAtMs: noon + 20_050, decidedAtMs: noon + 48_050 }),
  ];
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({ startedAtMs: noon, finishedAtMs: noon + 48_090, durationMs: 48_090 }, { approvals }) }));
  expect((await screen.findByText("Took")).nextSibling).toHaveTextContent("90 ms, and waited 48 s for you");
});

test("whoever shows a notification about the run is told that it was looked at, once per delivery", async () => {
  const delivery = { id: "d", runId: "run-1", channel: "notification", title: "Backup", body: "", attempts: 1, reason: null, createdAtMs: noon, nextAttemptAtMs: null, settledAtMs: null, heldUntilMs: null, digestId: null };
  const host = fakeHost({ "runs.get": () => aDetail({}, { deliveries: [{ ...delivery, state: "pending" }] }), "runs.seen": () => ({ changed: true }) });
  renderApp("/runs/run-1", host);
  await screen.findByText("Waiting to be delivered");
  expect(host.called("runs.seen")).toEqual([]);
  host.answers["runs.get"] = () => aDetail({}, { deliveries: [{ ...delivery, state: "delivered" }] });
  host.emit("delivery", { deliveryId: "d", runId: "run-1", state: "delivered" });
  await waitFor(() => expect(host.called("runs.seen")).toEqual([{ id: "run-1" }]));
});

test("deliveries that read the same stand on one line with their number", async () => {
  const delivery = { runId: "run-1", channel: "notification", title: "Backup", body: "", attempts: 1, reason: "No desktop.", createdAtMs: noon, nextAttemptAtMs: null, settledAtMs: null, heldUntilMs: null, digestId: null };
  const deliveries = [{ ...delivery, id: "a", state: "suppressed" as const }, { ...delivery, id: "b", state: "delivered" as const, reason: null }, { ...delivery, id: "c", state: "suppressed" as const }];
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { deliveries }), "runs.seen": () => ({ changed: true }) }));
  expect(await screen.findByText(/^Held back, 2 times/)).toHaveTextContent("Held back, 2 times: No desktop.");
  expect(screen.getByText(/^Delivered/)).toHaveTextContent("Delivered by notification");
});

test("an address that could not be opened is said in the question, which stays", async () => {
  const host = fakeHost({ "runs.get": () => aDetail({ summary: "[the log](https://log.example/1)" }) });
  host.openExternal = () => Promise.reject(new Error("The browser could not be opened."));
  const { user } = renderApp("/runs/run-1", host);
  await user.click(await screen.findByRole("link", { name: "the log" }));
  await user.click(await screen.findByRole("button", { name: "Open" }));
  expect(await screen.findByRole("alert")).toHaveTextContent("The browser could not be opened.");
});

test("what fired the run is shown as it came, and leads to the run before", async () => {
  const cause = { source: "job", text: "<b>All is saved.</b>", fields: { runId: "run-0", name: "Backup", status: "ok" }, atMs: noon };
  const { user, path } = renderApp("/runs/run-1", fakeHost({ "runs.get": ({ id }) => aDetail({ id, trigger: "event" }, { cause: id === "run-1" ? cause : null }) }));
  expect(await screen.findByRole("region", { name: "What was said" })).toHaveTextContent("<b>All is saved.</b>");
  expect(screen.getByText("On an event")).toBeInTheDocument();
  await user.click(screen.getByRole("link", { name: "The end of another run" }));
  await waitFor(() => expect(path()).toBe("/runs/run-0"));
  await waitFor(() => expect(screen.queryByRole("region", { name: "What was said" })).not.toBeInTheDocument());
});

test("a run that asks shows its question in full, and is answered where it is looked at", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: noon });
  onTestFinished(() => void vi.useRealTimers());
  const waiting = aDetail({ state: "awaitingApproval", finishedAtMs: null, durationMs: null }, { approvals: [anApproval(), anApproval({ id: "ask-2" })] });
  const host = fakeHost({ "runs.get": () => waiting, "approvals.decide": ({ id }) => ({ counts: true, approval: anApproval({ id, state: "approved", scope: "once", decidedAtMs: noon, answeredFrom: "page" }) }) });
  const { user } = renderApp("/runs/run-1", host);
  expect(await screen.findAllByRole("article", { name: "Question: write_file in Weekly notes" })).toHaveLength(1);
  expect(screen.getByText(/^1 more question of this run after this one\./)).toBeInTheDocument();
  expect(screen.getByText("Waiting for you")).toBeInTheDocument();
  await waitFor(async () => {
    await user.keyboard("a");
    expect(host.called("approvals.decide")).toEqual([{ id: "ask-1", answer: { kind: "once" }, from: "page" }]);
  });
});

test("the timeline tells what was asked, who answered, and where, between the steps", async () => {
  const approvals = [anApproval({ askedAtMs: noon + 50, state: "denied", reason: "Use the archive.", answeredFrom: "cli", decidedAtMs: noon + 60 })];
  const steps = [aStep({ kind: "modelTurn", name: "llama3.2", startedAtMs: noon }), aStep({ seq: 2, name: "write_file", startedAtMs: noon + 100 })];
  const { user } = renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { steps, approvals }) }));
  const entries = within(await screen.findByRole("list", { name: "Steps" })).getAllByRole("listitem");
  expect(entries.map((entry) => /llama3\.2|Asked you about|write_file/.exec(entry.textContent)?.[0])).toEqual(["llama3.2", "Asked you about", "write_file"]);
  await user.click(within(entries[1]!).getByRole("button", { name: /Denied from the command line/ }));
  expect(await within(entries[1]!).findByText("The model was told: “Use the archive.”")).toBeInTheDocument();
});

test("an answer in the timeline does not say that the run goes on while another question of it is open", async () => {
  const answered = anApproval({ askedAtMs: noon + 50, state: "approved", scope: "once", answeredFrom: "cli", decidedAtMs: noon + 60 });
  const approvals = [answered, anApproval({ id: "ask-2", askedAtMs: noon + 51 })];
  const { user } = renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({ state: "awaitingApproval", finishedAtMs: null }, { approvals }) }));
  const steps = within(await screen.findByRole("list", { name: "Steps" }));
  await user.click(steps.getByRole("button", { name: /Allowed once from the command line/ }));
  expect(await steps.findByText("The run goes on with exactly this call, once its other question has an answer.")).toBeInTheDocument();
});

test("a summary of the session that the run had made stands among its steps, with what it cost", async () => {
  const made = aStep({ kind: "summary", name: "llama3.2", output: { text: "Berlin: **rain**." }, usage: { ...aStep().usage, inputTokens: 900, outputTokens: 60 } });
  const failed = aStep({ seq: 2, kind: "summary", name: "llama3.2", status: "failed", output: { error: "The model said nothing." } });
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { steps: [made, failed] }) }));
  const [one, other] = within(await screen.findByRole("list", { name: "Steps" })).getAllByRole("listitem");
  expect(one).toHaveTextContent(/llama3\.2has summed up the earlier runs of this session/);
  expect(one).toHaveTextContent(/Berlin: rain\./);
  expect(one).toHaveTextContent(/960 tokens|900/);
  expect(other).toHaveTextContent("The model said nothing.");
});
