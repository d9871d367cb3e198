import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { errorCode, RpcError, type SkillPage, type SkillView } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aConfig } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

type User = ReturnType<typeof renderApp>["user"];

const registry = "https://skills.example.org";
const hash = "ab".repeat(32);

function aPage(parts: Partial<SkillPage> = {}): SkillPage {
  return {
    path: "/home/ada/notes.zip",
    name: "notes",
    description: "Writes notes.",
    requires: ["variable NOTES_TOKEN", "program jq"],
    text: "---\nname: notes\n---\nWrite\u202e notes.",
    files: [
      { path: "SKILL.md", bytes: 40 },
      { path: "a\nb.sh", bytes: 1_200 },
    ],
    replaces: null,
    isOwn: false,
    hash,
    ...parts,
  };
}

function aSkill(parts: Partial<SkillView> = {}): SkillView {
  return {
    name: "notes",
    description: "Writes notes.",
    trust: "trusted",
    isInstalled: true,
    path: "/s/installed/notes",
    problem: null,
    body: "Write notes.",
    files: [],
    tools: null,
    digest: hash,
    usedBy: [],
    ...parts,
  };
}

function hostWith(page: SkillPage = aPage(), address: string | null = registry) {
  let skills: SkillView[] = [];
  return fakeHost({
    "tools.catalog": () => ({ tools: [], refused: [] }),
    "config.get": () => aConfig({ registries: { servers: null, skills: address } }),
    "config.patch": () => aConfig({ registries: { servers: null, skills: registry } }),
    "skills.list": () => ({ skills, ownFolder: "/s", installedFolder: "/s/installed" }),
    "skills.preview": () => page,
    "skills.install": () => {
      skills = [aSkill()];
      return aSkill();
    },
  });
}

async function open(user: User) {
  await user.click(await screen.findByRole("button", { name: "Add skill" }));
  return within(await screen.findByRole("dialog", { name: "Add skill" }));
}

async function read(user: User, path = "~/notes.zip") {
  await open(user);
  await user.type(screen.getByRole("textbox", { name: "Path" }), `${path}{Enter}`);
  return within(await screen.findByRole("dialog", { name: /^(Install|Update) notes\?$/ }));
}

async function accept(user: User) {
  const button = screen.getByRole("button", { name: /^(Install|Update)$/ });
  await waitFor(() => expect(button).toBeEnabled());
  await user.click(button);
}

test("skill is installed with the hash of its page", async () => {
  const host = hostWith();
  const { user } = renderApp("/tools", host);
  const page = await read(user);
  expect(host.called("skills.preview")).toEqual([{ path: "/home/ada/notes.zip" }]);
  for (const text of ["Writes notes.", "variable NOTES_TOKEN", "program jq", hash])
    expect(page.getByText(text)).toBeInTheDocument();
  const files = within(page.getByRole("list", { name: "Files of the skill" })).getAllByRole("listitem");
  expect(files.map((file) => file.textContent)).toEqual(["SKILL.md (40 bytes)", "a⟨U+000A⟩b.sh (1.2 kB)"]);
  expect(page.getByRole("region", { name: "SKILL.md" })).toHaveTextContent("Write⟨U+202E⟩ notes.");
  expect(page.queryByText("Replaces")).not.toBeInTheDocument();
  expect(host.called("skills.install")).toEqual([]);
  await accept(user);
  await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
  expect(host.called("skills.install")).toEqual([{ path: "/home/ada/notes.zip", hash }]);
  expect(await screen.findByRole("button", { name: "View notes" })).toBeInTheDocument();
});

test("changed files are refused and read again", async () => {
  const host = hostWith();
  host.answers["skills.install"] = () =>
    Promise.reject(new RpcError(errorCode.conflict, "The files have changed. Read the page again."));
  const { user } = renderApp("/tools", host);
  await read(user);
  await accept(user);
  expect(await screen.findByRole("alert")).toHaveTextContent("The files have changed.");
  host.answers["skills.preview"] = () => aPage({ hash: "cd".repeat(32), description: "Writes other notes." });
  await user.click(screen.getByRole("button", { name: "Read again" }));
  expect(await screen.findByText("Writes other notes.")).toBeInTheDocument();
  expect(screen.queryByRole("alert")).not.toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Back" }));
  expect(screen.getByRole("textbox", { name: "Path" })).toHaveValue("~/notes.zip");
});

test.each([
  ["cd".repeat(32), "The installed skill with the hash"],
  [hash, "whose content is the same"],
  ["unreadable", "which Rouse cannot read"],
])("page with the installed hash %s names the replaced skill", async (replaces, text) => {
  const { user } = renderApp("/tools", hostWith(aPage({ replaces, requires: [] })));
  const page = await read(user);
  expect(page.getByText("Replaces").nextElementSibling).toHaveTextContent(text);
  expect(page.getByText("No variables or programs")).toBeInTheDocument();
  expect(page.getByRole("button", { name: "Update" })).toBeInTheDocument();
});

test("name of an own skill cannot be installed", async () => {
  const { user } = renderApp("/tools", hostWith(aPage({ isOwn: true })));
  const page = await read(user);
  expect(page.getByText(/^One of your own skills has this name\./)).toBeInTheDocument();
  expect(page.getByRole("button", { name: "Install" })).toBeDisabled();
});

test("problem of a path shows at the field", async () => {
  const host = hostWith();
  host.answers["skills.preview"] = () => Promise.reject(new RpcError(errorCode.conflict, "`/s/x` has no SKILL.md."));
  const { user } = renderApp("/tools", host);
  const dialog = await open(user);
  const path = dialog.getByRole("textbox", { name: "Path" });
  expect(dialog.getByRole("button", { name: "Continue" })).toBeDisabled();
  await user.type(path, "notes.zip{Enter}");
  expect(path).toHaveAccessibleDescription(/^Write the absolute path/);
  expect(host.called("skills.preview")).toEqual([]);
  await user.clear(path);
  await user.type(path, "/s/x/{Enter}");
  await waitFor(() => expect(path).toHaveAccessibleDescription("/s/x has no SKILL.md."));
});

test("skill of the registry is downloaded and read", async () => {
  const host = hostWith(aPage(), null);
  const skill = { slug: "ada/notes", name: "Notes\u202e", description: "Writes notes.", version: "1.0.2" };
  host.answers["skills.search"] = () => ({ registry, skills: [skill] });
  host.answers["skills.download"] = () => ({ path: "/data/downloads/notes.zip", warning: "Reported as spam." });
  const { user } = renderApp("/tools", host);
  const dialog = await open(user);
  await user.click(dialog.getByRole("radio", { name: "Registry" }));
  await user.type(await dialog.findByRole("textbox", { name: "Registry address" }), `${registry}{Enter}`);
  await user.type(await dialog.findByRole("textbox", { name: "Search the registry" }), "notes");
  expect(host.called("skills.search")).toEqual([]);
  await user.click(dialog.getByRole("button", { name: "Search" }));
  expect(await dialog.findByRole("listitem")).toHaveTextContent("Notes⟨U+202E⟩");
  await user.click(dialog.getByRole("button", { name: "View ada/notes" }));
  expect(await screen.findByRole("dialog", { name: "Install notes?" })).toHaveTextContent("Reported as spam.");
  expect(host.called("config.patch")).toEqual([{ patch: { registries: { skills: registry } } }]);
  expect(host.called("skills.download")).toEqual([{ slug: "ada/notes", version: "1.0.2" }]);
  expect(host.called("skills.preview")).toEqual([{ path: "/data/downloads/notes.zip" }]);
  await user.click(screen.getByRole("button", { name: "Back" }));
  expect(await screen.findByRole("button", { name: "View ada/notes" })).toBeInTheDocument();
});

test("failed download shows at the skill", async () => {
  const host = hostWith();
  host.answers["skills.search"] = () => ({ registry, skills: [{ slug: "notes", name: "Notes", description: "" }] });
  host.answers["skills.download"] = () =>
    Promise.reject(new RpcError(errorCode.conflict, "The registry has blocked this skill."));
  const { user } = renderApp("/tools", host);
  const dialog = await open(user);
  await user.click(dialog.getByRole("radio", { name: "Registry" }));
  await user.type(await dialog.findByRole("textbox", { name: "Search the registry" }), "notes{Enter}");
  await user.click(await dialog.findByRole("button", { name: "View notes" }));
  const result = within(dialog.getByRole("list", { name: "Skills of the registry" }));
  expect(await result.findByRole("alert")).toHaveTextContent("The registry has blocked this skill.");
  expect(host.called("skills.download")).toEqual([{ slug: "notes" }]);
});

test("removal names the jobs and keeps the dialog on an error", async () => {
  const host = hostWith();
  const usedBy = [
    { jobId: "j1", name: "Morning brief" },
    { jobId: "j2", name: "Review" },
  ];
  host.answers["skills.list"] = () => ({ skills: [aSkill({ usedBy })], ownFolder: "/s", installedFolder: "/s/i" });
  host.answers["skills.remove"] = () => Promise.reject(new RpcError(errorCode.conflict, "The folder is in use."));
  const { user } = renderApp("/tools", host);
  await user.click(await screen.findByRole("button", { name: "View notes" }));
  await user.click(await screen.findByRole("button", { name: "Remove" }));
  const dialog = within(await screen.findByRole("alertdialog", { name: "Remove “notes”?" }));
  expect(
    dialog.getByText(/Runs of these jobs fail without this skill: “Morning brief”, “Review”\.$/),
  ).toBeInTheDocument();
  expect(host.called("skills.remove")).toEqual([]);
  await user.click(dialog.getByRole("button", { name: "Remove" }));
  expect(await dialog.findByRole("alert")).toHaveTextContent("The folder is in use.");
  host.answers["skills.remove"] = () => ({ changed: true });
  await user.click(dialog.getByRole("button", { name: "Remove" }));
  await waitFor(() => expect(screen.queryByRole("alertdialog")).not.toBeInTheDocument());
  expect(host.called("skills.remove")).toEqual([{ name: "notes" }, { name: "notes" }]);
});

test("own skill has no removal", async () => {
  const host = hostWith();
  const own = aSkill({ trust: "own", isInstalled: false });
  host.answers["skills.list"] = () => ({ skills: [own], ownFolder: "/s", installedFolder: "/s/i" });
  const { user } = renderApp("/tools", host);
  await user.click(await screen.findByRole("button", { name: "View notes" }));
  expect(await screen.findByRole("dialog", { name: "notes" })).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Remove" })).not.toBeInTheDocument();
});
