import { screen, waitFor, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";

import {
  type ConsentPage,
  errorCode,
  type ExtensionView,
  type InstalledPackage,
  type PackagePlan,
  RpcError,
  type ServerToolsPage,
  type VerifiedFiles,
} from "@/platform";
import { type FakeHost, fakeHost } from "@/test/fakeHost";
import { aDefinition, anExtension, anExtensionDetail, aPackage, aToolsPage } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

type User = ReturnType<typeof renderApp>["user"];

const hash = "12".repeat(32);
const source = { kind: "npm" as const, package: "@x/cal", version: "1.2.4" };

const plan: PackagePlan = {
  source,
  registry: "https://npm.example/",
  steps: [
    {
      program: "/usr/bin/npm",
      arguments: ["install", "--ignore-scripts", "@x/cal@1.2.4", "two words"],
      environment: { HTTPS_PROXY: "http://proxy.example:3128" },
    },
  ],
  folder: "/data/packages/cal",
  notes: ["The installation takes at most 5 min. It runs with your own rights and runs no script of the package."],
};

const server = aDefinition({ command: "/usr/bin/node", arguments: ["{{program of the package}}", "--stdio"] });
const page: ConsentPage = { extension: "cal", server, package: plan, tools: [], hash };

function hostWith(parts: Partial<ConsentPage> = {}, installed?: InstalledPackage) {
  const extensions = installed ? [anExtension()] : [];
  return fakeHost({
    "tools.catalog": () => ({ tools: [], refused: [] }),
    "extensions.list": () => ({ extensions }),
    "extensions.get": () => anExtensionDetail({ extension: { package: installed } }),
    "extensions.preview": () => ({ ...page, ...parts }),
    "extensions.install": () => aToolsPage(),
    "extensions.installStatus": () => ({ step: null }),
  });
}

async function open(user: User, text: string) {
  const [button] = await screen.findAllByRole("button", { name: "Add MCP server" });
  await user.click(button!);
  await user.click(await screen.findByRole("textbox", { name: "Server source" }));
  await user.paste(text);
}

/** Continues to the consent page. */
async function proceed(user: User) {
  await user.click(screen.getByRole("button", { name: "Continue" }));
  return within(await screen.findByRole("dialog", { name: /^(Install|Update) cal\?$/ }));
}

async function accept(user: User) {
  const button = screen.getByRole("button", { name: /^(Install|Update)$/ });
  await waitFor(() => expect(button).toBeEnabled());
  await user.click(button);
}

const kind = (name: string) => screen.getByRole("radio", { name });

test("consent page of a package shows source, commands and rights", async () => {
  const host = hostWith();
  const { user } = renderApp("/tools", host);
  await open(user, "npm:@x/cal@1.2.4");
  expect(kind("npm")).toBeChecked();
  expect(screen.getByRole("textbox", { name: "Name" })).toHaveValue("cal");
  await user.type(screen.getByRole("textbox", { name: "Arguments" }), "--stdio");
  const consent = await proceed(user);
  const facts = within(consent.getByRole("group", { name: "Package" }));
  for (const text of ["@x/cal", "1.2.4", "https://npm.example/", "/data/packages/cal", "Known after the download"])
    expect(facts.getByText(text)).toBeInTheDocument();
  expect(facts.getByRole("region", { name: "Installs with" })).toHaveTextContent(
    "HTTPS_PROXY=http://proxy.example:3128 /usr/bin/npm install --ignore-scripts @x/cal@1.2.4 'two words'",
  );
  expect(facts.getByText(/It runs with your own rights and runs no script/)).toBeInTheDocument();
  expect(consent.getByRole("region", { name: "Command" })).toHaveTextContent("/usr/bin/node PROGRAM --stdio");
  expect(consent.getByText(/stands for the path of the program/)).toBeInTheDocument();
  const labels = consent.getAllByRole("term").map((term) => term.textContent);
  expect(labels.slice(0, 5)).toEqual(["Rights", "Folders", "Hosts", "Secrets", "npm package"]);
  expect(labels.slice(-6)).toEqual(["Installs with", "Command", "Starts in", "Variables", "Start limit", "Call limit"]);
  expect(consent.queryByText("From")).not.toBeInTheDocument();
  const draft = { name: "cal", server: aDefinition({ command: "", arguments: ["--stdio"] }), source };
  expect(host.called("extensions.preview")).toEqual([draft]);
  await accept(user);
  expect(await screen.findByRole("dialog", { name: "Tools of cal" })).toBeInTheDocument();
  expect(host.called("extensions.install")).toEqual([{ ...draft, accept: hash }]);
});

test("facts of a package cannot imitate another line", async () => {
  const bundle = { kind: "mcpb" as const, file: "/a/cal.mcpb", sha256: "0a", config: { dir: ["/a", "/b"] } };
  const odd = { ...plan, source: bundle, claims: "Cal\nVersion 9\u202e", size: { files: 12, bytes: 1_500_000 } };
  const { user } = renderApp("/tools", hostWith({ package: odd }));
  await open(user, "/a/cal.mcpb");
  expect(kind("Bundle")).toBeChecked();
  expect(screen.getByRole("textbox", { name: "Settings" })).toBeInTheDocument();
  const facts = within((await proceed(user)).getByRole("group", { name: "Package" }));
  expect(facts.getByText("Claims to be").nextElementSibling).toHaveTextContent("Cal⟨U+000A⟩Version 9⟨U+202E⟩");
  expect(facts.getByText("dir=/b")).toBeInTheDocument();
  expect(facts.getByText("Registry").nextElementSibling).toHaveTextContent("https://npm.example/");
  expect(facts.getByText(/^12 files, /)).toBeInTheDocument();
});

test("command that loads a package offers its installation", async () => {
  const host = hostWith();
  const { user } = renderApp("/tools", host);
  await open(user, "KEY=x npx -y @x/cal@1.2.4 --stdio");
  expect(kind("Command")).toBeChecked();
  await user.click(screen.getByRole("button", { name: "Install from npm" }));
  expect(kind("npm")).toBeChecked();
  expect(screen.getByRole("textbox", { name: "Server source" })).toHaveValue("npm:@x/cal@1.2.4");
  expect(screen.getByRole("textbox", { name: "Arguments" })).toHaveValue("--stdio");
  expect(screen.getByRole("textbox", { name: "Variables" })).toHaveValue("KEY=x");
  expect(screen.queryByRole("button", { name: "Install from npm" })).not.toBeInTheDocument();
});

test("offer without a version names the way to find one", async () => {
  const { user } = renderApp("/tools", hostWith());
  await open(user, "npx @x/cal");
  expect(screen.getByText("npm view @x/cal versions", { selector: "code" })).toBeInTheDocument();
});

test("detected kind can be corrected", async () => {
  const { user } = renderApp("/tools", hostWith());
  await open(user, "/srv/dev");
  expect(kind("Command")).toBeChecked();
  await user.click(kind("Folder"));
  await user.click(screen.getByRole("button", { name: "Continue" }));
  const command = screen.getByRole("textbox", { name: "Command" });
  expect(command).toBeInvalid();
  await user.type(command, "node main.js");
  await proceed(user);
  await user.click(screen.getByRole("button", { name: "Back" }));
  expect(kind("Folder")).toBeChecked();
  await user.clear(screen.getByRole("textbox", { name: "Server source" }));
  expect(kind("Command")).toBeChecked();
});

test("pasted entry of the registry fills in the package", async () => {
  const { user } = renderApp("/tools", hostWith());
  const variables = [{ name: "ZONE", isRequired: true }];
  const npm = { registryType: "npm", identifier: "@x/cal", version: "1.2.4", environmentVariables: variables };
  await open(user, JSON.stringify({ name: "io.example/cal", packages: [npm] }));
  expect(screen.getByRole("textbox", { name: "Server source" })).toHaveValue("npm:@x/cal@1.2.4");
  expect(screen.getByRole("textbox", { name: "Name" })).toHaveValue("cal");
  expect(screen.getByRole("textbox", { name: "Variables" })).toHaveValue("ZONE=");
  expect(screen.getByText(/The variable ZONE needs a value\./)).toBeInTheDocument();
});

test("unusable document stays with its reason", async () => {
  const host = hostWith();
  const { user } = renderApp("/tools", host);
  await open(user, JSON.stringify({ packages: [{ registryType: "oci", identifier: "x/cal" }] }));
  await user.type(screen.getByRole("textbox", { name: "Name" }), "cal");
  await user.click(screen.getByRole("button", { name: "Continue" }));
  expect(screen.getByText(/x\/cal is of the type oci\./)).toBeInTheDocument();
  expect(host.called("extensions.preview")).toEqual([]);
});

test.each([
  [
    "npm:@x/cal",
    "source",
    "@x/cal has no version. `npm view @x/cal version` prints it.",
    "Server source",
    /^@x\/cal has no version\./,
  ],
  [
    "/a/cal.mcpb",
    "source",
    "The bundle needs the setting key. Write --config key=VALUE",
    "Settings",
    /Write key=VALUE\.$/,
  ],
])("problem of %s shows at its field", async (text, path, message, field, shown) => {
  const host = hostWith();
  host.answers["extensions.preview"] = () =>
    Promise.reject(new RpcError(errorCode.invalidParams, "invalid", { fields: [{ path, message }] }));
  const { user } = renderApp("/tools", host);
  await open(user, text);
  await user.click(screen.getByRole("button", { name: "Continue" }));
  await waitFor(() => expect(screen.getByRole("textbox", { name: field })).toBeInvalid());
  expect(screen.getByRole("textbox", { name: field })).toHaveAccessibleDescription(shown);
});

/** Host whose installation ends by `end`. */
function installing(host: FakeHost) {
  let settle: { resolve: (page: ServerToolsPage) => void; reject: (error: Error) => void } | undefined;
  host.answers["extensions.install"] = () => new Promise((resolve, reject) => (settle = { resolve, reject }));
  return { end: (page: ServerToolsPage) => settle?.resolve(page), fail: (error: Error) => settle?.reject(error) };
}

test("installation shows its step until the server starts", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  try {
    const host = hostWith();
    const install = installing(host);
    let step: string | null = "npm: added 12 packages\u202e";
    host.answers["extensions.installStatus"] = () => ({ step });
    const { user } = renderApp("/tools", host);
    await open(user, "npm:@x/cal@1.2.4");
    await proceed(user);
    await accept(user);
    const dialog = within(await screen.findByRole("dialog", { name: "Installing cal" }));
    expect(dialog.getByRole("status")).toHaveTextContent("Installing cal …");
    await waitFor(() => expect(screen.getByRole("dialog")).toHaveTextContent("npm: added 12 packages⟨U+202E⟩"));
    step = null;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(dialog.getByRole("status")).toHaveTextContent("Starting cal …");
    expect(dialog.getByRole("button", { name: "Cancel installation" })).toBeDisabled();
    install.end(aToolsPage());
    expect(await screen.findByRole("dialog", { name: "Tools of cal" })).toBeInTheDocument();
    const asked = host.called("extensions.installStatus").length;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(host.called("extensions.installStatus")).toHaveLength(asked);
  } finally {
    vi.useRealTimers();
  }
});

test("cancelled installation returns to the page", async () => {
  const host = hostWith();
  const install = installing(host);
  host.answers["extensions.installStatus"] = () => ({ step: "running npm" });
  host.answers["extensions.cancelInstall"] = () => {
    host.answers["extensions.installStatus"] = () => ({ step: null });
    install.fail(new RpcError(errorCode.conflict, "The installation was cancelled. Nothing was changed."));
    return { changed: true };
  };
  const { user } = renderApp("/tools", host);
  await open(user, "npm:@x/cal@1.2.4");
  await proceed(user);
  await accept(user);
  const cancel = await screen.findByRole("button", { name: "Cancel installation" });
  await waitFor(() => expect(cancel).toBeEnabled());
  await user.click(cancel);
  expect(await screen.findByRole("alert")).toHaveTextContent("The installation was cancelled. Nothing was changed.");
  expect(host.called("extensions.cancelInstall")).toEqual([{ name: "cal" }]);
  expect(screen.getByRole("group", { name: "Package" })).toBeInTheDocument();
});

test("installation from elsewhere can be cancelled", async () => {
  const host = hostWith();
  host.answers["extensions.install"] = () =>
    Promise.reject(new RpcError(errorCode.conflict, "cal is being installed. Wait for its end, or cancel it."));
  host.answers["extensions.installStatus"] = () => ({ step: "running npm" });
  host.answers["extensions.cancelInstall"] = () => ({ changed: true });
  const { user } = renderApp("/tools", host);
  await open(user, "npm:@x/cal@1.2.4");
  await proceed(user);
  await accept(user);
  await user.click(await screen.findByRole("button", { name: "Cancel the running installation" }));
  await waitFor(() => expect(host.called("extensions.cancelInstall")).toEqual([{ name: "cal" }]));
});

const cal = async () => within(await screen.findByRole("region", { name: "cal" }));

async function act(user: User, entry: string) {
  const region = await cal();
  await region.findByText(/^(npm package @|Folder \/)/);
  await user.click(region.getByRole("button", { name: "More actions of cal" }));
  await user.click(await screen.findByRole("menuitem", { name: entry }));
  return region;
}

test("server shows its package with version and files", async () => {
  const { user } = renderApp("/tools", hostWith({}, aPackage({ components: ["cal==1.2.3", "dep==2.0"] })));
  const region = await cal();
  expect(await region.findByText("npm package @x/cal 1.2.3")).toBeInTheDocument();
  await user.click(region.getByRole("button", { name: /^Details/ }));
  expect(region.getByText(/^812 files, /)).toBeInTheDocument();
  for (const text of ["sha512-x", "dep==2.0"]) expect(region.getByText(text)).toBeInTheDocument();
  expect(region.queryByText(/^Used in place\./)).not.toBeInTheDocument();
});

test("server without a package has no check and no update", async () => {
  const host = hostWith();
  host.answers["extensions.list"] = () => ({ extensions: [anExtension()] });
  const { user } = renderApp("/tools", host);
  const region = await cal();
  await region.findByText("No accepted tools.");
  await user.click(region.getByRole("button", { name: "More actions of cal" }));
  expect(await screen.findByRole("menuitem", { name: "Change" })).toBeInTheDocument();
  expect(screen.queryByRole("menuitem", { name: "Check files" })).not.toBeInTheDocument();
  expect(screen.queryByRole("menuitem", { name: "Update…" })).not.toBeInTheDocument();
});

function verified(parts: Partial<VerifiedFiles>): VerifiedFiles {
  return { name: "cal", files: 812, changes: [], problem: null, ...parts };
}

test("check of unchanged files says so", async () => {
  const host = hostWith({}, aPackage());
  host.answers["extensions.verify"] = () => ({ extensions: [verified({})] });
  const { user } = renderApp("/tools", host);
  const region = await act(user, "Check files");
  expect(await region.findByText("All 812 files are as you accepted them.")).toBeInTheDocument();
  expect(host.called("extensions.verify")).toEqual([{ name: "cal" }]);
  await user.click(region.getByRole("button", { name: "Dismiss the check of cal" }));
  expect(region.queryByText(/as you accepted/)).not.toBeInTheDocument();
});

test("drift names the changed files and leads to the update", async () => {
  const host = hostWith({}, aPackage());
  const changes = [
    { path: "dist/a\n.js", change: "changed" as const },
    { path: "b.js", change: "extra" as const },
    ...Array.from({ length: 120 }, (_, i) => ({ path: `gone/${i}.js`, change: "missing" as const })),
  ];
  host.answers["extensions.verify"] = () => ({ extensions: [verified({ changes })] });
  const { user } = renderApp("/tools", host);
  const region = await act(user, "Check files");
  const alert = within(await region.findByRole("alert"));
  expect(alert.getByText(/^122 files differ from the 812 accepted files\./)).toBeInTheDocument();
  const rows = within(alert.getByRole("list", { name: "Changed files of cal" })).getAllByRole("listitem");
  expect(rows[0]).toHaveTextContent("dist/a⟨U+000A⟩.js (changed)");
  expect(rows[1]).toHaveTextContent("b.js (not in the package)");
  expect(rows.at(-1)).toHaveTextContent("and 22 other files");
  await user.click(alert.getByRole("button", { name: "Update cal" }));
  expect(await screen.findByRole("textbox", { name: "Version" })).toHaveValue("1.2.3");
});

test("files that cannot be compared show the reason", async () => {
  const host = hostWith({}, aPackage());
  const problem = "The list of its files `files.sha256` is not the accepted list.";
  host.answers["extensions.verify"] = () => ({ extensions: [verified({ problem })] });
  const { user } = renderApp("/tools", host);
  const region = await act(user, "Check files");
  expect(await region.findByRole("alert")).toHaveTextContent("files.sha256 is not the accepted list.");
});

test("update asks for the version and shows the difference", async () => {
  const replaced = aDefinition({ command: "/usr/bin/node", arguments: ["/data/cal.js", "--stdio"] });
  const installed = aPackage();
  const host = hostWith(
    { replaces: replaced, package: { ...plan, replaces: { ...source, version: "1.2.3" } } },
    installed,
  );
  const { user } = renderApp("/tools", host);
  await act(user, "Update…");
  const version = await screen.findByRole("textbox", { name: "Version" });
  expect(version).toHaveAccessibleDescription(/^Installed: npm package @x\/cal 1\.2\.3\./);
  await user.clear(version);
  expect(screen.getByRole("button", { name: "Continue" })).toBeDisabled();
  await user.type(version, "1.2.4");
  const consent = await proceed(user);
  expect(consent.getByText("npm package @x/cal 1.2.3")).toBeInTheDocument();
  const before = within(consent.getByRole("group", { name: "Installed now" }));
  expect(before.getByRole("region", { name: "Command" })).toHaveTextContent("/data/cal.js");
  await accept(user);
  expect(await screen.findByRole("dialog", { name: "Tools of cal" })).toBeInTheDocument();
  const draft = { name: "cal", server: installed.draft, source };
  expect(host.called("extensions.install")).toEqual([{ ...draft, accept: hash }]);
});

/** Updates the package; the answer has these changes. */
async function update(host: FakeHost, parts: Partial<ServerToolsPage>) {
  host.answers["extensions.install"] = () => aToolsPage(parts);
  const { user } = renderApp("/tools", host);
  await act(user, "Update…");
  await screen.findByRole("textbox", { name: "Version" });
  await proceed(user);
  await accept(user);
  return { user, dialog: within(await screen.findByRole("dialog", { name: "Tools of cal" })) };
}

test("update counts and lists the changed packages inside", async () => {
  const componentChanges = ["removed dep@1.0.0", "added dep@1.1.0\nadded x@1"];
  const { user, dialog } = await update(hostWith({}, aPackage()), { componentChanges });
  const heading = dialog.getByRole("button", { name: "Packages inside 2 changes by the update" });
  expect(heading).toHaveAttribute("aria-expanded", "false");
  await user.click(heading);
  const rows = within(dialog.getByRole("list", { name: "Changed packages inside" })).getAllByRole("listitem");
  expect(rows.map((row) => row.textContent)).toEqual(["removed dep@1.0.0", "added dep@1.1.0⟨U+000A⟩added x@1"]);
});

test("update says that the packages inside are the same", async () => {
  const { dialog } = await update(hostWith({}, aPackage()), { componentChanges: [] });
  expect(dialog.getByText("The packages inside are the same as before.")).toBeInTheDocument();
});

test("page of tools without an update names no packages inside", async () => {
  const { dialog } = await update(hostWith({}, aPackage()), {});
  expect(dialog.getByText("No tool of cal waits for you.")).toBeInTheDocument();
  expect(dialog.queryByText(/packages inside/i)).not.toBeInTheDocument();
});

test("changed packages stay if the updated server fails", async () => {
  const host = hostWith({}, aPackage());
  const { user, dialog } = await update(host, { componentChanges: ["added x@1"], error: "cal did not start." });
  const name = "Packages inside 1 change by the update";
  expect(dialog.getByRole("button", { name })).toBeInTheDocument();
  host.answers["extensions.review"] = () => aToolsPage();
  await user.click(dialog.getByRole("button", { name: "Try again" }));
  expect(await dialog.findByText("No tool of cal waits for you.")).toBeInTheDocument();
  expect(dialog.getByRole("button", { name })).toBeInTheDocument();
});

test("refused version shows at the field", async () => {
  const host = hostWith({}, aPackage());
  const fields = [{ path: "source", message: "`latest` is no exact version of @x/cal." }];
  host.answers["extensions.preview"] = () =>
    Promise.reject(new RpcError(errorCode.invalidParams, "invalid", { fields }));
  const { user } = renderApp("/tools", host);
  await act(user, "Update…");
  await user.type(await screen.findByRole("textbox", { name: "Version" }), "x");
  await user.click(screen.getByRole("button", { name: "Continue" }));
  await waitFor(() => expect(screen.getByRole("textbox", { name: "Version" })).toBeInvalid());
  expect(screen.getByText(/is no exact version of @x\/cal\./)).toBeInTheDocument();
});

test("update of a folder shows its changed files", async () => {
  const folder = { kind: "folder" as const, path: "/srv/1.2.3", sha256: "0a" };
  const files = [
    { path: "a\n.js", change: "changed" as const },
    { path: "b.js", change: "extra" as const },
  ];
  const update: PackagePlan = {
    ...plan,
    source: { ...folder, sha256: "0b" },
    replaces: folder,
    changes: { files, others: 3 },
    size: { files: 5, bytes: 10 },
  };
  const host = hostWith({ replaces: server, package: update }, aPackage({ source: folder }));
  const { user } = renderApp("/tools", host);
  await act(user, "Update…");
  expect(await screen.findByText(/^Rouse reads the folder again/)).toBeInTheDocument();
  const consent = await proceed(user);
  for (const line of ["SHA-256 0a", "0b", "changed a⟨U+000A⟩.js", "added b.js", "and 3 more"])
    expect(
      consent.getByText((_, element) => element?.tagName === "CODE" && element.textContent === line),
    ).toBeVisible();
  expect(host.called("extensions.preview")).toEqual([
    { name: "cal", server: aPackage().draft, source: { kind: "folder", path: "/srv/1.2.3" } },
  ]);
});

test("details of a folder say that it is used in place", async () => {
  const folder = { kind: "folder" as const, path: "/srv/cal", sha256: "0a" };
  const { user } = renderApp("/tools", hostWith({}, aPackage({ source: folder })));
  const region = await cal();
  await user.click(region.getByRole("button", { name: /^Details/ }));
  expect(await region.findByText(/^Used in place\./)).toBeInTheDocument();
});

test("change of a package begins with what was installed", async () => {
  const { user } = renderApp("/tools", hostWith({}, aPackage()));
  await act(user, "Change");
  expect(await screen.findByRole("textbox", { name: "Server source" })).toHaveValue("npm:@x/cal@1.2.3");
  expect(kind("npm")).toBeChecked();
  expect(screen.getByRole("textbox", { name: "Arguments" })).toHaveValue("--stdio");
});

/** Host with a quarantined server. */
function quarantined(parts: Partial<ExtensionView>) {
  const host = hostWith({}, aPackage());
  const extension = anExtension({ state: "quarantined", label: "quarantined", reason: "a.js is changed.", ...parts });
  host.answers["extensions.list"] = () => ({ extensions: [extension] });
  return host;
}

test.each([
  [0, 0, true],
  [2, 0, false],
  [2, 1, true],
])("quarantine with held: %i, accepted: %i is drift: %s", async (held, accepted, hasDrift) => {
  renderApp("/tools", quarantined({ held, accepted }));
  const region = await cal();
  await region.findByText("npm package @x/cal 1.2.3");
  expect(region.getByText("a.js is changed.").classList.contains("error")).toBe(hasDrift);
  for (const name of ["Check files of cal", "Update cal"])
    expect(region.queryAllByRole("button", { name })).toHaveLength(hasDrift ? 1 : 0);
});

test("drift of a start leads to the check and the update", async () => {
  const host = quarantined({});
  host.answers["extensions.verify"] = () => ({
    extensions: [verified({ changes: [{ path: "a.js", change: "changed" }] })],
  });
  const { user } = renderApp("/tools", host);
  const region = await cal();
  await user.click(await region.findByRole("button", { name: "Check files of cal" }));
  expect(await region.findByRole("list", { name: "Changed files of cal" })).toHaveTextContent("a.js (changed)");
  expect(host.called("extensions.verify")).toEqual([{ name: "cal" }]);
  await user.click(region.getByRole("button", { name: "Update cal" }));
  expect(await screen.findByRole("textbox", { name: "Version" })).toHaveValue("1.2.3");
});
