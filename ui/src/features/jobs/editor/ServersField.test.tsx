import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aJob, anExtension, aPreview, aServerTool, aTool } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

function hostWith(payload: { servers?: string[]; tools?: string[] }) {
  return fakeHost({
    "cron.get": () => aJob({ payload: { kind: "agentTurn", message: "Look", ...payload } }),
    "cron.preview": () => aPreview({ text: "Daily at 14:00" }),
    "cron.update": () => aJob(),
    "extensions.list": () => ({
      extensions: [
        anExtension({ held: 2 }),
        anExtension({ name: "mail", isEnabled: false }),
        anExtension({ name: "docs" }),
      ],
    }),
    "tools.catalog": () => ({
      tools: [
        aTool({ name: "read_file" }),
        aServerTool("list", { approval: "never" }),
        aServerTool("send"),
        aServerTool("drop", { approval: "always" }),
      ],
      refused: [],
    }),
  });
}

const field = async () => within(await screen.findByRole("group", { name: "MCP servers" }));

test("servers are chosen, made optional and saved", async () => {
  const host = hostWith({ servers: ["docs"] });
  const { user } = renderApp("/jobs/job-1", host);
  const servers = await field();
  expect(servers.getByRole("checkbox", { name: "docs" })).toBeChecked();
  await user.click(servers.getByRole("checkbox", { name: "docs" }));
  await user.click(servers.getByRole("checkbox", { name: "cal" }));
  const cal = within(servers.getByRole("group", { name: "cal" }));
  await user.click(cal.getByRole("checkbox", { name: /^Optional/ }));
  await user.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(host.called("cron.update")).toHaveLength(1));
  expect(host.called("cron.update")[0]).toMatchObject({ patch: { payload: { servers: ["cal:optional"] } } });
});

test("server tells how many of its tools ask", async () => {
  renderApp("/jobs/job-1", hostWith({ servers: ["cal"] }));
  const servers = await field();
  const box = servers.getByRole("checkbox", { name: "cal" });
  await waitFor(() => expect(box).toHaveAccessibleDescription(/Ready · Asks about 2 of its 3 tools\./));
  expect(servers.getByRole("link", { name: "2 tools to review" })).toHaveAttribute("href", "/tools#mcp-servers");
  expect(servers.getByRole("checkbox", { name: "docs" })).toHaveAccessibleDescription(/No accepted tools\./);
});

test("missing and disabled servers are warned about", async () => {
  renderApp("/jobs/job-1", hostWith({ servers: ["gone", "late:optional", "mail"] }));
  const servers = await field();
  const about = (name: string) => expect(servers.getByRole("checkbox", { name }));
  about("gone").toHaveAccessibleDescription(
    /Not installed\. Runs fail until you deselect this server or install it in Tools\./,
  );
  about("late").toHaveAccessibleDescription(/Not installed\. Runs continue without this server\./);
  about("mail").toHaveAccessibleDescription(/Disabled\. Runs fail until you enable the server in Tools\./);
});

test("server tools are listed for a selected server only", async () => {
  const { user } = renderApp("/jobs/job-1", hostWith({ servers: ["cal"], tools: ["read_file"] }));
  const group = within(await screen.findByRole("group", { name: "Selected tools of cal" }));
  expect(group.getAllByRole("checkbox")).toHaveLength(3);
  expect(screen.getByText(/all tools, unless you select some/)).toBeInTheDocument();
  await user.click(group.getByRole("checkbox", { name: "cal_list" }));
  expect(screen.getByText(/selected tools only/)).toBeInTheDocument();
  await user.click((await field()).getByRole("checkbox", { name: "cal" }));
  expect(screen.queryByRole("group", { name: "Selected tools of cal" })).not.toBeInTheDocument();
  const rest = within(screen.getByRole("group", { name: "Selected tools" })).getAllByRole("checkbox");
  expect(rest.map((box) => box.getAttribute("aria-label") ?? box.closest("label")?.textContent)).toEqual([
    "read_file",
    "cal_list",
  ]);
});

test("job without servers shows no field while none is installed", async () => {
  const host = hostWith({});
  host.answers["extensions.list"] = () => ({ extensions: [] });
  renderApp("/jobs/job-1", host);
  await screen.findByRole("textbox", { name: "Context files" });
  await waitFor(() => expect(host.called("extensions.list").length).toBeGreaterThan(0));
  expect(screen.queryByRole("group", { name: "MCP servers" })).not.toBeInTheDocument();
});
