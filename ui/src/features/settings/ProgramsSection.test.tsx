import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { errorCode, type McpTokenView, RpcError } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aConfig, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const url = "http://127.0.0.1:7717/mcp";

function aToken(parts: Partial<McpTokenView> = {}): McpTokenView {
  return { name: "laptop", scope: "read", createdAtMs: noon, lastUsedAtMs: null, ...parts };
}

function hostWith(...tokens: McpTokenView[]) {
  return fakeHost({
    "config.get": () => aConfig(),
    "mcpAccess.list": () => ({ tokens, url }),
  });
}

const section = async () => within(await screen.findByRole("region", { name: "Programs" }));

test("without tokens the local way is named", async () => {
  renderApp("/settings", hostWith());
  const programs = await section();
  expect(programs.getByText("rouse mcp install claude-code", { selector: "code" })).toBeInTheDocument();
  expect(await programs.findByRole("heading", { name: "No tokens" })).toBeInTheDocument();
});

test("program shows scope, creation and last use", async () => {
  const long = "x".repeat(60);
  renderApp("/settings", hostWith(aToken(), aToken({ name: `${long}\u202e`, scope: "write", lastUsedAtMs: noon })));
  const programs = await section();
  const row = async (name: string) => (await programs.findByRole("heading", { name })).parentElement;
  expect(await row("laptop")).toHaveTextContent(/Read only · created .+ · never used$/);
  expect(await row(`${long}⟨U+202E⟩`)).toHaveTextContent(/Read and write · created .+ · last used .+/);
});

test("new token is shown once and can be copied", async () => {
  const host = hostWith();
  const token = "rouse_mcp_s3cret";
  host.answers["mcpAccess.create"] = ({ name, scope }) => {
    host.answers["mcpAccess.list"] = () => ({ tokens: [aToken({ name, scope })], url });
    return { ...aToken({ name, scope }), token, url };
  };
  const { user } = renderApp("/settings", host);
  await user.click((await section()).getByRole("button", { name: "Add program" }));
  const form = within(await screen.findByRole("form", { name: "Program" }));
  expect(form.getByText("May list jobs, runs and approvals.")).toBeInTheDocument();
  expect(form.getByRole("button", { name: "Create token" })).toBeDisabled();
  await user.type(form.getByRole("textbox", { name: "Name" }), " laptop ");
  await user.click(form.getByRole("radio", { name: "Read and write" }));
  await user.click(form.getByRole("button", { name: "Create token" }));
  const created = within(await screen.findByRole("dialog", { name: "Token created" }));
  expect(created.getByRole("region", { name: "Token" })).toHaveTextContent(token);
  expect(created.getByText(url)).toBeInTheDocument();
  expect(host.called("mcpAccess.create")).toEqual([{ name: "laptop", scope: "write" }]);
  await user.click(created.getByRole("button", { name: "Copy token" }));
  expect(host.copyText).toHaveBeenCalledWith(token);
  expect(await created.findByText("Copied")).toBeInTheDocument();
  await user.click(created.getByRole("button", { name: "Done" }));
  await waitFor(() => expect(screen.queryByText(token)).not.toBeInTheDocument());
  expect(await (await section()).findByRole("heading", { name: "laptop" })).toBeInTheDocument();
});

test("failed copy keeps the token and says so", async () => {
  const host = hostWith();
  host.answers["mcpAccess.create"] = () => ({ ...aToken(), token: "t0ken", url });
  host.copyText = () => Promise.reject(new Error("blocked"));
  const { user } = renderApp("/settings", host);
  await user.click((await section()).getByRole("button", { name: "Add program" }));
  await user.type(await screen.findByRole("textbox", { name: "Name" }), "laptop{Enter}");
  await user.click(await screen.findByRole("button", { name: "Copy token" }));
  expect(await screen.findByText(/^The system blocked copying\./)).toBeInTheDocument();
  expect(screen.getByRole("region", { name: "Token" })).toHaveTextContent("t0ken");
});

test.each([
  [
    new RpcError(errorCode.invalidParams, "x", { fields: [{ path: "name", message: "must have 1 to 60 characters" }] }),
    "This must have 1 to 60 characters.",
  ],
  [
    new RpcError(errorCode.exists, "There is already a token laptop. Choose another name."),
    "Not created. There is already a token laptop.",
  ],
])("refused program shows why: %s", async (error, shown) => {
  const host = hostWith();
  host.answers["mcpAccess.create"] = () => Promise.reject(error);
  const { user } = renderApp("/settings", host);
  await user.click((await section()).getByRole("button", { name: "Add program" }));
  await user.type(await screen.findByRole("textbox", { name: "Name" }), "laptop{Enter}");
  await waitFor(() => expect(screen.getByRole("dialog", { name: "Add program" })).toHaveTextContent(shown));
});

test("revocation is confirmed and refetches the list", async () => {
  const host = hostWith(aToken());
  host.answers["mcpAccess.revoke"] = () => {
    host.answers["mcpAccess.list"] = () => ({ tokens: [], url });
    return { changed: true };
  };
  const { user } = renderApp("/settings", host);
  await user.click(await (await section()).findByRole("button", { name: "Revoke laptop" }));
  const question = within(await screen.findByRole("alertdialog", { name: "Revoke “laptop”?" }));
  expect(host.called("mcpAccess.revoke")).toEqual([]);
  await user.click(question.getByRole("button", { name: "Revoke" }));
  expect(await (await section()).findByRole("heading", { name: "No tokens" })).toBeInTheDocument();
  expect(host.called("mcpAccess.revoke")).toEqual([{ name: "laptop" }]);
});

test("failed list of programs can be loaded again", async () => {
  const host = hostWith();
  host.answers["mcpAccess.list"] = () => Promise.reject(new RpcError(errorCode.conflict, "The file is damaged."));
  const { user } = renderApp("/settings", host);
  const programs = await section();
  expect(await programs.findByRole("alert")).toHaveTextContent("The file is damaged.");
  host.answers["mcpAccess.list"] = () => ({ tokens: [aToken()], url });
  await user.click(programs.getByRole("button", { name: "Try again" }));
  expect(await programs.findByRole("heading", { name: "laptop" })).toBeInTheDocument();
});
