import { screen, waitFor, within } from "@testing-library/react";
import { expect, onTestFinished, test, vi } from "vitest";

import { errorCode, RpcError } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aChannel, aChannelList, aDelivery, aDetail, anApproval, aStatus, aStep, noon, noUsage } from "@/test/fixtures";
import { streamText } from "@/test/streamText";
import { renderApp } from "@/test/renderApp";

test("header shows outcome, trigger, duration and cost", async () => {
  const detail = aDetail({
    summary: "**All fine.**",
    model: "llama3.2",
    usage: { ...noUsage, inputTokens: 3_120, outputTokens: 80 },
    lateByMs: 2_000,
    durationMs: 18_700,
  });
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => detail }));
  expect(await screen.findByRole("heading", { name: /Backup/, level: 1 })).toBeInTheDocument();
  for (const fact of ["2 s late", "19 s", "llama3.2", "3.1k in, 80 out", "unknown"])
    expect(screen.getByText(fact, { exact: false })).toBeInTheDocument();
  expect(screen.getByText("Trigger").nextSibling).toHaveTextContent("Schedule");
});

test("tool call is one line with expandable details", async () => {
  const step = aStep({
    name: "read_file",
    input: { path: "notes.md" },
    output: "There is no such file.",
    isError: true,
  });
  const { user } = renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { steps: [step] }) }));
  const line = await screen.findByRole("button", { name: /path: notes\.md/ });
  expect(line).toHaveAttribute("aria-expanded", "false");
  await user.click(line);
  expect(await screen.findByRole("region", { name: "Result" })).toHaveTextContent("There is no such file.");
  expect(screen.getByText("failed")).toBeInTheDocument();
});

test("files of a call load when the step is opened", async () => {
  const file = (name: string, mediaType: string, isKept = true) => ({ name, mediaType, bytes: 70, isKept });
  const attachments = [
    file("chart.png", "image/png"),
    file("report", "application/pdf"),
    file("big.png", "image/png", false),
  ];
  const host = fakeHost({
    "runs.get": () => aDetail({}, { steps: [aStep({ seq: 2, input: { url: "x" }, attachments })] }),
    "runs.attachment": ({ position }) =>
      position === 0
        ? { mediaType: "image/png", data: "iVBORw==" }
        : { mediaType: "application/pdf", data: btoa("%PDF-") },
  });
  const { user } = renderApp("/runs/run-1", host);
  const line = await screen.findByRole("button", { name: /url: x/ });
  expect(host.called("runs.attachment")).toEqual([]);
  await user.click(line);
  const image = await screen.findByRole("img", { name: "chart.png" });
  expect(image).toHaveAttribute("src", "data:image/png;base64,iVBORw==");
  expect(host.called("runs.attachment")).toEqual([{ runId: "run-1", step: 2, position: 0 }]);
  expect(screen.getByText("big.png").parentElement).toHaveTextContent("70 bytesnot kept: over 20 MB in this run");

  await user.click(screen.getByRole("button", { name: "Save report" }));
  const content = Uint8Array.from("%PDF-", (letter) => letter.charCodeAt(0));
  await waitFor(() => expect(host.saveFile).toHaveBeenCalledWith("report.pdf", content));
  await user.click(screen.getByRole("button", { name: "chart.png" }));
  const large = within(await screen.findByRole("dialog", { name: "chart.png" })).getByRole("img");
  expect(large).toHaveAttribute("src", "data:image/png;base64,iVBORw==");
});

test("file that does not load shows why", async () => {
  const attachments = [{ name: "chart.png", mediaType: "image/png", bytes: 70, isKept: true }];
  const host = fakeHost({
    "runs.get": () => aDetail({}, { steps: [aStep({ input: { url: "x" }, attachments })] }),
    "runs.attachment": () => Promise.reject(new RpcError(errorCode.notFound, "Run run-1 keeps no file.")),
  });
  const { user } = renderApp("/runs/run-1", host);
  await user.click(await screen.findByRole("button", { name: /url: x/ }));
  expect(await screen.findByText(/Run run-1 keeps no file\./)).toBeInTheDocument();
});

test("invisible characters in a call show code points", async () => {
  const step = aStep({ name: "echo", input: { text: "\u001B[31mred" }, output: "\u202Etxt.exe" });
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { steps: [step] }) }));
  const line = await screen.findByRole("button", { name: /^text: / });
  expect(line).toHaveTextContent("text: ⟨U+001B⟩[31mred⟨U+202E⟩txt.exe");
});

test("steps show gate decision and cost and the header the total", async () => {
  const steps = [
    aStep({
      kind: "modelTurn",
      name: "claude",
      usage: { ...noUsage, inputTokens: 3_120, outputTokens: 80, costMicroUsd: 4_200 },
    }),
    aStep({
      seq: 2,
      name: "image_make",
      usage: { ...noUsage, costMicroUsd: 20_000 },
      gate: { decision: "approved", approvalId: "a", rewrittenBy: null },
      gateText: "allowed by you",
    }),
  ];
  renderApp(
    "/runs/run-1",
    fakeHost({
      "runs.get": () =>
        aDetail({ usage: { ...noUsage, inputTokens: 3_120, outputTokens: 80, costMicroUsd: 24_200 } }, { steps }),
    }),
  );
  expect(await screen.findByText("3.1k in, 80 out · $0.0042 · 5 ms")).toBeInTheDocument();
  expect(screen.getByText("allowed by you · $0.020 · 5 ms")).toBeInTheDocument();
  expect(screen.getByText("$0.024")).toBeInTheDocument();
});

test("live run shows its cost so far once there is one", async () => {
  const live = { state: "running", finishedAtMs: null, durationMs: null } as const;
  const host = fakeHost({
    "runs.get": () => aDetail(live, { steps: [aStep({ kind: "modelTurn", status: "started", durationMs: null })] }),
  });
  renderApp("/runs/run-1", host);
  await screen.findByText("Trigger");
  expect(screen.queryByText(/so far/)).not.toBeInTheDocument();
  const usage = { ...noUsage, inputTokens: 3_120, outputTokens: 80, costMicroUsd: 4_200 };
  host.answers["runs.get"] = () =>
    aDetail(live, { steps: [aStep({ kind: "modelTurn", usage }), aStep({ seq: 2, kind: "modelTurn", usage })] });
  host.emit("run", { runId: "run-1", state: "running" });
  expect((await screen.findByText("Tokens so far")).nextSibling).toHaveTextContent("6.2k in, 160 out");
  expect(screen.getByText("Cost so far").nextSibling).toHaveTextContent("$0.0084");
});

test("refused call shows its kind and not as failed", async () => {
  const refused = {
    kind: "toolCall",
    status: "failed",
    isError: true,
    output: "http was called too often.",
    durationMs: 0,
  } as const;
  const steps = [
    aStep({
      ...refused,
      gate: { decision: "refused", refusal: { kind: "rateLimited", waitMs: 40_000 }, rewrittenBy: null },
      gateText: "refused: rate limit reached, retry after 40 s",
    }),
    aStep({
      ...refused,
      seq: 2,
      gate: { decision: "refused", refusal: { kind: "hook", hook: "guard", how: "denied" }, rewrittenBy: "tidy" },
      gateText: "refused by hook guard · rewritten by hook tidy",
    }),
    aStep({ ...refused, seq: 3, gate: { decision: "refused", refusal: null, rewrittenBy: null }, gateText: "refused" }),
  ];
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { steps }) }));
  expect(await screen.findByText("refused: rate limit reached, retry after 40 s · 0 ms")).toBeInTheDocument();
  expect(screen.getByText("refused by hook guard · rewritten by hook tidy · 0 ms")).toBeInTheDocument();
  expect(screen.getByText("refused · 0 ms")).toBeInTheDocument();
  expect(screen.queryByText("failed")).not.toBeInTheDocument();
});

test.each([
  ["Cancelled by you", "Stopped by you"],
  ["Stopped by you", "Stopped by you"],
  ["The job was deleted", "Cancelled"],
])("run ended by %j shows cut step as %s", async (reason, word) => {
  const steps = [
    aStep({
      kind: "modelTurn",
      name: "mock-1",
      status: "failed",
      isError: true,
      output: { text: "word", error: "the run was cancelled" },
    }),
    aStep({
      seq: 2,
      name: "run_command",
      status: "unknown",
      isError: true,
      output: { error: "run_command was stopped with its run. It may still have done its work." },
    }),
    aStep({ seq: 3, name: "http", status: "failed", isError: true, output: { error: "No network." } }),
  ];
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({ state: "cancelled", reason }, { steps }) }));
  const [turn, command, call] = within(await screen.findByRole("list", { name: "Steps" })).getAllByRole("listitem");
  expect(turn).toHaveTextContent(word);
  expect(turn).not.toHaveTextContent(/went wrong/);
  expect(command).toHaveTextContent(word);
  expect(command).toHaveTextContent("It may still have done its work.");
  expect(call).toHaveTextContent("failed");
});

test("step with unknown price shows so", async () => {
  const steps = [
    aStep({ kind: "modelTurn", name: "house-9", usage: { ...noUsage, inputTokens: 900, outputTokens: 60 } }),
  ];
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { steps }) }));
  expect(await screen.findByText("900 in, 60 out · cost unknown · 5 ms")).toBeInTheDocument();
});

test("free tool run shows no cost", async () => {
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({ usage: { ...noUsage, costMicroUsd: 0 } }) }));
  await screen.findByText("Trigger");
  expect(screen.queryByText("Cost")).not.toBeInTheDocument();
});

test("run without a model shows its tool cost", async () => {
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({ usage: { ...noUsage, costMicroUsd: 20_000 } }) }));
  expect(await screen.findByText("$0.020")).toBeInTheDocument();
});

test("raw JSON opens with one press", async () => {
  const { user } = renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail() }));
  await user.click(await screen.findByRole("button", { name: "Show raw JSON" }));
  expect(screen.getByRole("region", { name: "Raw JSON" })).toHaveTextContent('"slotCount": 1');
});

test("live run streams text and outcome in place", async () => {
  const live = aDetail(
    { state: "running", finishedAtMs: null, durationMs: null },
    { steps: [aStep({ kind: "modelTurn", name: "llama3.2", status: "started", durationMs: null })] },
  );
  const host = fakeHost({ "runs.get": () => live });
  renderApp("/runs/run-1", host);
  await screen.findByText("Running for");
  await streamText(host, { runId: "run-1", text: "Looking at the disks" });
  host.answers["runs.get"] = () => aDetail({ summary: "All fine." });
  host.emit("run", { runId: "run-1", jobId: "job-1", state: "succeeded" });
  expect(await screen.findByText("All fine.")).toBeInTheDocument();
  expect(screen.getByRole("button", { name: "Run again" })).toBeInTheDocument();
});

test("run between attempts shows the error and next attempt", async () => {
  const run = {
    state: "running",
    finishedAtMs: null,
    durationMs: null,
    error: "No network.",
    nextAttemptAtMs: Date.now() + 600_000,
  } as const;
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail(run) }));
  expect(await screen.findByText("Next attempt")).toBeInTheDocument();
  expect(screen.getByRole("heading", { name: /Backup/ }).closest("header")).toHaveTextContent("Waiting to retry");
  expect(screen.queryByText(/^Running/)).not.toBeInTheDocument();
  expect(screen.getByText("No network.")).toBeInTheDocument();
});

test("live run can be cancelled and finished run repeated", async () => {
  const host = fakeHost({
    "runs.get": () => aDetail({ state: "queued", startedAtMs: null }),
    "runs.cancel": () => ({ changed: true }),
    "runs.retry": () => ({ runId: "run-2" }),
  });
  const { user, path } = renderApp("/runs/run-1", host);
  await user.click(await screen.findByRole("button", { name: "Cancel" }));
  await waitFor(() => expect(host.called("runs.cancel")).toEqual([{ id: "run-1" }]));
  host.answers["runs.get"] = ({ id }) => aDetail({ id, state: "cancelled" });
  host.emit("run", { runId: "run-1" });
  await user.click(await screen.findByRole("button", { name: "Run again" }));
  await waitFor(() => expect(path()).toBe("/runs/run-2"));
});

test("E goes to the job; deleted job is not offered", async () => {
  const { user, path } = renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail() }));
  await screen.findByRole("link", { name: "Edit job" });
  await user.keyboard("e");
  await waitFor(() => expect(path()).toBe("/jobs/job-1"));
});

test("run of a deleted job is read-only", async () => {
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { jobExists: false }) }));
  await screen.findByRole("heading", { name: /Backup/ });
  expect(screen.queryByRole("link", { name: "Edit job" })).not.toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Run again" })).not.toBeInTheDocument();
});

test("missing run shows not found", async () => {
  renderApp("/runs/gone", fakeHost({ "runs.get": () => Promise.reject(new RpcError(errorCode.notFound, "no")) }));
  expect(await screen.findByText("Run not found")).toBeInTheDocument();
});

test("model text loads no image or script and links ask first", async () => {
  const text =
    'Look ![pixel](https://evil.example/p.png) <img src="https://evil.example/q.png"> <script>alert(1)</script> at [the log](https://log.example/1) or [this](javascript:alert(2)).';
  const host = fakeHost({ "runs.get": () => aDetail({ summary: text }) });
  const { user } = renderApp("/runs/run-1", host);
  const link = await screen.findByRole("link", { name: "the log" });
  expect(document.querySelector("img, script, [href^=javascript]")).toBeNull();
  expect(screen.queryByRole("link", { name: "this" })).not.toBeInTheDocument();
  await user.click(link);
  const question = await screen.findByRole("alertdialog", { name: "Open this link?" });
  expect(question).toHaveTextContent("https://log.example/1");
  expect(host.openExternal).not.toHaveBeenCalled();
  await user.click(within(question).getByRole("button", { name: "Open" }));
  expect(host.openExternal).toHaveBeenCalledExactlyOnceWith("https://log.example/1");
});

test("missed run shows reason and time", async () => {
  renderApp(
    "/runs/run-1",
    fakeHost({
      "runs.get": () =>
        aDetail({
          state: "missed",
          startedAtMs: null,
          durationMs: null,
          finishedAtMs: noon,
          reason: "The computer was asleep from 22:10 to 07:52.",
        }),
    }),
  );
  expect(await screen.findByText("The computer was asleep from 22:10 to 07:52.")).toBeInTheDocument();
  expect(screen.getByText("Did not start, so there are no steps.")).toBeInTheDocument();
});

test.each(["failed", "timedOut", "cancelled", "interrupted"] as const)(
  "run %s before its first step explains missing steps",
  async (state) => {
    renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({ state }) }));
    expect(await screen.findByText("Stopped before the first step.")).toBeInTheDocument();
  },
);

test("missing-model run has no link once a model exists", async () => {
  const host = fakeHost({
    "system.status": () => aStatus({ model: "llama3.2" }),
    "runs.get": () => aDetail({ state: "failed", error: "No model is set up. Add a provider under Settings." }),
  });
  renderApp("/runs/run-1", host);
  await screen.findByText(/^No model is set up\./);
  await waitFor(() => expect(host.called("system.status")).not.toEqual([]));
  await waitFor(() =>
    expect(within(screen.getByRole("main")).queryByRole("link", { name: "Settings" })).not.toBeInTheDocument(),
  );
});

test("missing-model run links to the model settings", async () => {
  const host = fakeHost({
    "runs.get": () =>
      aDetail({
        state: "failed",
        error:
          "No model is set up. Start Ollama or LM Studio on this computer, add a provider under Settings, or run " +
          "`rouse models add PROVIDER`.",
      }),
  });
  renderApp("/runs/run-1", host);
  const notice = (await screen.findByText(/^No model is set up\./)).parentElement!;
  expect(await within(notice).findByRole("link", { name: "Settings" })).toHaveAttribute("href", "/settings#model");
  host.answers["runs.get"] = () => aDetail({ state: "failed", error: "No network." });
  host.emit("run", { runId: "run-1" });
  await screen.findByText("No network.");
  expect(within(screen.getByRole("main")).queryByRole("link", { name: "Settings" })).not.toBeInTheDocument();
});

test("duration excludes approval waits and overlaps count once", async () => {
  const answered = { state: "approved", scope: "once", decidedFrom: "page" } as const;
  const approvals = [
    anApproval({ ...answered, requestedAtMs: noon + 50, decidedAtMs: noon + 40_050 }),
    anApproval({ ...answered, id: "ask-2", requestedAtMs: noon + 20_050, decidedAtMs: noon + 48_050 }),
  ];
  renderApp(
    "/runs/run-1",
    fakeHost({
      "runs.get": () => aDetail({ startedAtMs: noon, finishedAtMs: noon + 48_090, durationMs: 48_090 }, { approvals }),
    }),
  );
  expect((await screen.findByText("Duration")).nextSibling).toHaveTextContent("90 ms, plus 48 s waiting for you");
});

test("viewing a run reports it as seen once per delivery", async () => {
  const delivery = aDelivery({ attempts: 1 });
  const host = fakeHost({
    "runs.get": () => aDetail({}, { deliveries: [delivery] }),
    "runs.seen": () => ({ changed: true }),
  });
  renderApp("/runs/run-1", host);
  await screen.findByText("Pending");
  expect(host.called("runs.seen")).toEqual([]);
  host.answers["runs.get"] = () => aDetail({}, { deliveries: [{ ...delivery, state: "delivered" }] });
  host.emit("delivery", { deliveryId: "d", runId: "run-1", state: "delivered" });
  await waitFor(() => expect(host.called("runs.seen")).toEqual([{ id: "run-1" }]));
});

test("equal deliveries group with their count", async () => {
  const suppressed = { attempts: 1, reason: "No desktop.", state: "suppressed" as const };
  const deliveries = [
    aDelivery({ id: "a", ...suppressed }),
    aDelivery({ id: "b", attempts: 1, state: "delivered" }),
    aDelivery({ id: "c", ...suppressed }),
  ];
  renderApp(
    "/runs/run-1",
    fakeHost({ "runs.get": () => aDetail({}, { deliveries }), "runs.seen": () => ({ changed: true }) }),
  );
  expect(await screen.findByText(/^Suppressed, 2 times/)).toHaveTextContent(
    "Suppressed, 2 times · notification · No desktop.",
  );
  expect(screen.getByText(/^Delivered/)).toHaveTextContent("Delivered · notification");
});

test("delivery shows channel, recipient, attempts and reason", async () => {
  const onPhone = { channel: "phone", attempts: 2 };
  const deliveries = [
    aDelivery({ ...onPhone, id: "a", to: "7", state: "sending" }),
    aDelivery({ ...onPhone, id: "b", to: "8", state: "unknown", reason: "The service did not answer." }),
    aDelivery({ id: "c", channel: "team", state: "failed", attempts: 1, reason: "The webhook is gone." }),
    aDelivery({ id: "d", channel: "wa", channelKind: "whatsapp", state: "delivered", attempts: 1 }),
  ];
  renderApp(
    "/runs/run-1",
    fakeHost({
      "runs.get": () => aDetail({}, { deliveries }),
      "channels.list": () => aChannelList({ channels: [aChannel()] }),
    }),
  );
  const sending = await screen.findByText(/^Sending/);
  await waitFor(() => expect(sending).toHaveTextContent("Sending · phone, Anna · 2 attempts"));
  expect(screen.getByText(/^No answer/)).toHaveTextContent(
    "No answer; sent again in a minute, marked as a repeat · phone, 8 · 2 attempts · The service did not answer.",
  );
  expect(screen.getByText(/^Not delivered/)).toHaveTextContent("Not delivered · team · The webhook is gone.");
  expect(screen.getByText(/^Accepted/)).toHaveTextContent("Accepted by WhatsApp · wa");
});

test("failed link stays open and shows its error", async () => {
  const host = fakeHost({ "runs.get": () => aDetail({ summary: "[the log](https://log.example/1)" }) });
  host.openExternal = () => Promise.reject(new Error("The browser could not be opened."));
  const { user } = renderApp("/runs/run-1", host);
  await user.click(await screen.findByRole("link", { name: "the log" }));
  await user.click(await screen.findByRole("button", { name: "Open" }));
  expect(await screen.findByRole("alert")).toHaveTextContent("The browser could not be opened.");
});

test("trigger event shows verbatim and links to its run", async () => {
  const cause = {
    source: "job",
    text: "<b>All is saved.</b>",
    fields: { runId: "run-0", name: "Backup", status: "ok" },
    atMs: noon,
  };
  const { user, path } = renderApp(
    "/runs/run-1",
    fakeHost({ "runs.get": ({ id }) => aDetail({ id, trigger: "event" }, { cause: id === "run-1" ? cause : null }) }),
  );
  expect(await screen.findByRole("region", { name: "Event text" })).toHaveTextContent("<b>All is saved.</b>");
  expect(screen.getByText("Trigger").nextSibling).toHaveTextContent("Event");
  await user.click(screen.getByRole("link", { name: "Run finished" }));
  await waitFor(() => expect(path()).toBe("/runs/run-0"));
  await waitFor(() => expect(screen.queryByRole("region", { name: "Event text" })).not.toBeInTheDocument());
});

test("pending approval is decided on the run page", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: noon });
  onTestFinished(() => void vi.useRealTimers());
  const waiting = aDetail(
    { state: "awaitingApproval", finishedAtMs: null, durationMs: null },
    { approvals: [anApproval(), anApproval({ id: "ask-2" })] },
  );
  const host = fakeHost({
    "runs.get": () => waiting,
    "approvals.decide": ({ id }) => ({
      applied: true,
      approval: anApproval({ id, state: "approved", scope: "once", decidedAtMs: noon, decidedFrom: "page" }),
    }),
  });
  const { user } = renderApp("/runs/run-1", host);
  expect(await screen.findAllByRole("article", { name: "Approval: write_file in Weekly notes" })).toHaveLength(1);
  expect(screen.getByText(/^1 more approval pending in this run\./)).toBeInTheDocument();
  expect(screen.getByText("Waiting for you")).toBeInTheDocument();
  await waitFor(async () => {
    await user.keyboard("a");
    expect(host.called("approvals.decide")).toEqual([{ id: "ask-1", decision: { kind: "once" }, from: "page" }]);
  });
});

test("timeline shows approvals with decision and source", async () => {
  const approvals = [
    anApproval({
      requestedAtMs: noon + 50,
      state: "denied",
      reason: "Use the archive.",
      decidedFrom: "cli",
      decidedAtMs: noon + 60,
    }),
  ];
  const steps = [
    aStep({ kind: "modelTurn", name: "llama3.2", startedAtMs: noon }),
    aStep({ seq: 2, name: "write_file", startedAtMs: noon + 100 }),
  ];
  const { user } = renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { steps, approvals }) }));
  const entries = within(await screen.findByRole("list", { name: "Steps" })).getAllByRole("listitem");
  expect(entries.map((entry) => /llama3\.2|Approval requested:|write_file/.exec(entry.textContent)?.[0])).toEqual([
    "llama3.2",
    "Approval requested:",
    "write_file",
  ]);
  await user.click(within(entries[1]!).getByRole("button", { name: /Denied from the command line/ }));
  expect(await within(entries[1]!).findByText("The agent got your reason: “Use the archive.”")).toBeInTheDocument();
});

test("timeline does not claim progress with another pending", async () => {
  const answered = anApproval({
    requestedAtMs: noon + 50,
    state: "approved",
    scope: "once",
    decidedFrom: "cli",
    decidedAtMs: noon + 60,
  });
  const approvals = [answered, anApproval({ id: "ask-2", requestedAtMs: noon + 51 })];
  const { user } = renderApp(
    "/runs/run-1",
    fakeHost({ "runs.get": () => aDetail({ state: "awaitingApproval", finishedAtMs: null }, { approvals }) }),
  );
  const steps = within(await screen.findByRole("list", { name: "Steps" }));
  await user.click(steps.getByRole("button", { name: /Allowed once from the command line/ }));
  expect(
    await steps.findByText("The run continues with exactly this call after its other approval is decided."),
  ).toBeInTheDocument();
});

test("session summary shows among the steps with its cost", async () => {
  const made = aStep({
    kind: "summary",
    name: "llama3.2",
    output: { text: "Berlin: **rain**." },
    usage: { ...aStep().usage, inputTokens: 900, outputTokens: 60 },
  });
  const failed = aStep({
    seq: 2,
    kind: "summary",
    name: "llama3.2",
    status: "failed",
    output: { error: "The model said nothing." },
  });
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { steps: [made, failed] }) }));
  const [one, other] = within(await screen.findByRole("list", { name: "Steps" })).getAllByRole("listitem");
  expect(one).toHaveTextContent(/llama3\.2summarized earlier runs of this session/);
  expect(one).toHaveTextContent(/Berlin: rain\./);
  expect(one).toHaveTextContent(/960 tokens|900/);
  expect(other).toHaveTextContent("The model said nothing.");
});
