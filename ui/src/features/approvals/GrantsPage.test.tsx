import { act, screen, waitFor, within } from "@testing-library/react";
import { expect, onTestFinished, test, vi } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aGrant, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

test("grant shows coverage, uses and expiry", async () => {
  const grants = [
    aGrant({
      covers: {
        kind: "pattern",
        folder: "/home/a/work",
        rules: { path: { rule: "below", value: "notes" }, content: { rule: "any" } },
      },
      used: 3,
      usesLeft: 17,
    }),
    aGrant({ id: "g2", isValid: false, revokedAtMs: noon }),
    aGrant({ id: "g3", isValid: false, usesLeft: 0, used: 1 }),
    aGrant({ id: "g4", isValid: false, voidReason: "Created before Rouse bound grants to folders." }),
  ];
  renderApp("/grants", fakeHost({ "grants.list": () => ({ grants }) }));
  const inForce = within(await screen.findByRole("list", { name: "Active grants" }));
  expect(inForce.getByRole("listitem")).toHaveTextContent(
    "Weekly notes may call write_file when path is “notes” or is under it and content is anything, in /home/a/work",
  );
  expect(inForce.getByText("Used 3 times")).toBeInTheDocument();
  expect(inForce.getByText("17 uses left")).toBeInTheDocument();
  expect(inForce.getByText("No expiry")).toBeInTheDocument();
  const past = within(screen.getByRole("list", { name: "Inactive grants" }));
  expect(past.getByText(/^Revoked/)).toBeInTheDocument();
  expect(past.getByText("Used up")).toBeInTheDocument();
  expect(past.getByText("Created before Rouse bound grants to folders.")).toBeInTheDocument();
  expect(past.queryByRole("button", { name: /^Revoke/ })).not.toBeInTheDocument();
});

test("grant that expires on the open page becomes inactive", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true, now: noon });
  onTestFinished(() => void vi.useRealTimers());
  renderApp(
    "/grants",
    fakeHost({
      "grants.list": () => ({ grants: [aGrant({ expiresAtMs: noon + 60_000 }), aGrant({ id: "g2", tool: "http" })] }),
    }),
  );
  const inForce = within(await screen.findByRole("list", { name: "Active grants" }));
  expect(inForce.getAllByRole("listitem")).toHaveLength(2);
  act(() => void vi.advanceTimersByTime(61_000));
  expect(inForce.getByRole("listitem")).toHaveTextContent("http");
  const past = within(screen.getByRole("list", { name: "Inactive grants" }));
  expect(past.getByRole("listitem")).toHaveTextContent("Expired");
  expect(past.queryByRole("button", { name: /^Revoke/ })).not.toBeInTheDocument();
});

test("revoking a grant asks first", async () => {
  const host = fakeHost({ "grants.list": () => ({ grants: [aGrant()] }), "grants.revoke": () => ({ changed: true }) });
  const { user } = renderApp("/grants", host);
  await user.click(await screen.findByRole("button", { name: "Revoke: write_file for Weekly notes" }));
  const question = within(await screen.findByRole("alertdialog", { name: "Revoke this grant?" }));
  expect(host.called("grants.revoke")).toEqual([]);
  host.answers["grants.list"] = () => ({ grants: [aGrant({ isValid: false, revokedAtMs: noon })] });
  await user.click(question.getByRole("button", { name: "Revoke" }));
  await waitFor(() => expect(host.called("grants.revoke")).toEqual([{ id: "grant-1" }]));
  expect(await screen.findByRole("heading", { name: "No grants" })).toBeInTheDocument();
});

test("invisible characters in a grant show code points", async () => {
  const grants = [
    aGrant({ covers: { kind: "exact", arguments: { path: "a\u202eb" } } }),
    aGrant({
      id: "g2",
      covers: { kind: "pattern", folder: null, rules: { path: { rule: "below", value: "https://x\u200b.example" } } },
    }),
  ];
  renderApp("/grants", fakeHost({ "grants.list": () => ({ grants }) }));
  const [exact, pattern] = within(await screen.findByRole("list", { name: "Active grants" })).getAllByRole("listitem");
  expect(exact).toHaveTextContent("path: a⟨U+202E⟩b");
  expect(pattern).toHaveTextContent("when path is “https://x⟨U+200B⟩.example” or is under it");
});
