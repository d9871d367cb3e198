import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { errorCode, RpcError } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import {
  aBuild,
  aBuildDetail,
  aBuildSummary,
  aDetail,
  aServerTool,
  aToolsPage,
  installedHash,
  newestHash,
} from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const folder = "/home/ada/tools/weather";
const pageHash = "99".repeat(32);
const address = "/tools/built/weather";

function hostWith(detail = aBuildDetail()) {
  return fakeHost({
    "tools.catalog": () => ({ tools: [], refused: [] }),
    "tools.source": () => detail,
    "tools.check": () => aBuild(),
    "extensions.preview": ({ name, server }) => ({ extension: name, server, tools: [], hash: pageHash }),
    "extensions.install": () => aToolsPage({ page: { extension: "weather" } }),
  });
}

const press = async (user: ReturnType<typeof renderApp>["user"], name: string) =>
  user.click(await screen.findByRole("button", { name }));

test("page shows permissions, tests and whole source", async () => {
  const script = `${"line\n".repeat(40)}end\u202e ⟨U+0041⟩`;
  const build = {
    tests: [
      { name: "sunny city", passed: true, log: ["asked\u202e"] },
      { name: "no city", passed: false, message: "The result is `{}`.", log: [] },
    ],
    files: [
      { path: "tool.js", text: script, bytes: 220 },
      { path: "engine.wasm", bytes: 2_000 },
    ],
  };
  const host = hostWith(aBuildDetail({ build }));
  const { user } = renderApp(address, host);
  expect(await screen.findByRole("region", { name: "Source" })).toBeInTheDocument();
  for (const text of ["It may reach api.example.com only.", "api.example.com", "WEATHER_KEY", "wasmtime 38.0.3"])
    expect(screen.getByText(text)).toBeInTheDocument();
  expect(screen.getByText("abababababab")).toHaveAttribute("title", newestHash);
  const tests = within(screen.getByRole("list", { name: "Tests of weather" })).getAllByRole("listitem");
  expect(tests[0]).toHaveTextContent("Passed:sunny cityasked⟨U+202E⟩");
  expect(tests[1]).toHaveTextContent("Failed:no cityThe result is {}.");
  expect(screen.getByText("1 of 2 tests passed")).toBeInTheDocument();
  const source = screen.getByRole("region", { name: "tool.js" });
  expect(source).toHaveTextContent("end⟨U+202E⟩ ⟨U+27E8⟩U+0041⟩");
  expect(screen.getByText("A binary file, which cannot be shown.")).toBeInTheDocument();
  await press(user, "Copy tool.js");
  expect(host.copyText).toHaveBeenCalledWith(script);
});

test("many source files start collapsed", async () => {
  const files = ["a.rs", "b.rs", "c.rs", "d.rs"].map((path) => ({ path, text: `// ${path}`, bytes: 7 }));
  const { user } = renderApp(address, hostWith(aBuildDetail({ build: { files } })));
  const toggle = await screen.findByRole("button", { name: /^b\.rs/ });
  expect(toggle).toHaveAttribute("aria-expanded", "false");
  await user.click(toggle);
  expect(await screen.findByRole("region", { name: "b.rs" })).toHaveTextContent("// b.rs");
});

test("version without a manifest shows its errors", async () => {
  const build = { manifest: null, errors: ["`hosts` is missing.\u202e"], tests: [], state: "failed" } as const;
  renderApp(
    address,
    hostWith(aBuildDetail({ build: { ...build, errors: [...build.errors], tests: [] }, reach: null })),
  );
  const errors = within(await screen.findByRole("list", { name: "Errors" }));
  expect(errors.getByRole("listitem")).toHaveTextContent("hosts is missing.⟨U+202E⟩");
  expect(screen.getByText("Unknown, because the manifest cannot be read.")).toBeInTheDocument();
  expect(screen.getByText("No test ran.")).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Install…" })).not.toBeInTheDocument();
});

test("chosen version is read by its hash", async () => {
  const older = aBuildSummary({ hash: installedHash, version: "1.0.0", state: "accepted" });
  const host = hostWith(aBuildDetail({ versions: [aBuildSummary(), older] }));
  const { user, path } = renderApp(address, host);
  await screen.findByText("Shown on this page");
  const { build } = aBuildDetail({ build: { hash: installedHash, state: "accepted" } });
  host.answers["tools.source"] = () => aBuildDetail({ build, versions: [aBuildSummary(), older], folder: null });
  host.answers["tools.catalog"] = () => ({ tools: [aServerTool("now")], refused: [] });
  await user.click(screen.getByRole("link", { name: "weather, version 1.0.0" }));
  expect(await screen.findByText("This is an earlier version.")).toBeInTheDocument();
  expect(path()).toBe(`${address}?hash=${installedHash}`);
  expect(host.called("tools.source").at(-1)).toEqual({ name: "weather", hash: installedHash });
  expect(screen.getByRole("link", { name: "Show the installed tool" })).toHaveAttribute("href", "/tools#mcp-servers");
  await user.click(screen.getByRole("link", { name: "Show newest" }));
  await waitFor(() => expect(path()).toBe(address));
});

test("number as a hash shows the newest version", async () => {
  const host = hostWith();
  renderApp(`${address}?hash=${"1".repeat(64)}`, host);
  expect(await screen.findByRole("region", { name: "Source" })).toBeInTheDocument();
  expect(host.called("tools.source").at(-1)).toEqual({ name: "weather" });
});

test("installed version links to its tool", async () => {
  const host = hostWith(aBuildDetail({ build: { state: "accepted", isTainted: true } }));
  const origin = { extension: "weather", rawName: "weather", hash: newestHash };
  host.answers["tools.catalog"] = () => ({ tools: [aServerTool("x", { name: "weather_now", origin })], refused: [] });
  renderApp(address, host);
  expect(await screen.findByRole("link", { name: "weather_now" })).toHaveAttribute("href", "/tools/weather_now");
  expect(screen.queryByRole("button", { name: "Install…" })).not.toBeInTheDocument();
  expect(screen.queryByText(/^From untrusted input/)).not.toBeInTheDocument();
});

test("version from untrusted input is marked", async () => {
  renderApp(address, hostWith(aBuildDetail({ build: { isTainted: true } })));
  expect(await screen.findByText(/^From untrusted input: .*Read the source/)).toBeInTheDocument();
});

test("read version is checked, then accepted by its page", async () => {
  const host = hostWith();
  const { user } = renderApp(address, host);
  await press(user, "Install…");
  const dialog = within(await screen.findByRole("dialog", { name: "Install weather?" }));
  expect(host.called("tools.check")).toEqual([{ folder }]);
  const draft = {
    name: "weather",
    server: { transport: { kind: "wasm", hosts: [], secrets: [], files: "none" } },
    source: { kind: "tool", path: folder },
  };
  expect(host.called("extensions.preview")).toEqual([draft]);
  expect(host.called("extensions.install")).toEqual([]);
  const install = dialog.getByRole("button", { name: "Install" });
  await waitFor(() => expect(install).toBeEnabled());
  await user.click(install);
  await screen.findByRole("dialog", { name: "Tools of weather" });
  expect(host.called("extensions.install")).toEqual([{ ...draft, accept: pageHash }]);
});

test("step back shows the check and continues again", async () => {
  const host = hostWith();
  const { user } = renderApp(address, host);
  await press(user, "Install…");
  await screen.findByRole("dialog", { name: "Install weather?" });
  await press(user, "Back");
  expect(await screen.findByText(/^weather passed its check\./)).toBeInTheDocument();
  await press(user, "Continue");
  expect(await screen.findByRole("dialog", { name: "Install weather?" })).toBeInTheDocument();
});

test("changed version is not offered for installation", async () => {
  const host = hostWith();
  host.answers["tools.check"] = () => aBuild({ hash: installedHash });
  const { user } = renderApp(address, host);
  await press(user, "Install…");
  const dialog = within(await screen.findByRole("dialog", { name: "Install weather" }));
  expect(await dialog.findByText(/^The files have changed since/)).toBeInTheDocument();
  expect(dialog.queryByRole("button", { name: "Continue" })).not.toBeInTheDocument();
  expect(host.called("extensions.preview")).toEqual([]);
});

test("failed check can be tried again", async () => {
  const host = hostWith();
  host.answers["tools.check"] = () => Promise.reject(new RpcError(errorCode.conflict, "The folder is gone."));
  const { user } = renderApp(address, host);
  await press(user, "Install…");
  expect(await screen.findByRole("alert")).toHaveTextContent("The folder is gone.");
  host.answers["tools.check"] = () => aBuild();
  await press(user, "Try again");
  expect(await screen.findByRole("dialog", { name: "Install weather?" })).toBeInTheDocument();
});

test("change opens the build dialog with the tool", async () => {
  const host = hostWith();
  host.answers["tools.build"] = () => ({ jobId: "job-7", runId: "run-7" });
  host.answers["runs.get"] = () => aDetail({ id: "run-7" });
  const { user, path } = renderApp(address, host);
  await press(user, "Change");
  await user.type(await screen.findByRole("textbox", { name: "What should change?" }), "Add the wind.");
  await press(user, "Start");
  await waitFor(() => expect(path()).toBe("/runs/run-7"));
  expect(host.called("tools.build")).toEqual([{ task: "Add the wind.", tool: "weather" }]);
});

test("newer version keeps the typed change", async () => {
  const host = hostWith();
  const { user } = renderApp(address, host);
  await press(user, "Change");
  const task = await screen.findByRole("textbox", { name: "What should change?" });
  await user.type(task, "Add the wind.");
  host.answers["tools.source"] = () => aBuildDetail({ build: { hash: installedHash, state: "failed" } });
  host.emit("config", { toolBuilds: "weather" });
  await screen.findByText("Failed");
  expect(screen.getByRole("textbox", { name: "What should change?" })).toHaveValue("Add the wind.");
});

test("removal is confirmed and keeps its error", async () => {
  const host = hostWith();
  host.answers["tools.removeBuilds"] = () => Promise.reject(new RpcError(errorCode.conflict, "A build is running."));
  const { user, path } = renderApp(address, host);
  await press(user, "Remove versions…");
  const dialog = within(await screen.findByRole("alertdialog", { name: "Remove the versions of “weather”?" }));
  expect(host.called("tools.removeBuilds")).toEqual([]);
  await user.click(dialog.getByRole("button", { name: "Remove" }));
  expect(await dialog.findByRole("alert")).toHaveTextContent("A build is running.");
  host.answers["tools.removeBuilds"] = () => ({ changed: true });
  await user.click(dialog.getByRole("button", { name: "Remove" }));
  await waitFor(() => expect(path()).toBe("/tools"));
  expect(host.called("tools.removeBuilds")).toEqual([{ name: "weather" }, { name: "weather" }]);
});

test.each([
  [errorCode.notFound, "Built tool not found"],
  [errorCode.conflict, "Could not load the built tool."],
])("error %i of the page shows its state", async (code, title) => {
  const host = hostWith();
  host.answers["tools.source"] = () => Promise.reject(new RpcError(code, "No such version."));
  renderApp(address, host);
  expect(await screen.findByText(title)).toBeInTheDocument();
});

test("device with read access gets no actions", async () => {
  const host = hostWith();
  host.device = () => ({ name: "phone", scope: "read" });
  renderApp(address, host);
  expect(await screen.findByRole("region", { name: "Source" })).toBeInTheDocument();
  for (const name of ["Install…", "Change", "Remove versions…"])
    expect(screen.queryByRole("button", { name })).not.toBeInTheDocument();
});
