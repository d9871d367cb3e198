import { readFileSync } from "node:fs";

import { screen, waitFor, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";

import { errorCode, type Job, RpcError } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aDetail, aGrant, aJob, anApproval, aPermission, aStep, aTool } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const readFile = aTool({
  name: "read_file",
  description: "Reads a file of the workspace.",
  approval: "never",
  readOnly: true,
  openWorld: false,
  readsUntrusted: false,
});
const post = aTool({ name: "post", description: "Sends.", approval: "never", destructive: true });
const command = aTool({
  name: "run_command",
  description: "Runs a command.",
  approval: "always",
  domain: "container",
  destructive: true,
});

const host = () =>
  fakeHost({
    "tools.catalog": () => ({ tools: [aTool(), readFile, post, command], refused: [] }),
    "tools.effective": () => ({ tools: [readFile], withheld: [], ceiling: null, problem: null }),
    "cron.list": () => ({ jobs: [aJob({ id: "j1", name: "Morning brief" })], broken: [], nextCursor: null }),
    "cron.get": () => aJob({ id: "j1", payload: { kind: "agentTurn", message: "Look" } }),
    "grants.list": () => ({
      grants: [
        aGrant({ tool: "http", jobName: "Weekly\u202e notes" }),
        aGrant({ id: "g2", tool: "http", isValid: false, jobName: "Old" }),
      ],
    }),
  });

test("catalog shows purpose, approval and sandbox", async () => {
  const { user } = renderApp("/tools", host());
  await screen.findByRole("list", { name: "Web" });
  const rows = ["Files", "Web", "Commands", "Other"].map((title) =>
    within(screen.getByRole("region", { name: title }))
      .getAllByRole("listitem")
      .map((row) => row.textContent),
  );
  expect(rows).toEqual([
    ["read_fileReads a file of the workspace. No approval30/min"],
    ["httpFetches a URL. Needs approval30/min"],
    ["run_commandRuns a command. Sandbox Always needs approval30/min"],
    ["postSends. Some need approval30/min"],
  ]);
  await user.type(screen.getByRole("searchbox", { name: "Search tools" }), "file read");
  expect(screen.getByText("1 tool")).toBeInTheDocument();
  expect(screen.getAllByRole("link", { name: /^(read_file|http|run_command|post)$/ })).toHaveLength(1);
});

test("narrow rights badge keeps its icon and text", async () => {
  const mine = host();
  mine.answers["cron.get"] = () =>
    aJob({ id: "j1", payload: { kind: "agentTurn", message: "Look" }, policies: { sandbox: "open" } });
  mine.answers["tools.effective"] = () => ({ tools: [command], withheld: [], ceiling: null, problem: null });
  renderApp("/tools?job=j1", mine);
  const word = await screen.findByText("Your permissions");
  expect(word.parentElement!.querySelector("svg")).toBeVisible();
  const narrow = readFileSync("src/features/tools/ToolsPage.module.css", "utf8").split("@media (max-width: 560px)")[1]!;
  expect(/\.careful\s*\{[^}]*display: none/.test(narrow), "it is not hidden").toBe(false);
  expect(narrow).toMatch(new RegExp(`\\.${word.className} \\{[^}]*clip-path: inset`));
});

test("effective tools of a job come from the engine and the URL", async () => {
  const fake = host();
  const { user, path } = renderApp("/tools", fake);
  await user.click(await screen.findByRole("button", { name: "Job" }));
  await user.click(await screen.findByRole("option", { name: "Morning brief" }));
  await waitFor(() => expect(path()).toBe("/tools?job=j1"));
  await waitFor(() => expect(screen.queryByRole("list", { name: "Web" })).not.toBeInTheDocument());
  expect(within(screen.getByRole("list", { name: "Files" })).getAllByRole("listitem")).toHaveLength(1);
  expect(screen.queryByRole("region", { name: "MCP servers" })).not.toBeInTheDocument();
  expect(fake.called("tools.effective")).toEqual([{ id: "j1" }]);
});

test("job that denies approvals lists no tool as asking", async () => {
  const fake = host();
  fake.answers["cron.get"] = () =>
    aJob({ id: "j1", payload: { kind: "agentTurn", message: "Look" }, policies: { approvals: "skip" } });
  fake.answers["tools.effective"] = () => ({ tools: [aTool(), post], withheld: [], ceiling: null, problem: null });
  renderApp("/tools?job=j1", fake);
  expect(await screen.findByText("Denied unless granted")).toBeInTheDocument();
  expect(screen.getByText("Some denied")).toBeInTheDocument();
  expect(screen.queryByText(/needs? approval/)).not.toBeInTheDocument();
});

test.each<[string, Partial<Job>]>([
  ["written into a job", { payload: { kind: "toolCall", tool: "run_command", arguments: {} } }],
  [
    "of a model whose job lets commands leave the sandbox",
    { payload: { kind: "agentTurn", message: "Look" }, policies: { sandbox: "open" } },
  ],
])("command %s is not shown as sandboxed", async (_, parts) => {
  const fake = host();
  fake.answers["cron.get"] = () => ({ ...aJob(), job: { ...aJob().job, ...parts } });
  fake.answers["tools.effective"] = () => ({ tools: [command], withheld: [], ceiling: null, problem: null });
  renderApp("/tools?job=j1", fake);
  expect(await screen.findByText("Your permissions")).toBeInTheDocument();
  expect(screen.queryByText("Sandbox")).not.toBeInTheDocument();
});

test("command tool explains the sandboxed callers", async () => {
  renderApp("/tools/run_command", host());
  const facts = within(await screen.findByRole("list", { name: "Properties" }));
  expect(
    facts.getByText("A call that you fix in a job runs with your full permissions, outside the sandbox."),
  ).toBeInTheDocument();
});

test("read-only ceiling shows above the list", async () => {
  const fake = host();
  fake.answers["tools.effective"] = () => ({
    tools: [readFile],
    withheld: [],
    ceiling: "This run may only look.",
    problem: null,
  });
  renderApp("/tools?job=j1", fake);
  expect(await screen.findByText("This run may only look.")).toBeInTheDocument();
});

test("withheld granted tool shows its reason", async () => {
  const fake = host();
  const withheld = [{ name: "run_command", reason: "There is no sandbox here." }];
  fake.answers["tools.effective"] = () => ({ tools: [readFile], withheld, ceiling: null, problem: null });
  renderApp("/tools?job=j1", fake);
  expect(
    await screen.findByText("run_command is granted but not available. There is no sandbox here."),
  ).toBeInTheDocument();
});

test("viewed skill version is trusted", async () => {
  const fake = host();
  const skill = {
    name: "fetch",
    description: "Fetches.",
    trust: "untrusted" as const,
    isInstalled: true,
    path: "/s/fetch",
    problem: null,
    body: "Fetch it.",
    files: ["a.txt"],
    tools: null,
    digest: "d1",
    usedBy: [{ jobId: "j1", name: "Morning brief" }],
  };
  const bad = {
    ...skill,
    name: "broken",
    path: "/s/broken",
    description: null,
    trust: null,
    problem: "It has no SKILL.md.",
    body: null,
    digest: null,
  };
  fake.answers["skills.list"] = () => ({ skills: [skill, bad], ownFolder: "/s", installedFolder: "/s/installed" });
  fake.answers["skills.trust"] = () => ({ ...skill, trust: "trusted" });
  const { user } = renderApp("/tools", fake);
  const rows = within(await screen.findByRole("list", { name: "Skills" })).getAllByRole("listitem");
  expect(rows.map((row) => row.textContent)).toEqual([
    "fetchFetches.Not trustedView",
    "brokenIt has no SKILL.md.UnavailableRemove",
  ]);
  await user.click(screen.getByRole("button", { name: "View fetch" }));
  expect(await screen.findByLabelText("Instructions")).toHaveTextContent("Fetch it.");
  await user.click(screen.getByRole("button", { name: "Trust this version" }));
  await waitFor(() => expect(fake.called("skills.trust")).toEqual([{ name: "fetch", digest: "d1" }]));
});

test("tool label appears beside the tool name", async () => {
  const fake = host();
  fake.answers["tools.catalog"] = () => ({ tools: [aTool({ label: "Ask a web address" })], refused: [] });
  const { user } = renderApp("/tools", fake);
  const link = await screen.findByRole("link", { name: "http" });
  expect(screen.getByText("Ask a web address")).toBeInTheDocument();
  await user.type(screen.getByRole("searchbox", { name: "Search tools" }), "web address");
  expect(screen.getByText("1 tool")).toBeInTheDocument();
  await user.click(link);
  const heading = await screen.findByRole("heading", { name: "Ask a web address", level: 1 });
  expect(within(heading.closest("header")!).getByText("http")).toBeInTheDocument();
});

test("tool page shows permissions, limits, arguments and grants", async () => {
  renderApp("/tools/http", host());
  expect(await screen.findByRole("heading", { name: "http", level: 1 })).toBeInTheDocument();
  const may = within(screen.getByRole("list", { name: "Properties" }));
  expect(may.getByText("Reaches beyond this computer.")).toBeInTheDocument();
  expect(screen.getByText("30 per minute, 500 per hour, across all jobs")).toBeInTheDocument();
  expect(screen.getByRole("row", { name: /url text/ })).toBeInTheDocument();
  const grants = within(await screen.findByRole("list", { name: "Grants of this tool" }));
  expect(grants.getAllByRole("listitem")).toHaveLength(1);
  expect(grants.getByRole("link")).toHaveTextContent("Weekly⟨U+202E⟩ notes");
});

test("undescribed arguments have no description column", async () => {
  const fake = host();
  fake.answers["tools.catalog"] = () => ({
    tools: [aTool({ parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] } })],
    refused: [],
  });
  renderApp("/tools/http", fake);
  expect((await screen.findAllByRole("columnheader")).map((head) => head.textContent)).toEqual(["Name", "Type"]);
});

test("missing tool shows not found", async () => {
  renderApp("/tools/nothing", host());
  expect(await screen.findByRole("heading", { name: "Tool not found" })).toBeInTheDocument();
});

test("trial validates arguments and shows result and gate", async () => {
  const fake = host();
  fake.answers["tools.try"] = () => ({ runId: "r1" });
  fake.answers["runs.get"] = () => aDetail({ id: "r1", jobId: null, state: "running", durationMs: null });
  const { user } = renderApp("/tools/http", fake);
  const form = within(await screen.findByRole("form", { name: "Try http" }));
  await user.click(form.getByRole("button", { name: "Call" }));
  expect(form.getByText("This is required.")).toBeInTheDocument();
  expect(fake.called("tools.try")).toEqual([]);
  await user.type(form.getByRole("textbox", { name: "url" }), "https://example.org{Enter}");
  await waitFor(() =>
    expect(fake.called("tools.try")).toEqual([{ tool: "http", arguments: { url: "https://example.org" } }]),
  );
  const outcome = within(await screen.findByRole("region", { name: "Trial result" }));
  expect(outcome.getByRole("status")).toHaveTextContent("Running");
  expect(outcome.getByRole("button", { name: "Stop" })).toBeInTheDocument();
  fake.answers["runs.get"] = () =>
    aDetail({ id: "r1", jobId: null }, { steps: [aStep({ output: { status: 200 }, durationMs: 42 })] });
  fake.emit("run", { runId: "r1", state: "succeeded" });
  expect(await outcome.findByText("Succeeded")).toBeInTheDocument();
  expect(outcome.getByText("no approval needed · 42 ms")).toBeInTheDocument();
  expect(outcome.getByRole("region", { name: "Result" })).toHaveTextContent('"status": 200');
  expect(outcome.getByRole("link", { name: "Open run" })).toHaveAttribute("href", "/runs/r1");
});

test("partial approval tool does not promise to run at once", async () => {
  renderApp("/tools/post", host());
  expect(
    await screen.findByText("Read-only calls run right away. Shows a preview first for other calls."),
  ).toBeInTheDocument();
});

test("engine error shows below the arguments", async () => {
  const fake = host();
  fake.answers["tools.try"] = () =>
    Promise.reject(
      new RpcError(errorCode.invalidParams, "arguments: /url is not a URL", {
        fields: [{ path: "arguments", message: "/url is not a URL" }],
      }),
    );
  const { user } = renderApp("/tools/http", fake);
  await user.type(await screen.findByRole("textbox", { name: "url" }), "nowhere{Enter}");
  expect(await screen.findByText("/url is not a URL")).toBeInTheDocument();
});

test("changing call shows approval and denial", async () => {
  const fake = host();
  const asked = anApproval({
    id: "a1",
    runId: "r1",
    jobId: null,
    jobName: "Trial of http",
    tool: "http",
    preview: "POST https://example.org",
    expiresAtMs: Date.now() + 600_000,
  });
  fake.answers["tools.try"] = () => ({ runId: "r1" });
  fake.answers["runs.get"] = () =>
    aDetail({ id: "r1", jobId: null, state: "awaitingApproval" }, { approvals: [asked] });
  const denied = { ...asked, state: "denied" as const };
  fake.answers["approvals.decide"] = () => {
    fake.answers["runs.get"] = () =>
      aDetail(
        { id: "r1", jobId: null, state: "cancelled", reason: "You denied the call: Not that." },
        {
          approvals: [denied],
          steps: [
            aStep({
              isError: true,
              status: "failed",
              output: "The person denied this call of run_command. Go on without it.",
              gate: { decision: "refused", refusal: { kind: "denied", reason: null }, rewrittenBy: null },
              gateText: "denied by you",
            }),
          ],
        },
      );
    return { applied: true, approval: denied };
  };
  const { user } = renderApp("/tools/http", fake);
  await user.type(await screen.findByRole("textbox", { name: "url" }), "https://example.org{Enter}");
  const card = within(await screen.findByRole("article", { name: /^Approval: http/ }));
  expect(card.getByRole("region", { name: "Preview" })).toHaveTextContent("POST https://example.org");
  for (const name of [/^Always/, /^Allow for this run/])
    expect(card.queryByRole("button", { name })).not.toBeInTheDocument();
  await waitFor(
    async () => {
      await user.click(card.getByRole("button", { name: /^Deny/ }));
      expect(card.getByRole("textbox", { name: "Reason (optional)" })).toBeInTheDocument();
    },
    { timeout: 3_000 },
  );
  await user.keyboard("{Enter}");
  expect(await screen.findByText("You denied the call: Not that.")).toBeInTheDocument();
  expect(screen.queryByText(/Go on without it/)).not.toBeInTheDocument();
  expect(screen.getByText("denied by you · 5 ms")).toBeInTheDocument();
});

test("permission in a trial can be allowed for its task", async () => {
  const fake = host();
  const expiresAtMs = Date.now() + 600_000;
  const asked = aPermission({ id: "a1", runId: "r1", jobId: null, jobName: "Trial of delegate", expiresAtMs });
  fake.answers["tools.try"] = () => ({ runId: "r1" });
  fake.answers["runs.get"] = () =>
    aDetail({ id: "r1", jobId: null, state: "awaitingApproval" }, { approvals: [asked] });
  const { user } = renderApp("/tools/http", fake);
  await user.type(await screen.findByRole("textbox", { name: "url" }), "https://example.org{Enter}");
  const card = within(await screen.findByRole("article", { name: /^Approval: claude-code: Edit today\.md/ }));
  expect(card.getByRole("button", { name: /^Allow for this run/ })).toBeInTheDocument();
  expect(card.queryByRole("button", { name: /^Always/ })).not.toBeInTheDocument();
});

test("trial approval scrolls into view and takes button focus", async () => {
  const fake = host();
  const asks = (id: string) => () =>
    aDetail(
      { id: "r1", jobId: null, state: "awaitingApproval" },
      { approvals: [anApproval({ id, runId: "r1", jobId: null, tool: "http", expiresAtMs: Date.now() + 600_000 })] },
    );
  fake.answers["tools.try"] = () => ({ runId: "r1" });
  fake.answers["runs.get"] = asks("a1");
  const shown = vi.spyOn(Element.prototype, "scrollIntoView");
  const { user } = renderApp("/tools/http", fake);
  await user.type(await screen.findByRole("textbox", { name: "url" }), "https://example.org");
  await user.click(screen.getByRole("button", { name: "Call" }));
  const place = await screen.findByRole("region", { name: "Trial result" });
  expect(shown.mock.contexts).toEqual([place]);
  expect(shown).toHaveBeenCalledWith({ block: "nearest", behavior: "smooth" });
  expect(place).toHaveFocus();

  vi.spyOn(window, "matchMedia").mockImplementation(
    (media) => ({ matches: media === "(prefers-reduced-motion: reduce)" }) as MediaQueryList,
  );
  await user.click(screen.getByRole("textbox", { name: "url" }));
  fake.answers["runs.get"] = asks("a2");
  fake.emit("run", { runId: "r1", state: "awaitingApproval" });
  await waitFor(() => expect(shown).toHaveBeenLastCalledWith({ block: "nearest", behavior: "instant" }));
  expect(screen.getByRole("textbox", { name: "url" })).toHaveFocus();
});

test("trial result scrolls into view and keeps the focus", async () => {
  const fake = host();
  fake.answers["tools.try"] = () => ({ runId: "r1" });
  fake.answers["runs.get"] = () => aDetail({ id: "r1", jobId: null, state: "running", durationMs: null });
  const shown = vi.spyOn(Element.prototype, "scrollIntoView");
  const { user } = renderApp("/tools/http", fake);
  await user.type(await screen.findByRole("textbox", { name: "url" }), "https://example.org");
  await user.click(screen.getByRole("button", { name: "Call" }));
  const place = await screen.findByRole("region", { name: "Trial result" });
  expect(shown).not.toHaveBeenCalled();
  fake.answers["runs.get"] = () => aDetail({ id: "r1", jobId: null }, { steps: [aStep({ output: { status: 200 } })] });
  fake.emit("run", { runId: "r1", state: "succeeded" });
  expect(await within(place).findByRole("region", { name: "Result" })).toBeInTheDocument();
  expect(shown.mock.contexts).toEqual([place]);
  expect(screen.getByRole("button", { name: "Call" })).toHaveFocus();
});

test("turn-only tool offers no trial", async () => {
  renderApp(
    "/tools/complete_run",
    fakeHost({
      "tools.catalog": () => ({ tools: [aTool({ name: "complete_run", canBeTried: false })], refused: [] }),
      "grants.list": () => ({ grants: [] }),
    }),
  );
  expect(await screen.findByRole("heading", { name: "complete_run", level: 1 })).toBeInTheDocument();
  expect(screen.queryByRole("form")).not.toBeInTheDocument();
});

test("unavailable tool shows its reason", async () => {
  const why =
    "This computer cannot confine a command. What is missing: namespaces (no). Ask the kernel. Nothing was run.";
  renderApp(
    "/tools/run_command",
    fakeHost({
      "tools.catalog": () => ({ tools: [aTool({ name: "run_command", unavailableReason: why })], refused: [] }),
    }),
  );
  const facts = within(await screen.findByRole("list", { name: "Properties" }));
  expect(facts.getByText(`Models cannot call it here. ${why}`)).toBeInTheDocument();
});
