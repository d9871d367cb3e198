import { readFileSync } from "node:fs";

import { screen, waitFor, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";

import { errorCode, type Job, RpcError } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aDetail, aGrant, aJob, anApproval, aStep, aTool } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const readFile = aTool({ name: "read_file", description: "Reads a file of the workspace.", approval: "never", readOnly: true, openWorld: false, readsOutside: false });
const post = aTool({ name: "post", description: "Sends.", approval: "never", destructive: true });
const command = aTool({ name: "run_command", description: "Runs a command.", approval: "always", domain: "container", destructive: true });

const host = () =>
  fakeHost({
    "tools.catalog": () => ({ tools: [aTool(), readFile, post, command] }),
    "tools.effective": () => ({ tools: [readFile], withheld: [], ceiling: null, problem: null }),
    "cron.list": () => ({ jobs: [aJob({ id: "j1", name: "Morning brief" })], broken: [], nextCursor: null }),
    "cron.get": () => aJob({ id: "j1", payload: { kind: "agentTurn", message: "Look" } }),
    "grants.list": () => ({ grants: [aGrant({ tool: "http", jobName: "Weekly\u202e notes", writesValues: ["mail"] }), aGrant({ id: "g2", tool: "http", isGood: false, jobName: "Old" })] }),
  });

test("the catalogue says what each tool does, whether it asks, and where it runs", async () => {
  const { user } = renderApp("/tools", host());
  const list = within(await screen.findByRole("list", { name: "Tools" }));
  const rows = list.getAllByRole("listitem").map((row) => row.textContent);
  expect(rows).toEqual(["httpFetches a URL. Asks first30/min", "read_fileReads a file of the workspace. Never asks30/min", "postSends. Asks for some calls30/min", "run_commandRuns a command. Sandbox Asks every time30/min"]);
  await user.type(screen.getByRole("searchbox", { name: "Search tools" }), "file read");
  expect(screen.getByText("1 tool")).toBeInTheDocument();
  expect(list.getAllByRole("listitem")).toHaveLength(1);
});

test("where there is little room the sign of a tool with your rights stays, and its words are still there", async () => {
  const mine = host();
  mine.answers["cron.get"] = () => aJob({ id: "j1", payload: { kind: "agentTurn", message: "Look" }, policies: { sandbox: "open" } });
  mine.answers["tools.effective"] = () => ({ tools: [command], withheld: [], ceiling: null, problem: null });
  renderApp("/tools?job=j1", mine);
  const word = await screen.findByText("Your rights");
  expect(word.parentElement!.querySelector("svg")).toBeVisible();
  const narrow = readFileSync("src/features/tools/ToolsPage.module.css", "utf8").split("@media (max-width: 560px)")[1]!;
  expect(/\.careful\s*\{[^}]*display: none/.test(narrow), "it is not hidden").toBe(false);
  expect(narrow).toMatch(new RegExp(`\\.${word.className} \\{[^}]*clip-path: inset`));
});

test("what one job is offered is asked of the engine, and stands in the address", async () => {
  const fake = host();
  const { user, path } = renderApp("/tools", fake);
  await user.click(await screen.findByRole("button", { name: "Offered to" }));
  await user.click(await screen.findByRole("option", { name: "Morning brief" }));
  await waitFor(() => expect(path()).toBe("/tools?job=j1"));
  await waitFor(() => expect(within(screen.getByRole("list", { name: "Tools" })).getAllByRole("listitem")).toHaveLength(1));
  expect(fake.called("tools.effective")).toEqual([{ id: "j1" }]);
});

test("of a job that asks nobody no tool is said to ask", async () => {
  const fake = host();
  fake.answers["cron.get"] = () => aJob({ id: "j1", payload: { kind: "agentTurn", message: "Look" }, policies: { approvals: "skip" } });
  fake.answers["tools.effective"] = () => ({ tools: [aTool(), post], withheld: [], ceiling: null, problem: null });
  renderApp("/tools?job=j1", fake);
  expect(await screen.findByText("Refused unless granted")).toBeInTheDocument();
  expect(screen.getByText("Refuses some calls")).toBeInTheDocument();
  expect(screen.queryByText(/^Asks/)).not.toBeInTheDocument();
});

test.each<[string, Partial<Job>]>([
  ["written into a job", { payload: { kind: "toolCall", tool: "run_command", arguments: {} } }],
  ["of a model whose job lets commands leave the sandbox", { payload: { kind: "agentTurn", message: "Look" }, policies: { sandbox: "open" } }],
])("a command %s is not said to run in the sandbox", async (_, parts) => {
  const fake = host();
  fake.answers["cron.get"] = () => ({ ...aJob(), job: { ...aJob().job, ...parts } });
  fake.answers["tools.effective"] = () => ({ tools: [command], withheld: [], ceiling: null, problem: null });
  renderApp("/tools?job=j1", fake);
  expect(await screen.findByText("Your rights")).toBeInTheDocument();
  expect(screen.queryByText("Sandbox")).not.toBeInTheDocument();
});

test("a tool that runs commands says whose calls the sandbox confines", async () => {
  renderApp("/tools/run_command", host());
  const facts = within(await screen.findByRole("list", { name: "What it may do" }));
  expect(facts.getByText("A call that you write into a job has your own rights, outside the sandbox.")).toBeInTheDocument();
});

test("why a job is offered only what looks stands above the list", async () => {
  const fake = host();
  fake.answers["tools.effective"] = () => ({ tools: [readFile], withheld: [], ceiling: "This run may only look.", problem: null });
  renderApp("/tools?job=j1", fake);
  expect(await screen.findByText("This run may only look.")).toBeInTheDocument();
});

test("what a job was granted and is not offered all the same says why", async () => {
  const fake = host();
  const withheld = [{ name: "run_command", why: "There is no sandbox here." }];
  fake.answers["tools.effective"] = () => ({ tools: [readFile], withheld, ceiling: null, problem: null });
  renderApp("/tools?job=j1", fake);
  expect(await screen.findByText("run_command is not offered, although granted. There is no sandbox here.")).toBeInTheDocument();
});

test("a skill is looked at, and trusted as it stood there", async () => {
  const fake = host();
  const skill = { name: "fetch", description: "Fetches.", trust: "untrusted" as const, isInstalled: true, path: "/s/fetch", problem: null, body: "Fetch it.", files: ["a.txt"], tools: null, digest: "d1", usedBy: [{ jobId: "j1", name: "Morning brief" }] };
  const bad = { ...skill, name: "broken", path: "/s/broken", description: null, trust: null, problem: "It has no SKILL.md.", body: null, digest: null };
  fake.answers["skills.list"] = () => ({ skills: [skill, bad], ownFolder: "/s", installedFolder: "/s/installed" });
  fake.answers["skills.trust"] = () => ({ ...skill, trust: "trusted" });
  const { user } = renderApp("/tools", fake);
  const rows = within(await screen.findByRole("list", { name: "Skills" })).getAllByRole("listitem");
  expect(rows.map((row) => row.textContent)).toEqual(["fetchFetches.Not trustedLook", "brokenIt has no SKILL.md.Cannot be used"]);
  await user.click(screen.getByRole("button", { name: "Look at fetch" }));
  expect(await screen.findByLabelText("Instructions")).toHaveTextContent("Fetch it.");
  await user.click(screen.getByRole("button", { name: "Trust it as it is" }));
  await waitFor(() => expect(fake.called("skills.trust")).toEqual([{ name: "fetch", digest: "d1" }]));
});

test("a tool with words for people is called by them, beside its name", async () => {
  const fake = host();
  fake.answers["tools.catalog"] = () => ({ tools: [aTool({ label: "Ask a web address" })] });
  const { user } = renderApp("/tools", fake);
  const link = await screen.findByRole("link", { name: "http" });
  expect(screen.getByText("Ask a web address")).toBeInTheDocument();
  await user.type(screen.getByRole("searchbox", { name: "Search tools" }), "web address");
  expect(screen.getByText("1 tool")).toBeInTheDocument();
  await user.click(link);
  const heading = await screen.findByRole("heading", { name: "Ask a web address", level: 1 });
  expect(within(heading.closest("header")!).getByText("http")).toBeInTheDocument();
});

test("one tool says what it may do, its limits, its arguments and its grants", async () => {
  renderApp("/tools/http", host());
  expect(await screen.findByRole("heading", { name: "http", level: 1 })).toBeInTheDocument();
  const may = within(screen.getByRole("list", { name: "What it may do" }));
  expect(may.getByText("Reaches beyond this computer.")).toBeInTheDocument();
  expect(screen.getByText("30 a minute, 500 an hour")).toBeInTheDocument();
  expect(screen.getByRole("row", { name: /url a text/ })).toBeInTheDocument();
  const grants = within(await screen.findByRole("list", { name: "Grants of this tool" }));
  expect(grants.getAllByRole("listitem")).toHaveLength(1);
  expect(grants.getByRole("link")).toHaveTextContent("Weekly⟨U+202E⟩ notes");
  expect(grants.getByRole("listitem")).toHaveTextContent(/\. It writes the value of the stored secret mail into the file\.$/);
});

test("arguments that nothing is said about have no empty column", async () => {
  const fake = host();
  fake.answers["tools.catalog"] = () => ({ tools: [aTool({ parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] } })] });
  renderApp("/tools/http", fake);
  expect((await screen.findAllByRole("columnheader")).map((head) => head.textContent)).toEqual(["Name", "Takes"]);
});

test("a tool that is not there says so", async () => {
  renderApp("/tools/nothing", host());
  expect(await screen.findByRole("heading", { name: "There is no such tool" })).toBeInTheDocument();
});

test("a call is tried: what is missing is said, then it is made, and its answer stands below with what the gate said", async () => {
  const fake = host();
  fake.answers["tools.try"] = () => ({ runId: "r1" });
  fake.answers["runs.get"] = () => aDetail({ id: "r1", jobId: null, state: "running", durationMs: null });
  const { user } = renderApp("/tools/http", fake);
  const form = within(await screen.findByRole("form", { name: "Try http" }));
  await user.click(form.getByRole("button", { name: "Call it" }));
  expect(form.getByText("This is required.")).toBeInTheDocument();
  expect(fake.called("tools.try")).toEqual([]);
  await user.type(form.getByRole("textbox", { name: "url" }), "https://example.org{Enter}");
  await waitFor(() => expect(fake.called("tools.try")).toEqual([{ tool: "http", arguments: { url: "https://example.org" } }]));
  const outcome = within(await screen.findByRole("region", { name: "What came of it" }));
  expect(outcome.getByRole("status")).toHaveTextContent("Running");
  expect(outcome.getByRole("button", { name: "Stop" })).toBeInTheDocument();
  fake.answers["runs.get"] = () => aDetail({ id: "r1", jobId: null }, { steps: [aStep({ output: { status: 200 }, durationMs: 42 })] });
  fake.emit("run", { runId: "r1", state: "succeeded" });
  expect(await outcome.findByText("Succeeded")).toBeInTheDocument();
  expect(outcome.getByText("needed no yes · 42 ms")).toBeInTheDocument();
  expect(outcome.getByRole("region", { name: "Result" })).toHaveTextContent('"status": 200');
  expect(outcome.getByRole("link", { name: "Open the run" })).toHaveAttribute("href", "/runs/r1");
});

test("a tool that asks for some calls is not said to be called at once", async () => {
  renderApp("/tools/post", host());
  expect(await screen.findByText("What only looks is called at once. You see what would happen before it does where a call could change something.")).toBeInTheDocument();
});

test("what the engine says of the arguments stands below them", async () => {
  const fake = host();
  fake.answers["tools.try"] = () => Promise.reject(new RpcError(errorCode.invalidParams, "arguments: /url is not a URL", { fields: [{ path: "arguments", message: "/url is not a URL" }] }));
  const { user } = renderApp("/tools/http", fake);
  await user.type(await screen.findByRole("textbox", { name: "url" }), "nowhere{Enter}");
  expect(await screen.findByText("/url is not a URL")).toBeInTheDocument();
});

test("a call that changes something asks with the card that every question has; a no is said in plain words", async () => {
  const fake = host();
  const asked = anApproval({ id: "a1", runId: "r1", jobId: null, jobName: "Trial of http", tool: "http", preview: "POST https://example.org", expiresAtMs: Date.now() + 600_000 });
  fake.answers["tools.try"] = () => ({ runId: "r1" });
  fake.answers["runs.get"] = () => aDetail({ id: "r1", jobId: null, state: "awaitingApproval" }, { approvals: [asked] });
  const denied = { ...asked, state: "denied" as const };
  fake.answers["approvals.decide"] = () => {
    fake.answers["runs.get"] = () => aDetail({ id: "r1", jobId: null, state: "cancelled", reason: "You said no, so it was not called: Not that." }, { approvals: [denied], steps: [aStep({ isError: true, status: "failed", output: "The person said no. Go on without it.", gate: { decision: "refused", why: { kind: "denied", reason: null }, rewrittenBy: null } })] });
    return { counts: true, approval: denied };
  };
  const { user } = renderApp("/tools/http", fake);
  await user.type(await screen.findByRole("textbox", { name: "url" }), "https://example.org{Enter}");
  const card = within(await screen.findByRole("article", { name: /^Question: http/ }));
  expect(card.getByRole("region", { name: "What would happen" })).toHaveTextContent("POST https://example.org");
  for (const name of [/^Always/, /^This run/]) expect(card.queryByRole("button", { name })).not.toBeInTheDocument();
  await waitFor(async () => {
    await user.click(card.getByRole("button", { name: /^Deny/ }));
    expect(card.getByRole("textbox", { name: "Why not?" })).toBeInTheDocument();
  }, { timeout: 3_000 });
  await user.keyboard("{Enter}");
  expect(await screen.findByText("You said no, so it was not called: Not that.")).toBeInTheDocument();
  expect(screen.queryByText(/Go on without it/)).not.toBeInTheDocument();
  expect(screen.getByText("refused by you · 5 ms")).toBeInTheDocument();
});

test("a question that comes up below is brought into sight; who is still at the button is led to it, and who writes is left alone", async () => {
  const fake = host();
  const asks = (id: string) => () => aDetail({ id: "r1", jobId: null, state: "awaitingApproval" }, { approvals: [anApproval({ id, runId: "r1", jobId: null, tool: "http", expiresAtMs: Date.now() + 600_000 })] });
  fake.answers["tools.try"] = () => ({ runId: "r1" });
  fake.answers["runs.get"] = asks("a1");
  const shown = vi.spyOn(Element.prototype, "scrollIntoView");
  const { user } = renderApp("/tools/http", fake);
  await user.type(await screen.findByRole("textbox", { name: "url" }), "https://example.org");
  await user.click(screen.getByRole("button", { name: "Call it" }));
  const place = await screen.findByRole("region", { name: "What came of it" });
  expect(shown.mock.contexts).toEqual([place]);
  expect(shown).toHaveBeenCalledWith({ block: "nearest", behavior: "smooth" });
  expect(place).toHaveFocus();

  vi.spyOn(window, "matchMedia").mockImplementation((media) => ({ matches: media === "(prefers-reduced-motion: reduce)" }) as MediaQueryList);
  await user.click(screen.getByRole("textbox", { name: "url" }));
  fake.answers["runs.get"] = asks("a2");
  fake.emit("run", { runId: "r1", state: "awaitingApproval" });
  await waitFor(() => expect(shown).toHaveBeenLastCalledWith({ block: "nearest", behavior: "instant" }));
  expect(screen.getByRole("textbox", { name: "url" })).toHaveFocus();
});

test("what came of a call is brought into sight when it is there, and the focus stays at the button", async () => {
  const fake = host();
  fake.answers["tools.try"] = () => ({ runId: "r1" });
  fake.answers["runs.get"] = () => aDetail({ id: "r1", jobId: null, state: "running", durationMs: null });
  const shown = vi.spyOn(Element.prototype, "scrollIntoView");
  const { user } = renderApp("/tools/http", fake);
  await user.type(await screen.findByRole("textbox", { name: "url" }), "https://example.org");
  await user.click(screen.getByRole("button", { name: "Call it" }));
  const place = await screen.findByRole("region", { name: "What came of it" });
  expect(shown).not.toHaveBeenCalled();
  fake.answers["runs.get"] = () => aDetail({ id: "r1", jobId: null }, { steps: [aStep({ output: { status: 200 } })] });
  fake.emit("run", { runId: "r1", state: "succeeded" });
  expect(await within(place).findByRole("region", { name: "Result" })).toBeInTheDocument();
  expect(shown.mock.contexts).toEqual([place]);
  expect(screen.getByRole("button", { name: "Call it" })).toHaveFocus();
});

test("a tool that belongs to a turn of a model is not tried by itself", async () => {
  renderApp("/tools/complete_run", fakeHost({ "tools.catalog": () => ({ tools: [aTool({ name: "complete_run", canBeTried: false })] }), "grants.list": () => ({ grants: [] }) }));
  expect(await screen.findByRole("heading", { name: "complete_run", level: 1 })).toBeInTheDocument();
  expect(screen.queryByRole("form")).not.toBeInTheDocument();
});

test("a tool that cannot be called on this computer says why, and what to do", async () => {
  const why = "This computer cannot confine a command. What is missing: namespaces (no). Ask the kernel. Nothing was run.";
  renderApp("/tools/run_command", fakeHost({ "tools.catalog": () => ({ tools: [aTool({ name: "run_command", whyNotHere: why })] }) }));
  const facts = within(await screen.findByRole("list", { name: "What it may do" }));
  expect(facts.getByText(`No model’s call of it can be carried out here. ${why}`)).toBeInTheDocument();
});
