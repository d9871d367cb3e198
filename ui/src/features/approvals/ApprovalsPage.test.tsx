import { act, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { errorCode, RpcError, type ApprovalView, type InputPrompt } from "@/platform";
import { type FakeHost, fakeHost } from "@/test/fakeHost";
import { aDetail, aJob, anApproval, aPermission, aStatus, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

let asked: ApprovalView[];

/** Host with approvals. As in the gateway, the first decision counts. */
function hostWith(...approvals: ApprovalView[]): FakeHost {
  asked = approvals;
  const one = (id: string) => {
    const found = asked.find((approval) => approval.id === id);
    if (!found) throw new RpcError(errorCode.notFound, "no such approval");
    return found;
  };
  return fakeHost({
    "approvals.list": ({ all }) => ({ approvals: all ? asked : asked.filter(({ state }) => state === "pending") }),
    "approvals.get": ({ id }) => one(id),
    "approvals.decide": ({ id, decision, from }) => {
      const before = one(id);
      if (before.state !== "pending") return { applied: false, approval: before };
      const approval: ApprovalView = {
        ...before,
        decidedAtMs: noon,
        decidedFrom: from,
        ...(decision.kind === "deny"
          ? { state: "denied", reason: decision.reason ?? null }
          : {
              state: "approved",
              scope: decision.kind === "run" || decision.kind === "always" ? decision.kind : "once",
            }),
      };
      asked = asked.map((other) => (other.id === id ? approval : other));
      return { applied: true, approval };
    },
    "runs.get": () => aDetail({ state: "awaitingApproval", finishedAtMs: null }),
    "cron.get": () => aJob({ name: "Weekly notes" }),
  });
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: noon });
});

afterEach(() => {
  vi.useRealTimers();
});

const card = (name: string | RegExp = /^Approval/) => screen.findByRole("article", { name });
const answered = (host: FakeHost) => host.called("approvals.decide");

/** Repeats a key press until accepted; the click guard ignores the first 500 ms. */
async function pressUntil(user: ReturnType<typeof renderApp>["user"], key: string, done: () => boolean) {
  await waitFor(async () => {
    await user.keyboard(key);
    expect(done()).toBe(true);
  });
}

test("approval shows call, reason, requester and expiry", async () => {
  renderApp("/approvals/ask-1", hostWith(anApproval()));
  const shown = within(await card("Approval: write_file in Weekly notes"));
  expect(shown.getByRole("heading", { name: /^Allow write_file/ })).toBeInTheDocument();
  expect(shown.getByText("29 min left")).toBeInTheDocument();
  expect(shown.getByText(/^write_file changes files/)).toBeInTheDocument();
  expect(shown.getByRole("region", { name: "Preview" })).toHaveTextContent("+dentist");
  expect(shown.getByRole("link", { name: "Weekly notes" })).toHaveAttribute("href", "/jobs/job-1");
  expect(shown.getByRole("link", { name: /^started|View run/ })).toHaveAttribute("href", "/runs/run-1");
});

test("paused scheduler hides the next run", async () => {
  const host = hostWith(anApproval());
  host.answers["cron.get"] = () => aJob({ state: { nextRunAtMs: noon + 600_000 } });
  host.answers["system.status"] = () => aStatus({ cron: { pause: { untilMs: null } } });
  renderApp("/approvals/ask-1", host);
  const shown = within(await card());
  expect(await shown.findByText("skipped: paused")).toBeInTheDocument();
  expect(shown.queryByText("in 10 min")).not.toBeInTheDocument();
});

test("tool label appears beside the tool name", async () => {
  renderApp("/approvals/ask-1", hostWith(anApproval({ toolLabel: "Write a file" })));
  const shown = within(await card("Approval: write_file in Weekly notes"));
  expect(shown.getByRole("heading", { name: "Write a file? write_file" })).toBeInTheDocument();
});

test("decision does not claim progress with another pending", async () => {
  const answered = anApproval({ state: "approved", scope: "once", decidedFrom: "cli", decidedAtMs: noon });
  renderApp(
    "/approvals/ask-1",
    hostWith(answered, anApproval({ id: "ask-2" }), anApproval({ id: "ask-3", runId: "run-2" })),
  );
  expect(
    within(await card()).getByText("The run continues with exactly this call after its other approval is decided."),
  ).toBeInTheDocument();
});

test("elapsed time and blocked work keep updating", async () => {
  const blockedWork = {
    text: "This run, and “Report”, which starts after it. 3 later runs of the job were not blocked.",
    otherApprovals: 0,
    followers: [{ id: "job-2", name: "Report" }],
    laterRuns: 3,
  };
  renderApp("/approvals/ask-1", hostWith(anApproval({ requestedAtMs: noon - 6 * 60_000, blockedWork })));
  const shown = within(await card());
  expect(shown.getByText("Requested").nextSibling).toHaveTextContent("6 min ago");
  expect(shown.getByText("Blocks").nextSibling).toHaveTextContent(blockedWork.text);
});

test("list distinguishes approvals and shows decisions first", async () => {
  const chat = { jobId: null, jobName: "Chat" };
  renderApp(
    "/approvals/ask-1",
    hostWith(
      anApproval(),
      anApproval({ id: "ask-2", ...chat, tool: "run_command" }),
      anApproval({ id: "ask-3", ...chat, state: "denied", decidedAtMs: noon, blockedWork: null }),
      anApproval({
        id: "ask-4",
        tool: "http",
        state: "approved",
        scope: "always",
        decidedAtMs: noon,
        blockedWork: null,
      }),
    ),
  );
  await card();
  const rows = (list: string) =>
    within(screen.getByRole("list", { name: list }))
      .getAllByRole("listitem")
      .map((item) => [...item.querySelectorAll("a, a + span > :first-child")].map(({ textContent }) => textContent));
  expect(rows("Pending approvals")).toEqual([
    ["Weekly notes", "write_file"],
    ["run_command", "Chat"],
  ]);
  expect(rows("Recent decisions")).toEqual([
    ["write_file", "Denied · Chat"],
    ["Weekly notes", "Allowed always · http"],
  ]);
});

test("decided approval shows no elapsed time or blocked work", async () => {
  renderApp("/approvals/ask-1", hostWith(anApproval({ state: "denied", decidedAtMs: noon, blockedWork: null })));
  const shown = within(await card());
  expect(shown.getByText("Requested")).toBeInTheDocument();
  expect(shown.queryByTitle(/^Requested/)).not.toBeInTheDocument();
  expect(shown.queryByText("Blocks")).not.toBeInTheDocument();
});

test("key A allows once and shows the next approval", async () => {
  const host = hostWith(anApproval(), anApproval({ id: "ask-2", tool: "http", jobName: "Is the site up" }));
  const { user, path } = renderApp("/approvals", host);
  await card("Approval: write_file in Weekly notes");
  await pressUntil(user, "a", () => answered(host).length > 0);
  expect(answered(host)).toEqual([{ id: "ask-1", decision: { kind: "once" }, from: "page" }]);
  await card("Approval: http in Is the site up");
  expect(path()).toBe("/approvals/ask-2");
});

test("early key press does not decide a new approval", async () => {
  const host = hostWith(anApproval());
  const { user } = renderApp("/approvals/ask-1", host);
  await card();
  const allow = screen.getByRole("button", { name: /^Allow once/ });
  // A new focus restarts the delay, so that a slow machine cannot exceed it before the press.
  act(() => void window.dispatchEvent(new Event("focus")));
  await user.keyboard("ard");
  act(() => void window.dispatchEvent(new Event("focus")));
  await user.click(allow);
  expect(answered(host)).toEqual([]);
  expect(screen.queryByRole("textbox", { name: "Reason (optional)" })).not.toBeInTheDocument();
});

test("held key decides one approval only", async () => {
  const host = hostWith(anApproval(), anApproval({ id: "ask-2" }), anApproval({ id: "ask-3" }));
  const { user } = renderApp("/approvals", host);
  await card();
  await pressUntil(user, "{a>}", () => answered(host).length > 0);
  await screen.findByRole("list", { name: "Recent decisions" });
  for (let i = 0; i < 20; i += 1)
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", repeat: true, bubbles: true }));
  expect(answered(host)).toHaveLength(1);
});

test("D opens the reason and Enter denies", async () => {
  const host = hostWith(anApproval());
  const { user } = renderApp("/approvals/ask-1", host);
  await card();
  await pressUntil(user, "d", () => screen.queryByRole("textbox", { name: "Reason (optional)" }) !== null);
  const reason = screen.getByRole("textbox", { name: "Reason (optional)" });
  expect(reason).toHaveFocus();
  await user.clear(reason);
  await user.keyboard("A grand idea, really{Enter}");
  await waitFor(() =>
    expect(answered(host)).toEqual([
      { id: "ask-1", decision: { kind: "deny", reason: "A grand idea, really" }, from: "page" },
    ]),
  );
  expect(await screen.findByText(/^Denied in the app/)).toBeInTheDocument();
  expect(screen.getByText("The agent gets your reason: “A grand idea, really”")).toBeInTheDocument();
  expect(
    screen.getByText(/^Denied in the app/).closest("[role=status]"),
    "the field that had it is gone",
  ).toHaveFocus();
});

test("highest class can only be allowed once", async () => {
  const { user } = renderApp("/approvals/ask-1", hostWith(anApproval({ isHighest: true })));
  await card();
  expect(screen.queryByRole("button", { name: /^Allow for this run/ })).not.toBeInTheDocument();
  expect(screen.queryByRole("button", { name: /^Always/ })).not.toBeInTheDocument();
  await user.keyboard("gr");
  expect(screen.queryByRole("dialog")).not.toBeInTheDocument();
  expect(screen.getByRole("button", { name: /^Allow once/ })).toBeInTheDocument();
});

test("Always allow opens the grant editor with a pattern", async () => {
  const host = hostWith(anApproval());
  const { user } = renderApp("/approvals/ask-1", host);
  await card();
  await pressUntil(user, "g", () => screen.queryByRole("dialog", { name: "Always allow for “Weekly notes”" }) !== null);
  const dialog = within(screen.getByRole("dialog"));
  expect(dialog.getByRole("status")).toHaveTextContent(
    /may call write_file without approval with exactly these arguments/,
  );
  await user.click(dialog.getByRole("radio", { name: "Similar calls" }));
  await user.click(dialog.getByRole("button", { name: /Rule for path/ }));
  await user.click(await screen.findByRole("option", { name: "is or is under" }));
  expect(dialog.getByRole("textbox", { name: "path is under" })).toHaveValue("notes");
  await user.click(dialog.getByRole("button", { name: /Rule for content/ }));
  await user.click(await screen.findByRole("option", { name: "can be anything" }));
  await user.click(dialog.getByRole("radio", { name: "Never" }));
  expect(dialog.getByRole("status")).toHaveTextContent(
    "“Weekly notes” may call write_file without approval when path is “notes” or is under it and content is anything, in /home/ada/workspace, until you revoke it.",
  );
  await user.click(dialog.getByRole("button", { name: "Create grant" }));
  await waitFor(() =>
    expect(answered(host)).toEqual([
      {
        id: "ask-1",
        decision: { kind: "always", rules: { path: { rule: "below", value: "notes" }, content: { rule: "any" } } },
        from: "page",
      },
    ]),
  );
});

test("ungrantable call hides Always allow and explains why", async () => {
  const why = "The program make runs what its Makefile says. It cannot be allowed for always.";
  const { user } = renderApp("/approvals/ask-1", hostWith(anApproval({ noGrantReason: why })));
  await card();
  expect(screen.getByText(/The program make runs what its Makefile says/)).toBeVisible();
  expect(screen.queryByRole("button", { name: /Always/ })).toBeNull();
  await user.keyboard("g");
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("shell text can only be granted exactly", async () => {
  const host = hostWith(anApproval({ tool: "run_command", arguments: { command: "ls" }, shellText: ["command"] }));
  const { user } = renderApp("/approvals/ask-1", host);
  await card();
  await pressUntil(user, "g", () => screen.queryByRole("dialog") !== null);
  const dialog = within(screen.getByRole("dialog"));
  expect(dialog.getByText(/only this exact call can be granted/)).toBeInTheDocument();
  expect(dialog.queryByRole("radio", { name: "Similar calls" })).not.toBeInTheDocument();
});

test("remote decision appears at once with its source", async () => {
  const host = hostWith(anApproval());
  renderApp("/approvals/ask-1", host);
  await card();
  asked = [anApproval({ state: "approved", scope: "run", decidedFrom: "notification", decidedAtMs: noon })];
  host.emit("approval", { approvalId: "ask-1", runId: "run-1", state: "approved" });
  expect(await screen.findByText(/^Allowed for this run from the notification/)).toBeInTheDocument();
  expect(screen.queryByRole("group", { name: "Decision" })).not.toBeInTheDocument();
});

test("late decision shows the earlier one", async () => {
  const host = hostWith(anApproval());
  const approval = anApproval({ state: "denied", decidedFrom: "cli", decidedAtMs: noon });
  host.answers["approvals.decide"] = () => {
    asked = [approval];
    return { applied: false, approval };
  };
  const { user } = renderApp("/approvals/ask-1", host);
  await card();
  await pressUntil(user, "a", () => answered(host).length > 0);
  expect(await screen.findByText("Already decided")).toBeInTheDocument();
  expect(await screen.findByText(/^Denied from the command line/)).toBeInTheDocument();
});

test("failed decision shows its error and can be repeated", async () => {
  const host = hostWith(anApproval());
  const decide = host.answers["approvals.decide"];
  host.answers["approvals.decide"] = () =>
    Promise.reject(new RpcError(errorCode.unreachable, "Rouse does not answer."));
  const { user } = renderApp("/approvals/ask-1", host);
  await card();
  await pressUntil(user, "a", () => answered(host).length > 0);
  expect(await screen.findByRole("alert")).toHaveTextContent("Your decision was not saved. Rouse does not answer.");
  host.answers["approvals.decide"] = decide;
  await user.keyboard("a");
  expect(await screen.findByText(/^Allowed once in the app/)).toBeInTheDocument();
});

test("expiry while viewing disables the decision", async () => {
  const host = hostWith(anApproval({ expiresAtMs: noon + 2 * 60_000 }));
  const { user } = renderApp("/approvals/ask-1", host);
  expect((await screen.findAllByText("Only 2 min left")).length).toBeGreaterThan(0);
  vi.setSystemTime(noon + 2 * 60_000);
  expect(await screen.findByText("This approval has expired.")).toBeInTheDocument();
  await user.keyboard("a");
  expect(screen.getByRole("button", { name: /^Allow once/ })).toBeDisabled();
  expect(answered(host)).toEqual([]);
  asked = [anApproval({ state: "expired", decidedAtMs: noon })];
  host.emit("approval", { approvalId: "ask-1", runId: "run-1", state: "expired" });
  expect(await screen.findByText(/^Expired,/)).toBeInTheDocument();
});

test("empty list is calm and keeps recent decisions", async () => {
  renderApp(
    "/approvals",
    hostWith(anApproval({ state: "approved", scope: "once", decidedAtMs: noon, decidedFrom: "page" })),
  );
  expect(await screen.findByRole("heading", { name: "You’re all caught up" })).toBeInTheDocument();
  expect(await screen.findByText("Allowed once · write_file")).toBeInTheDocument();
});

test("missing approval shows not found", async () => {
  renderApp("/approvals/ask-9", hostWith());
  expect(await screen.findByRole("heading", { name: "Approval not found" })).toBeInTheDocument();
});

test("pending count is in rail and title and new ones announced", async () => {
  const host = hostWith(anApproval());
  renderApp("/runs", host);
  expect(await screen.findByRole("link", { name: "Needs you 1 waiting" })).toBeInTheDocument();
  expect(document.title).toBe("(1) Runs · Rouse");
  expect(screen.queryByText(/needs your approval for/), "it was there already").not.toBeInTheDocument();
  asked = [...asked, anApproval({ id: "ask-2", tool: "run_command", jobName: "Backup" })];
  host.emit("approval", { approvalId: "ask-2", runId: "run-2", state: "pending" });
  expect(await screen.findByText("Backup needs your approval for run_command.")).toHaveAttribute(
    "aria-live",
    "assertive",
  );
  expect(document.title).toBe("(2) Runs · Rouse");
});

test("grant editor shows invisible characters of the call", async () => {
  const host = hostWith(
    anApproval({ arguments: { path: "notes/today.md", content: `one\n\u202eowt${"x".repeat(400)}` } }),
  );
  const { user } = renderApp("/approvals/ask-1", host);
  await card();
  await pressUntil(user, "g", () => screen.queryByRole("dialog") !== null);
  const editor = within(screen.getByRole("dialog"));
  await user.click(editor.getByRole("radio", { name: "Similar calls" }));
  expect(editor.getByRole("group", { name: "Value of content" })).toHaveTextContent("⟨U+202E⟩owtx");
  expect(editor.getByText(/^1 invisible character/)).toBeInTheDocument();
  const sentence = editor.getByText(/may call write_file without approval/);
  expect(sentence).toHaveTextContent("content is exactly “one ↵ ⟨U+202E⟩owtxxx");
  expect(sentence).toHaveTextContent("x…” (and 248 more characters)");
  await user.click(editor.getByRole("button", { name: /Rule for content$/ }));
  await user.click(await screen.findByRole("option", { name: "is one of" }));
  expect(editor.getByRole("textbox", { name: "Values of content, one per line" })).toBeInTheDocument();
  expect(editor.getByText(/^1 invisible character/)).toBeInTheDocument();
});

const form: InputPrompt = {
  server: "shop",
  message: "Who, and\nhow many?",
  body: {
    kind: "form",
    fields: [
      {
        name: "name",
        label: "Your name",
        description: "As on the cup.",
        isRequired: true,
        value: { kind: "text", minLength: 1, maxLength: 40, format: null, default: null },
      },
      {
        name: "count",
        label: null,
        description: null,
        isRequired: false,
        value: { kind: "number", isWhole: true, minimum: 1, maximum: 9, default: 2 },
      },
      {
        name: "milk",
        label: null,
        description: null,
        isRequired: false,
        value: { kind: "boolean", default: null },
      },
    ],
  },
};

test("input request shows the message and sends the values", async () => {
  const host = hostWith(anApproval({ tool: "shop_order", isHighest: true, input: form }));
  const answer = vi.fn(() => {
    const inputAnswer = { action: "accept", content: { name: "Ada" } } as const;
    const approval = anApproval({
      state: "approved",
      scope: "once",
      input: form,
      inputAnswer,
      decidedAtMs: noon,
      decidedFrom: "page",
    });
    asked = [approval];
    return { applied: true, approval };
  });
  host.answers["approvals.decide"] = answer;
  const { user } = renderApp("/approvals/ask-1", host);
  const shown = within(await card());
  expect(shown.getByRole("heading", { name: /^shop asks for input/ })).toBeInTheDocument();
  expect(shown.getByText(/^Who, and\s+how many\?$/)).toBeInTheDocument();
  expect(shown.queryByRole("button", { name: /^Allow once/ })).not.toBeInTheDocument();
  await user.type(shown.getByRole("textbox", { name: "Your name" }), "Ada");
  const send = shown.getByRole("button", { name: "Send answer" });
  await waitFor(() => expect(send).toBeEnabled());
  await user.click(send);
  await waitFor(() =>
    expect(answered(host)).toEqual([
      { id: "ask-1", decision: { kind: "submit", answers: { name: "Ada", count: 2 } }, from: "page" },
    ]),
  );
  expect(await screen.findByText(/^Answered in the app/)).toBeInTheDocument();
});

test("invalid answer has its error at the field", async () => {
  const host = hostWith(anApproval({ isHighest: true, input: form }));
  host.answers["approvals.decide"] = () =>
    Promise.reject(
      new RpcError(errorCode.invalidParams, "no", {
        fields: [{ path: "decision.answers.name", message: "is required" }],
      }),
    );
  const { user } = renderApp("/approvals/ask-1", host);
  const shown = within(await card());
  const send = shown.getByRole("button", { name: "Send answer" });
  await waitFor(() => expect(send).toBeEnabled());
  await user.click(send);
  expect(await shown.findByText("is required")).toBeInTheDocument();
  expect(shown.getByRole("textbox", { name: "Your name" })).toBeInvalid();
});

test("page of an input request opens only on a press", async () => {
  const input: InputPrompt = {
    server: "shop",
    message: "Sign the order.",
    body: { kind: "url", url: "https://shop.example/sign?1", host: "shop.example" },
  };
  const host = hostWith(anApproval({ isHighest: true, input }));
  const { user } = renderApp("/approvals/ask-1", host);
  const shown = within(await card());
  expect(shown.getByText("shop.example")).toBeInTheDocument();
  expect(shown.getByText("https://shop.example/sign?1")).toBeInTheDocument();
  const decline = shown.getByRole("button", { name: "Decline" });
  await waitFor(() => expect(decline).toBeEnabled());
  await user.click(decline);
  await waitFor(() => expect(answered(host)).toEqual([{ id: "ask-1", decision: { kind: "deny" }, from: "page" }]));
});

test("permission names the agent, its action and the changes", async () => {
  const host = hostWith(aPermission({ replacedFiles: [] }));
  const { user } = renderApp("/approvals/ask-1", host);
  const shown = within(await card("Approval: claude-code: Edit today.md in Weekly notes"));
  expect(shown.getByRole("heading", { name: "Let claude-code take this action?" })).toBeInTheDocument();
  expect(shown.getByText("Edit today.md", { selector: "p" })).toBeVisible();
  const preview = shown.getByRole("region", { name: "Preview" });
  expect(preview).toHaveTextContent("notes/today.md Input: {}");
  expect(preview).toHaveTextContent("Removed: -nothing");
  expect(preview).toHaveTextContent("Added: +dentist");
  expect(shown.getByText(/counts for its task only/)).toBeInTheDocument();
  expect(shown.queryByRole("button", { name: /^Always/ })).toBeNull();
  expect(shown.getByText("“Allow for this run” also allows the same action again in this task.")).toBeInTheDocument();
  await user.click(shown.getByRole("button", { name: /^Task of the agent/ }));
  expect(await shown.findByRole("region", { name: "Task" })).toHaveTextContent("Add a note about the dentist.");
  await pressUntil(user, "r", () => answered(host).length > 0);
  expect(answered(host)).toEqual([{ id: "ask-1", decision: { kind: "run" }, from: "page" }]);
  expect(await screen.findByText(/^claude-code continues with exactly this action/)).toBeInTheDocument();
});

test("denied permission says that the agent sees no reason", async () => {
  const { user } = renderApp("/approvals/ask-1", hostWith(aPermission()));
  await card();
  await pressUntil(user, "d", () => screen.queryByRole("textbox", { name: "Reason (optional)" }) !== null);
  expect(screen.getByText("Kept in the history. claude-code sees the denial without this text.")).toBeInTheDocument();
});

test("list and history name the action of an agent", async () => {
  const long = `Run ${"npm test -- ".repeat(40)}`;
  renderApp(
    "/approvals/ask-1",
    hostWith(
      aPermission({ preview: `${long}\n\nInput:\n{}` }),
      aPermission({ id: "ask-2", jobId: null, jobName: "Chat" }),
      aPermission({ id: "ask-3", state: "denied", decidedAtMs: noon }),
    ),
  );
  await card();
  const pending = within(screen.getByRole("list", { name: "Pending approvals" }));
  expect(pending.getByText(`claude-code: ${long}`, { normalizer: (text) => text })).toBeInTheDocument();
  expect(pending.getByRole("link", { name: "claude-code: Edit today.md" })).toBeInTheDocument();
  const decided = within(screen.getByRole("list", { name: "Recent decisions" }));
  expect(decided.getByText("Denied · claude-code: Edit today.md")).toBeInTheDocument();
  expect(screen.queryByText(/delegate/)).toBeNull();
});
