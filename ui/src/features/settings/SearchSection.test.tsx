/* Fields of the search providers. */

import { screen } from "@testing-library/react";
import { expect, test } from "vitest";

import type { SearchKind } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aConfig, aStatus } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

test.each<[SearchKind | null, boolean, boolean]>([
  [null, false, false],
  ["searxng", true, false],
  ["brave", false, true],
])("provider %s shows the fields that it needs", async (provider, address, key) => {
  const search = { provider, url: null, keyEnv: null, keySecret: null };
  const host = fakeHost({
    "config.get": () => aConfig({ search }),
    "providers.list": () => ({ active: null, providers: [] }),
  });
  host.answers["system.status"] = () => aStatus({});
  renderApp("/settings", host);
  await screen.findByRole("heading", { name: "Web search" });
  expect(screen.queryByRole("textbox", { name: "URL" }) !== null).toBe(address);
  expect(screen.queryByRole("textbox", { name: "API key" }) !== null).toBe(key);
});
