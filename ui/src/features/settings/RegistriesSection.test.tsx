import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { errorCode, RpcError } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aConfig } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const registries = { servers: "https://registry.example.org", skills: null };

test("registry addresses are saved and removed", async () => {
  const host = fakeHost({
    "config.get": () => aConfig({ registries }),
    "config.patch": () => aConfig({ registries }),
  });
  const { user } = renderApp("/settings", host);
  const section = within(await screen.findByRole("region", { name: "Registries" }));
  expect(section.getByText(/only when you search or install/)).toBeInTheDocument();
  const servers = section.getByRole("textbox", { name: "MCP registry" });
  expect(servers).toHaveValue("https://registry.example.org");
  await user.clear(servers);
  await user.type(section.getByRole("textbox", { name: "Skill registry" }), "https://skills.example.org");
  await user.tab();
  await waitFor(() =>
    expect(host.called("config.patch")).toEqual([
      { patch: { registries: { servers: null } } },
      { patch: { registries: { skills: "https://skills.example.org" } } },
    ]),
  );
});

test("refused registry address shows the reason", async () => {
  const fields = [{ path: "registries.skills", message: "must begin with https://" }];
  const host = fakeHost({
    "config.get": () => aConfig(),
    "config.patch": () => Promise.reject(new RpcError(errorCode.invalidParams, "invalid", { fields })),
  });
  const { user } = renderApp("/settings", host);
  const section = within(await screen.findByRole("region", { name: "Registries" }));
  await user.type(section.getByRole("textbox", { name: "Skill registry" }), "http://skills.example.org");
  await user.tab();
  expect(await section.findByRole("alert")).toHaveTextContent("This must begin with https://.");
});
