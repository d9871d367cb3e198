import { screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { errorCode, RpcError, type ApprovalView } from "@/platform";
import { type FakeHost, fakeHost } from "@/test/fakeHost";
import { aDetail, aJob, anApproval, aStatus, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

let asked: ApprovalView[];

/** A host that holds questions and decides them as the gateway does: the first answer counts. */
function hostWith(...approvals: ApprovalView[]): FakeHost {
  asked = approvals;
  const one = (id: string) => {
    const found = asked.find((approval) => approval.id === id);
    if (!found) throw new RpcError(errorCode.notFound, "no such question");
    return found;
  };
  return fakeHost({
    "approvals.list": ({ all }) => ({ approvals: all ? asked : asked.filter(({ state }) => state === "pending") }),
    "approvals.get": ({ id }) => one(id),
    "approvals.decide": ({ id, answer, from }) => {
      const before = one(id);
      if (before.state !== "pending") return { counts: false, approval: before };
      const approval: ApprovalView = {
        ...before, decidedAtMs: noon, answeredFrom: from,
        ...(answer.kind === "deny" ? { state: "denied", reason: answer.reason ?? null } : { state: "approved", scope: answer.kind }),
      };
      asked = asked.map((other) => (other.id === id ? approval : other));
      return { counts: true, approval };
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

const card = (name: string | RegExp = /^Question/) => screen.findByRole("article", { name });
const answered = (host: FakeHost) => host.called("approvals.decide");

/** Presses a key until the card takes it: none counts in the first half second. */
async function pressUntil(user: ReturnType<typeof renderApp>["user"], key: string, done: () => boolean) {
  await waitFor(async () => {
    await user.keyboard(key);
    expect(done()).toBe(true);
  });
}

test("a question is shown whole: what, why, who, until when", async () => {
  renderApp("/approvals/ask-1", hostWith(anApproval()));
  const shown = within(await card("Question: write_file in Weekly notes"));
  expect(shown.getByRole("heading", { name: "May write_file run?" })).toBeInTheDocument();
  expect(shown.getByText("29 min left")).toBeInTheDocument();
  expect(shown.getByText(/^write_file changes files/)).toBeInTheDocument();
  expect(shown.getByRole("region", { name: "What would happen" })).toHaveTextContent("+dentist");
  expect(shown.getByRole("link", { name: "Weekly notes" })).toHaveAttribute("href", "/jobs/job-1");
  expect(shown.getByRole("link", { name: /^begun|See it/ })).toHaveAttribute("href", "/runs/run-1");
});

test("while everything is paused nobody is told that the job fires again meanwhile", async () => {
  const host = hostWith(anApproval());
  host.answers["cron.get"] = () => aJob({ state: { nextRunAtMs: noon + 600_000 } });
  host.answers["system.status"] = () => aStatus({ cron: { pause: { untilMs: null } } });
  renderApp("/approvals/ask-1", host);
  const shown = within(await card());
  expect(await shown.findByText("left out: paused")).toBeInTheDocument();
  expect(shown.queryByText("in 10 min")).not.toBeInTheDocument();
});

test("a tool with words for people is asked about in them, beside its name", async () => {
  renderApp("/approvals/ask-1", hostWith(anApproval({ toolLabel: "Write a file" })));
  const shown = within(await card("Question: write_file in Weekly notes"));
  expect(shown.getByRole("heading", { name: "Write a file? write_file" })).toBeInTheDocument();
});

test("an answered question does not say that the run goes on while another of that run is open", async () => {
  const answered = anApproval({ state: "approved", scope: "once", answeredFrom: "cli", decidedAtMs: noon });
  renderApp("/approvals/ask-1", hostWith(answered, anApproval({ id: "ask-2" }), anApproval({ id: "ask-3", runId: "run-2" })));
  expect(within(await card()).getByText("The run goes on with exactly this call, once its other question has an answer.")).toBeInTheDocument();
});

test("how long it has waited and what waits with it is said as the engine counts it, and goes on counting", async () => {
  const holdsUp = { text: "This run, and “Report”, which starts after it. 3 later runs of the job did not wait for it.", questions: 0, followers: [{ id: "job-2", name: "Report" }], passedBy: 3 };
  renderApp("/approvals/ask-1", hostWith(anApproval({ askedAtMs: noon - 6 * 60_000, holdsUp })));
  const shown = within(await card());
  expect(shown.getByText("Waits").nextSibling).toHaveTextContent("for 6 min");
  expect(shown.getByText("Holds up").nextSibling).toHaveTextContent(holdsUp.text);
});

test("the list says what tells one question from the next: the tool where all are of the chat, and the answer first", async () => {
  const chat = { jobId: null, jobName: "Chat" };
  renderApp("/approvals/ask-1", hostWith(
    anApproval(),
    anApproval({ id: "ask-2", ...chat, tool: "run_command" }),
    anApproval({ id: "ask-3", ...chat, state: "denied", decidedAtMs: noon, holdsUp: null }),
    anApproval({ id: "ask-4", tool: "http", state: "approved", scope: "always", decidedAtMs: noon, holdsUp: null }),
  ));
  await card();
  const rows = (list: string) => within(screen.getByRole("list", { name: list })).getAllByRole("listitem").map((item) => [...item.querySelectorAll("a, a + span > :first-child")].map(({ textContent }) => textContent));
  expect(rows("Waiting questions")).toEqual([["Weekly notes", "write_file"], ["run_command", "Chat"]]);
  expect(rows("Decided questions")).toEqual([["write_file", "Denied · Chat"], ["Weekly notes", "Allowed always · http"]]);
});

test("what is answered waits no more and holds nothing up", async () => {
  renderApp("/approvals/ask-1", hostWith(anApproval({ state: "denied", decidedAtMs: noon, holdsUp: null })));
  const shown = within(await card());
  expect(shown.getByText("Asked")).toBeInTheDocument();
  expect(shown.queryByText("Waits")).not.toBeInTheDocument();
  expect(shown.queryByText("Holds up")).not.toBeInTheDocument();
});

test("a key allows it once, and the next question comes up", async () => {
  const host = hostWith(anApproval(), anApproval({ id: "ask-2", tool: "http", jobName: "Is the site up" }));
  const { user, path } = renderApp("/approvals", host);
  await card("Question: write_file in Weekly notes");
  await pressUntil(user, "a", () => answered(host).length > 0);
  expect(answered(host)).toEqual([{ id: "ask-1", answer: { kind: "once" }, from: "page" }]);
  await card("Question: http in Is the site up");
  expect(path()).toBe("/approvals/ask-2");
});

test("a key that was on its way answers nothing that has only just come up", async () => {
  const host = hostWith(anApproval());
  const { user } = renderApp("/approvals/ask-1", host);
  await card();
  await user.keyboard("ard");
  await user.click(screen.getByRole("button", { name: /^Allow once/ }));
  expect(answered(host)).toEqual([]);
  expect(screen.queryByRole("textbox", { name: "Why not?" })).not.toBeInTheDocument();
});

test("a key that is held down answers one question, not all of them", async () => {
  const host = hostWith(anApproval(), anApproval({ id: "ask-2" }), anApproval({ id: "ask-3" }));
  const { user } = renderApp("/approvals", host);
  await card();
  await pressUntil(user, "{a>}", () => answered(host).length > 0);
  await screen.findByRole("list", { name: "Decided questions" });
  for (let i = 0; i < 20; i += 1) document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", repeat: true, bubbles: true }));
  expect(answered(host)).toHaveLength(1);
});

test("D asks for a reason, letters typed there answer nothing, Enter denies with it", async () => {
  const host = hostWith(anApproval());
  const { user } = renderApp("/approvals/ask-1", host);
  await card();
  await pressUntil(user, "d", () => screen.queryByRole("textbox", { name: "Why not?" }) !== null);
  const reason = screen.getByRole("textbox", { name: "Why not?" });
  expect(reason).toHaveFocus();
  await user.clear(reason);
  await user.keyboard("A grand idea, really{Enter}");
  await waitFor(() => expect(answered(host)).toEqual([{ id: "ask-1", answer: { kind: "deny", reason: "A grand idea, really" }, from: "page" }]));
  expect(await screen.findByText(/^Denied here/)).toBeInTheDocument();
  expect(screen.getByText("The model is told: “A grand idea, really”")).toBeInTheDocument();
  expect(screen.getByText(/^Denied here/).closest("[role=status]"), "the field that had it is gone").toHaveFocus();
});

test("the highest class is answered once, and never for more", async () => {
  const { user } = renderApp("/approvals/ask-1", hostWith(anApproval({ isHighest: true })));
  await card();
  expect(screen.queryByRole("button", { name: /^This run/ })).not.toBeInTheDocument();
  expect(screen.queryByRole("button", { name: /^Always/ })).not.toBeInTheDocument();
  await user.keyboard("gr");
  expect(screen.queryByRole("dialog")).not.toBeInTheDocument();
  expect(screen.getByRole("button", { name: /^Allow once/ })).toBeInTheDocument();
});

test("always opens the grant in words, and makes a pattern of what the person loosens", async () => {
  const host = hostWith(anApproval());
  const { user } = renderApp("/approvals/ask-1", host);
  await card();
  await pressUntil(user, "g", () => screen.queryByRole("dialog", { name: "Always for “Weekly notes”" }) !== null);
  const dialog = within(screen.getByRole("dialog"));
  expect(dialog.getByRole("status")).toHaveTextContent(/may call write_file without asking with exactly these arguments/);
  await user.click(dialog.getByRole("radio", { name: "Calls like this one" }));
  await user.click(dialog.getByRole("button", { name: /What path may be/ }));
  await user.click(await screen.findByRole("option", { name: "is this or lies below it" }));
  expect(dialog.getByRole("textbox", { name: "path lies below" })).toHaveValue("notes");
  await user.click(dialog.getByRole("button", { name: /What content may be/ }));
  await user.click(await screen.findByRole("option", { name: "may be anything" }));
  await user.click(dialog.getByRole("radio", { name: "No end" }));
  expect(dialog.getByRole("status")).toHaveTextContent("“Weekly notes” may call write_file without asking when path is “notes” or lies below it and content is anything, in /home/ada/workspace, until somebody takes it back.");
  await user.click(dialog.getByRole("button", { name: "Allow from now on" }));
  await waitFor(() => expect(answered(host)).toEqual([{ id: "ask-1", answer: { kind: "always", rules: { path: { rule: "below", value: "notes" }, content: { rule: "any" } } }, from: "page" }]));
});

test("arguments in which handles stand for values are not called exact", async () => {
  renderApp("/approvals/ask-1", hostWith(anApproval({ writesValues: ["mail"] })));
  const shown = within(await card());
  expect(shown.getByRole("button", { name: "Arguments As they will be passed on, with its value in the place of each handle" })).toBeInTheDocument();
});

test("a yes for always says which stored secrets' values it writes", async () => {
  const { user } = renderApp("/approvals/ask-1", hostWith(anApproval({ writesValues: ["mail"] })));
  await card();
  await pressUntil(user, "g", () => screen.queryByRole("dialog") !== null);
  expect(within(screen.getByRole("dialog")).getByRole("status")).toHaveTextContent(/, until .*\. It writes the value of the stored secret mail into the file\.$/);
});

test("what no standing yes can be held to has no always, and says why", async () => {
  const why = "The program make runs what its Makefile says. It cannot be allowed for always.";
  const { user } = renderApp("/approvals/ask-1", hostWith(anApproval({ ungranted: why })));
  await card();
  expect(screen.getByText(/The program make runs what its Makefile says/)).toBeVisible();
  expect(screen.queryByRole("button", { name: /Always/ })).toBeNull();
  await user.keyboard("g");
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("what a shell reads is granted exactly as it is", async () => {
  const host = hostWith(anApproval({ tool: "run_command", arguments: { command: "ls" }, shellText: ["command"] }));
  const { user } = renderApp("/approvals/ask-1", host);
  await card();
  await pressUntil(user, "g", () => screen.queryByRole("dialog") !== null);
  const dialog = within(screen.getByRole("dialog"));
  expect(dialog.getByText(/only exactly this call can be granted/)).toBeInTheDocument();
  expect(dialog.queryByRole("radio", { name: "Calls like this one" })).not.toBeInTheDocument();
});

test("an answer from elsewhere is seen at once, with where it was given", async () => {
  const host = hostWith(anApproval());
  renderApp("/approvals/ask-1", host);
  await card();
  asked = [anApproval({ state: "approved", scope: "run", answeredFrom: "notification", decidedAtMs: noon })];
  host.emit("approval", { approvalId: "ask-1", runId: "run-1", state: "approved" });
  expect(await screen.findByText(/^Allowed for this run from the notification/)).toBeInTheDocument();
  expect(screen.queryByRole("group", { name: "Answers" })).not.toBeInTheDocument();
});

test("an answer that comes too late says what was decided instead", async () => {
  const host = hostWith(anApproval());
  const approval = anApproval({ state: "denied", answeredFrom: "cli", decidedAtMs: noon });
  host.answers["approvals.decide"] = () => {
    asked = [approval];
    return { counts: false, approval };
  };
  const { user } = renderApp("/approvals/ask-1", host);
  await card();
  await pressUntil(user, "a", () => answered(host).length > 0);
  expect(await screen.findByText("This answer came too late")).toBeInTheDocument();
  expect(await screen.findByText(/^Denied from the command line/)).toBeInTheDocument();
});

test("an answer that could not be given is said, and can be given again", async () => {
  const host = hostWith(anApproval());
  const decide = host.answers["approvals.decide"];
  host.answers["approvals.decide"] = () => Promise.reject(new RpcError(errorCode.unreachable, "Rouse does not answer."));
  const { user } = renderApp("/approvals/ask-1", host);
  await card();
  await pressUntil(user, "a", () => answered(host).length > 0);
  expect(await screen.findByRole("alert")).toHaveTextContent("It was not answered. Rouse does not answer.");
  host.answers["approvals.decide"] = decide;
  await user.keyboard("a");
  expect(await screen.findByText(/^Allowed once here/)).toBeInTheDocument();
});

test("the time that runs out while one looks takes the answers away", async () => {
  const host = hostWith(anApproval({ expiresAtMs: noon + 2 * 60_000 }));
  const { user } = renderApp("/approvals/ask-1", host);
  expect((await screen.findAllByText("Only 2 min left")).length).toBeGreaterThan(0);
  vi.setSystemTime(noon + 2 * 60_000);
  expect(await screen.findByText("The time for an answer is over.")).toBeInTheDocument();
  await user.keyboard("a");
  expect(screen.getByRole("button", { name: /^Allow once/ })).toBeDisabled();
  expect(answered(host)).toEqual([]);
  asked = [anApproval({ state: "expired", decidedAtMs: noon })];
  host.emit("approval", { approvalId: "ask-1", runId: "run-1", state: "expired" });
  expect(await screen.findByText(/^Nobody answered in time,/)).toBeInTheDocument();
});

test("nothing that waits is said calmly; what was decided stays below", async () => {
  renderApp("/approvals", hostWith(anApproval({ state: "approved", scope: "once", decidedAtMs: noon, answeredFrom: "page" })));
  expect(await screen.findByRole("heading", { name: "Nothing needs you" })).toBeInTheDocument();
  expect(await screen.findByText("Allowed once · write_file")).toBeInTheDocument();
});

test("a question that is gone says so", async () => {
  renderApp("/approvals/ask-9", hostWith());
  expect(await screen.findByRole("heading", { name: "This question is not there any more" })).toBeInTheDocument();
});

test("how many wait stands in the rail and in the title, and a new one is said aloud", async () => {
  const host = hostWith(anApproval());
  renderApp("/runs", host);
  expect(await screen.findByRole("link", { name: "Needs you 1 waiting" })).toBeInTheDocument();
  expect(document.title).toBe("(1) Runs · Rouse");
  expect(screen.queryByText(/needs you: may/), "it was there already").not.toBeInTheDocument();
  asked = [...asked, anApproval({ id: "ask-2", tool: "run_command", jobName: "Backup" })];
  host.emit("approval", { approvalId: "ask-2", runId: "run-2", state: "pending" });
  expect(await screen.findByText("Backup needs you: may run_command run?")).toHaveAttribute("aria-live", "assertive");
  expect(document.title).toBe("(2) Runs · Rouse");
});

test("whoever makes a pattern of a call sees in it what cannot be seen, as on the card", async () => {
  const host = hostWith(anApproval({ arguments: { path: "notes/today.md", content: `one\n\u202eowt${"x".repeat(400)}` } }));
  const { user } = renderApp("/approvals/ask-1", host);
  await card();
  await pressUntil(user, "g", () => screen.queryByRole("dialog") !== null);
  const editor = within(screen.getByRole("dialog"));
  await user.click(editor.getByRole("radio", { name: "Calls like this one" }));
  expect(editor.getByRole("group", { name: "The value of content" })).toHaveTextContent("⟨U+202E⟩owtx");
  expect(editor.getByText(/^1 character in it cannot be seen/)).toBeInTheDocument();
  const sentence = editor.getByText(/may call write_file without asking/);
  expect(sentence).toHaveTextContent("content is exactly “one ↵ ⟨U+202E⟩owtxxx");
  expect(sentence).toHaveTextContent("x…” (and 248 more characters)");
  await user.click(editor.getByRole("button", { name: /What content may be$/ }));
  await user.click(await screen.findByRole("option", { name: "is one of these" }));
  expect(editor.getByRole("textbox", { name: "Values of content, one a line" })).toBeInTheDocument();
  expect(editor.getByText(/^1 character in it cannot be seen/)).toBeInTheDocument();
});
