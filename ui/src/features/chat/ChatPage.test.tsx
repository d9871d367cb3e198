import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { changedJobReason } from "@/domain/changedJob";
import { errorCode, type OpenMessage, RpcError, type SessionsGetResult } from "@/platform";
import { type FakeHost, fakeHost } from "@/test/fakeHost";
import { aDetail, aJob, aMessage, anApproval, aPreview, aStatus, aStep } from "@/test/fixtures";
import { streamText } from "@/test/streamText";
import { renderApp } from "@/test/renderApp";

const said = (parts: Partial<SessionsGetResult> = {}): SessionsGetResult => ({
  session: null,
  messages: [],
  open: [],
  nextCursor: null,
  ...parts,
});
const open = (parts: Partial<OpenMessage> = {}): OpenMessage => ({
  runId: "r1",
  text: "Hello",
  atMs: 0,
  state: "running",
  liveText: null,
  ...parts,
});
const withModel = (answers: Parameters<typeof fakeHost>[0] = {}) =>
  fakeHost({
    "system.status": () => aStatus({ model: "told" }),
    "sessions.get": () => said(),
    "runs.get": () => aDetail({ id: "r1", state: "running" }),
    ...answers,
  });

/** Id of the created job. */
const madeId = (host: FakeHost) => (host.called("cron.add")[0] as { id: string }).id;

test("Enter sends and live text becomes the answer", async () => {
  const host = withModel({ "chat.send": () => ({ runId: "r1" }) });
  const { user } = renderApp("/chat", host);
  const box = await screen.findByRole("textbox", { name: "Message" });
  await user.type(box, "Hello{Shift>}{Enter}{/Shift}there");
  expect(host.called("chat.send")).toEqual([]);
  host.answers["sessions.get"] = () => said({ open: [open({ text: "Hello\nthere" })] });
  await user.keyboard("{Enter}");
  await waitFor(() =>
    expect(host.called("chat.send")).toEqual([{ text: "Hello\nthere", key: expect.any(String) as string }]),
  );
  await waitFor(() => expect(box).toHaveValue(""));
  expect(await screen.findByText("Waiting for the model")).toBeInTheDocument();
  await streamText(host, { runId: "r1", text: "Good mor" });
  host.answers["sessions.get"] = () =>
    said({
      messages: [
        aMessage({ from: "person", text: "Hello\nthere", runId: "r1" }),
        aMessage({ id: 2, from: "model", text: "Good morning." }),
      ],
    });
  host.emit("run", { runId: "r1", state: "succeeded" });
  expect(await screen.findByText("Good morning.")).toBeInTheDocument();
  expect(screen.queryByText(/^(Answering|Waiting for the model)$/)).not.toBeInTheDocument();
});

test("live text shows once across turns and resets", async () => {
  const asked = aMessage({ from: "person", text: "How late is it?", runId: "r1" });
  const looked = aMessage({ id: 2, from: "model", text: "I will look.", runId: "r1" });
  const host = withModel({ "sessions.get": () => said({ messages: [asked], open: [open()] }) });
  renderApp("/chat", host);
  expect(await screen.findByText("Waiting for the model")).toBeInTheDocument();
  await streamText(host, { runId: "r1", turn: 1, text: "I will look." });
  host.answers["sessions.get"] = () => said({ messages: [asked, looked], open: [open({ liveText: "It is" })] });
  host.emit("run", { runId: "r1", step: 2 });
  await streamText(host, { runId: "r1", turn: 2, text: "It is" });
  await waitFor(() => expect(screen.getAllByText("I will look.")).toHaveLength(1));
  await streamText(host, { runId: "r1", turn: 3, text: "It is late" });
  expect(screen.getAllByText("I will look.")).toHaveLength(1);
  host.emit("runText", { runId: "r1", turn: 3, text: "" }, 0);
  await waitFor(() => expect(screen.queryByText("It is late")).not.toBeInTheDocument());
});

test("text in the transcript shows once while answered", async () => {
  renderApp(
    "/chat",
    withModel({
      "sessions.get": () =>
        said({ messages: [aMessage({ from: "person", text: "Hello", runId: "r1" })], open: [open()] }),
    }),
  );
  expect(await screen.findAllByText("Hello")).toHaveLength(1);
  expect(await screen.findByText("Waiting for the model")).toBeInTheDocument();
});

test("answer can be stopped and unsent text is kept", async () => {
  const host = withModel({
    "sessions.get": () => said({ open: [open()] }),
    "chat.abort": () => ({ changed: true }),
    "chat.send": () => Promise.reject(new RpcError(errorCode.conflict, "20 messages are unanswered.")),
  });
  const { user } = renderApp("/chat", host);
  await user.click(await screen.findByRole("button", { name: "Stop" }));
  await waitFor(() => expect(host.called("chat.abort")).toEqual([{ runId: "r1" }]));
  expect(screen.getByRole("textbox", { name: "Message" })).toHaveFocus();
  const box = screen.getByRole("textbox", { name: "Message" });
  await user.type(box, "More{Enter}");
  expect(await screen.findByText("20 messages are unanswered.")).toBeInTheDocument();
  expect(box).toHaveValue("More");
  const key = () => host.called("chat.send").map((sent) => (sent as { key: string }).key);
  await user.type(box, "{Enter}");
  await waitFor(() => expect(key()).toHaveLength(2));
  expect(key()[1]).toBe(key()[0]);
  host.answers["chat.send"] = () => ({ runId: "r2" });
  await user.type(box, "{Enter}");
  await waitFor(() => expect(box).toHaveValue(""));
  await user.type(box, "More{Enter}");
  await waitFor(() => expect(key()).toHaveLength(4));
  expect(key()[3]).not.toBe(key()[0]);
});

test("queued message returns to an empty composer when stopped", async () => {
  let waiting = [
    open({ state: "queued", text: "Tell me of Lisbon" }),
    open({ runId: "r2", state: "queued", text: "And of Porto" }),
  ];
  const host = withModel({ "sessions.get": () => said({ open: waiting }) });
  host.answers["chat.abort"] = ({ runId }) => {
    waiting = waiting.filter((message) => message.runId !== runId);
    // The event arrives before the response.
    host.emit("run", { runId, state: "cancelled" });
    return { changed: true };
  };
  const { user } = renderApp("/chat", host);
  const box = await screen.findByRole("textbox", { name: "Message" });
  await user.click((await screen.findAllByRole("button", { name: "Stop" }))[0]!);
  await waitFor(() => expect(box).toHaveValue("Tell me of Lisbon"));
  expect(box).toHaveFocus();
  await waitFor(() => expect(screen.getAllByRole("button", { name: "Stop" })).toHaveLength(1));
  await user.click(screen.getByRole("button", { name: "Stop" }));
  await waitFor(() => expect(screen.queryByRole("button", { name: "Stop" })).not.toBeInTheDocument());
  expect(box).toHaveValue("Tell me of Lisbon");
});

test("running message does not return when stopped", async () => {
  const host = withModel({
    "sessions.get": () =>
      said({ messages: [aMessage({ from: "person", text: "Hello", runId: "r1" })], open: [open({ state: "queued" })] }),
    "chat.abort": () => ({ changed: true }),
  });
  const { user } = renderApp("/chat", host);
  await user.click(await screen.findByRole("button", { name: "Stop" }));
  host.answers["sessions.get"] = () => said({ messages: [aMessage({ from: "person", text: "Hello", runId: "r1" })] });
  host.emit("run", { runId: "r1", state: "cancelled" });
  await waitFor(() => expect(screen.queryByRole("button", { name: "Stop" })).not.toBeInTheDocument());
  expect(screen.getByRole("textbox", { name: "Message" })).toHaveValue("");
});

const silent = aStep({ kind: "modelTurn", output: { text: " " } });
const spoke = aStep({ seq: 2, kind: "modelTurn", output: { text: "Lisbon is" } });

test.each([
  ["cancelled", [silent, spoke], "You stopped this. View partial answer"],
  ["cancelled", [silent, aStep({ output: "Nothing of a model" })], "You stopped this. View run"],
  ["failed", [], "No answer. Details"],
] as const)("unanswered message shows the end of its run: %s, %#", async (state, steps, words) => {
  renderApp(
    "/chat",
    withModel({
      "sessions.get": () => said({ messages: [aMessage({ from: "person", text: "Hello", runId: "r1" })] }),
      "runs.get": () => aDetail({ id: "r1", state }, { steps: [...steps] }),
    }),
  );
  const link = await screen.findByRole("link", { name: /^(View |Details)/ });
  expect(link).toHaveAttribute("href", "/runs/r1");
  expect(link.parentElement).toHaveTextContent(words);
});

const failedCall = aStep({
  kind: "modelTurn",
  name: "gpt-5.6-terra",
  status: "failed",
  output: { error: "openai is overloaded.\nmore" },
});
const startedCall = aStep({ seq: 2, kind: "modelTurn", name: "gpt-5.6-terra", status: "started", output: null });
/** More than a day from now, so that a slow test reads the same words. */
const later = Date.now() + 30 * 3_600_000;

test.each([
  ["first_call_runs", { waitsFor: null, nextAttemptAtMs: null }, [startedCall], "Waiting for the model"],
  [
    "failed_call_is_repeated",
    { waitsFor: null, nextAttemptAtMs: null },
    [failedCall, startedCall],
    "Waiting for the model gpt-5.6-terra, retrying. openai is overloaded.",
  ],
  [
    "run_waits_for_its_model",
    { waitsFor: "model", nextAttemptAtMs: later },
    [failedCall],
    "Waiting for the model gpt-5.6-terra, next try in 1 d. openai is overloaded.",
  ],
  [
    "run_waits_for_a_rate_limit",
    { waitsFor: "rateLimit", nextAttemptAtMs: later },
    [aStep()],
    "Waiting for a rate limit, next try in 1 d",
  ],
] as const)("chat_says_what_it_waits_for: %s", async (_, wait, steps, words) => {
  const run = aDetail({ id: "r1", state: "running", ...wait }, { steps: [...steps] });
  renderApp("/chat", withModel({ "sessions.get": () => said({ open: [open()] }), "runs.get": () => run }));
  await waitFor(() =>
    expect(
      screen
        .getAllByRole("status")
        .map(({ textContent }) => textContent)
        .join(""),
    ).toBe(words),
  );
});

test("files of a call load when the calls are opened", async () => {
  const call = { id: "c1", tool: "cal_image", arguments: {} };
  const attachments = [{ name: "image-1", mediaType: "image/png", bytes: 70, isKept: true }];
  const messages = [
    aMessage({ id: 1, from: "person", text: "Draw.", runId: "r1" }),
    aMessage({ id: 2, from: "model", text: "", calls: [call], runId: "r1" }),
    aMessage({ id: 3, from: "tool", text: "Attached: image-1", callId: "c1", tool: "cal_image", runId: "r1" }),
    aMessage({ id: 4, from: "tool", text: "“image-1” (PNG image, 1 kB)", runId: "r1" }),
    aMessage({ id: 5, from: "model", text: "Drawn.", runId: "r1" }),
  ];
  const host = withModel({
    "sessions.get": () => said({ messages }),
    "runs.get": () => aDetail({ id: "r1" }, { steps: [aStep({ seq: 2, callId: "c1", attachments })] }),
    "runs.attachment": () => ({ mediaType: "image/png", data: "iVBORw==" }),
  });
  const { user } = renderApp("/chat", host);
  await screen.findByText("Drawn.");
  expect(host.called("runs.attachment")).toEqual([]);
  await user.click(screen.getByRole("button", { name: /1 tool call/ }));
  expect(await screen.findByRole("img", { name: "image-1" })).toBeInTheDocument();
  expect(host.called("runs.attachment")).toEqual([{ runId: "r1", step: 2, position: 0 }]);
});

test("unanswered message offers a retry", async () => {
  const asked = aMessage({ from: "person", text: "Hello", runId: "r1" });
  const host = withModel({
    "sessions.get": () => said({ messages: [asked] }),
    "runs.get": () =>
      aDetail(
        { id: "r1", state: "failed", error: "openai does not accept the key.\nmore" },
        { payload: { kind: "chat", text: "Hello" } },
      ),
    "chat.send": () => ({ runId: "r2" }),
  });
  const { user } = renderApp("/chat", host);
  const again = await screen.findByRole("button", { name: "Try again" });
  expect(again.parentElement).toHaveTextContent("No answer. openai does not accept the key. Details");
  await user.click(again);
  await waitFor(() => expect(host.called("chat.send")).toEqual([{ text: "Hello" }]));
});

test("proposed job can be approved or edited in the chat", async () => {
  const proposal = anApproval({
    runId: "r1",
    jobId: null,
    jobName: "Chat",
    tool: "routine_create",
    arguments: { name: "Stretch", schedule: { kind: "manual" }, reminder: "Up." },
    preview: "New job: Stretch",
    expiresAtMs: Date.now() + 600_000,
  });
  const host = withModel({
    "sessions.get": () => said({ open: [open({ state: "awaitingApproval" })] }),
    "approvals.list": () => ({ approvals: [proposal] }),
    "approvals.get": () => proposal,
    "approvals.decide": () => ({ applied: true, approval: { ...proposal, state: "denied" } }),
    "cron.add": (draft) => ({
      job: {
        ...draft,
        id: "j1",
        enabled: true,
        createdAtMs: 0,
        updatedAtMs: 0,
        state: { consecutiveFailures: 0, revision: 1 },
      } as never,
      scheduleText: "",
      zone: null,
      recent: [],
      liveRunIds: [],
      incident: null,
      isPredecessorMissing: false,
      spentThisMonth: { tokens: 0, costMicroUsd: 0, unpricedTokens: 0 },
      routes: { reports: [], failures: [], approvals: [] },
      warnings: [],
    }),
    "cron.preview": () => aPreview(),
    "tools.catalog": () => ({ tools: [], refused: [] }),
  });
  const { user, path } = renderApp("/chat", host);
  const card = within(await screen.findByRole("article", { name: /^Approval: routine_create/ }));
  expect(card.getByRole("heading", { name: "Create this job?" })).toBeInTheDocument();
  await user.click(card.getByRole("button", { name: "Edit first…" }));
  await waitFor(() => expect(path()).toBe("/jobs/new?ask=ask-1"));
  expect(await screen.findByRole("textbox", { name: "Name" })).toHaveValue("Stretch");
  await user.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() =>
    expect(host.called("cron.add")[0]).toMatchObject({
      name: "Stretch",
      payload: { kind: "systemEvent", text: "Up." },
    }),
  );
  await waitFor(() =>
    expect(host.called("approvals.decide")).toEqual([
      {
        id: "ask-1",
        decision: { kind: "deny", reason: changedJobReason({ id: madeId(host), name: "Stretch" }) },
        from: "page",
      },
    ]),
  );
});

test("edited proposal shows its job and not a failure", async () => {
  const id = "0b54f1a2-5c5e-4c0c-9d0e-3f1d2c4b5a69";
  const answer = `The person denied this call of routine_create: ${changedJobReason({ id, name: "Stretch well" })}\nDo not try it again.`;
  const host = withModel({
    "sessions.get": () =>
      said({
        messages: [
          aMessage({
            id: 1,
            runId: "r1",
            calls: [
              { id: "c1", tool: "routine_create", arguments: { name: "Stretch" } },
              { id: "c2", tool: "http", arguments: {} },
            ],
          }),
          aMessage({ id: 2, from: "tool", callId: "c1", tool: "routine_create", text: answer, isError: true }),
          aMessage({ id: 3, from: "tool", callId: "c2", tool: "http", text: "No network.", isError: true }),
        ],
      }),
    "cron.get": () => aJob({ id, name: "Stretch better" }),
  });
  renderApp("/chat", host);
  expect(await screen.findByText("routine_create, http · 1 changed by you · 1 failed")).toBeInTheDocument();
  expect(await screen.findByRole("link", { name: "Open job" })).toHaveAttribute("href", `/jobs/${id}`);
  expect(screen.getByText("Stretch better")).toBeInTheDocument();
});

test("call denied by the user did not fail", async () => {
  const calls = ["c1", "c2", "c3"].map((id) => ({ id, tool: "write_file", arguments: {} }));
  const answers = [
    "The person denied this call of write_file. Do not try it again.",
    // As stored by older builds.
    "The person said no to this call of write_file: Not there.\nDo not try it again.",
    "The disk is full.",
  ];
  const told = answers.map((text, i) =>
    aMessage({ id: i + 2, from: "tool", callId: `c${i + 1}`, tool: "write_file", text, isError: true }),
  );
  renderApp(
    "/chat",
    withModel({ "sessions.get": () => said({ messages: [aMessage({ id: 1, runId: "r1", calls }), ...told] }) }),
  );
  expect(await screen.findByText("write_file · 2 denied · 1 failed")).toBeInTheDocument();
});

test("changed proposal without a job shows no job", async () => {
  const id = "0b54f1a2-5c5e-4c0c-9d0e-3f1d2c4b5a69";
  const host = withModel({
    "sessions.get": () =>
      said({
        messages: [
          aMessage({ id: 1, calls: [{ id: "c1", tool: "routine_create", arguments: {} }] }),
          aMessage({
            id: 2,
            from: "tool",
            callId: "c1",
            tool: "routine_create",
            text: changedJobReason({ id, name: "Stretch" }),
            isError: true,
          }),
        ],
      }),
  });
  renderApp("/chat", host);
  expect(await screen.findByText("routine_create · 1 changed by you")).toBeInTheDocument();
  await waitFor(() => expect(host.called("cron.get")).toContainEqual({ id }));
  expect(screen.queryByRole("link", { name: "Open job" })).not.toBeInTheDocument();
});

test("approval keys show only while active", async () => {
  const approval = anApproval({ runId: "r1", expiresAtMs: Date.now() + 600_000 });
  const host = withModel({
    "sessions.get": () => said({ open: [open()] }),
    "approvals.list": () => ({ approvals: [approval] }),
  });
  const { user } = renderApp("/chat", host);
  const box = await screen.findByRole("textbox", { name: "Message" });
  await screen.findByText("Waiting for the model");
  await user.keyboard("{Escape}");
  expect(box).toHaveFocus();

  host.answers["sessions.get"] = () => said({ open: [open({ state: "awaitingApproval" })] });
  host.emit("run", { runId: "r1", state: "awaitingApproval" });
  const answers = await screen.findByRole("group", { name: "Decision" });
  expect(answers).toHaveAttribute("data-unheard");
  await user.keyboard("{Escape}");
  expect(box).not.toHaveFocus();
  expect(answers).not.toHaveAttribute("data-unheard");
  await user.click(box);
  expect(answers).toHaveAttribute("data-unheard");
  // No key label may appear and move a button while pressed.
  await user.pointer({ keys: "[MouseLeft>]", target: within(answers).getByRole("button", { name: /^Allow once/ }) });
  expect(box).not.toHaveFocus();
  expect(answers).toHaveAttribute("data-unheard");
  await user.pointer({ keys: "[/MouseLeft]", target: document.body });
  await waitFor(() => expect(answers).not.toHaveAttribute("data-unheard"));
});

test("missing model disables the composer and links to Settings", async () => {
  renderApp("/chat", withModel({ "system.status": () => aStatus({ model: null }) }));
  expect(await screen.findByRole("heading", { name: "No model yet" })).toBeInTheDocument();
  expect(screen.getByRole("textbox", { name: "Message" })).toBeDisabled();
  expect(screen.getByRole("link", { name: "Connect a model" })).toHaveAttribute("href", "/settings#model");
});

test("earlier messages load page by page and merge with new ones", async () => {
  const told = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, i) =>
      aMessage({ id: from + i, from: "person", text: `word ${from + i}` }),
    );
  const host = withModel({
    "sessions.get": ({ limit, cursor }) =>
      limit === 50
        ? said({ messages: told(351, 400), nextCursor: "351" })
        : cursor === undefined
          ? said({ messages: told(201, 400), nextCursor: "201" })
          : said({ messages: told(1, 200) }),
  });
  const { user } = renderApp("/chat", host);
  expect(await screen.findByText("word 351")).toBeInTheDocument();
  expect(screen.queryByText("word 350")).not.toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Show earlier messages" }));
  expect(await screen.findByText("word 201")).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Show earlier messages" }));
  expect(await screen.findByText("word 1")).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Show earlier messages" })).not.toBeInTheDocument();
  const said400 = host.answers["sessions.get"];
  host.answers["sessions.get"] = (params) =>
    params.limit === 50 ? said({ messages: told(352, 401), nextCursor: "352" }) : said400!(params);
  host.emit("run", { runId: "r9", state: "succeeded" });
  expect(await screen.findByText("word 401")).toBeInTheDocument();
  expect(screen.getAllByText("word 400")).toHaveLength(1);
  expect(screen.getByText("word 1")).toBeInTheDocument();
});

test("remotely cleared conversation shows no earlier messages", async () => {
  const told = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, i) =>
      aMessage({ id: from + i, from: "person", text: `word ${from + i}` }),
    );
  const session = (createdAtMs: number) => ({
    key: "main",
    jobId: null,
    jobName: null,
    createdAtMs,
    updatedAtMs: createdAtMs,
    messages: 60,
  });
  const host = withModel({
    "sessions.get": ({ limit }) =>
      limit === 50
        ? said({ session: session(1), messages: told(11, 60), nextCursor: "11" })
        : said({ session: session(1), messages: told(1, 60) }),
  });
  const { user } = renderApp("/chat", host);
  await user.click(await screen.findByRole("button", { name: "Show earlier messages" }));
  expect(await screen.findByText("word 1")).toBeInTheDocument();
  host.answers["sessions.get"] = () =>
    said({ session: session(2), messages: [aMessage({ id: 9, from: "person", text: "anew" })] });
  host.emit("session", { session: "main" });
  expect(await screen.findByText("anew")).toBeInTheDocument();
  await waitFor(() => expect(screen.queryByText("word 1")).not.toBeInTheDocument());
  expect(screen.getAllByText("anew")).toHaveLength(1);
});
