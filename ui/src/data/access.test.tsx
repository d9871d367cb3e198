import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";

import type { DeviceScope } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { anApproval } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

function hostOf(scope: DeviceScope | null) {
  const host = fakeHost();
  host.device = () => scope && { name: "Phone", scope };
  return host;
}

test.each([
  ["read", false],
  ["approve", false],
  ["write", true],
  [null, true],
] as const)("new job with scope %s: offered %s", async (scope, isOffered) => {
  renderApp("/jobs", hostOf(scope));
  await screen.findByRole("heading", { name: "Jobs", level: 1 });
  expect(screen.queryAllByRole("link", { name: "New job" }).length > 0).toBe(isOffered);
});

test("chat without write says why nothing can be sent", async () => {
  renderApp("/chat", hostOf("approve"));
  const field = await screen.findByRole("textbox", { name: "Message" });
  expect(field).toBeDisabled();
  expect(field).toHaveAttribute("placeholder", "This device may not send messages");
});

test.each([
  ["read", false],
  ["approve", true],
] as const)("approval with scope %s: decided here %s", async (scope, isDecided) => {
  const host = hostOf(scope);
  const approval = anApproval({ id: "a1", expiresAtMs: Date.now() + 600_000 });
  host.answers["approvals.list"] = () => ({ approvals: [approval] });
  host.answers["approvals.get"] = () => approval;
  renderApp("/approvals/a1", host);
  const card = await screen.findByRole("article");
  expect(within(card).queryAllByRole("button", { name: /^Allow once/ })).toHaveLength(isDecided ? 1 : 0);
  expect(within(card).queryAllByText(/^This device may not do this/)).toHaveLength(isDecided ? 0 : 1);
});
