import { act, screen, waitFor, within } from "@testing-library/react";
import { expect, onTestFinished, test, vi } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aGrant, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

test("a grant says what it covers, how often it was used and when it ends", async () => {
  const grants = [
    aGrant({ covers: { kind: "pattern", folder: "/home/a/work", rules: { path: { rule: "below", value: "notes" }, content: { rule: "any" } } }, used: 3, usesLeft: 17 }),
    aGrant({ id: "g2", isGood: false, revokedAtMs: noon }),
    aGrant({ id: "g3", isGood: false, usesLeft: 0, used: 1 }),
    aGrant({ id: "g4", isGood: false, whyVoid: "It was made before Rouse bound a grant to its folder." }),
  ];
  renderApp("/grants", fakeHost({ "grants.list": () => ({ grants }) }));
  const inForce = within(await screen.findByRole("list", { name: "Grants in force" }));
  expect(inForce.getByRole("listitem")).toHaveTextContent("Weekly notes may call write_file when path is “notes” or lies below it and content is anything, in /home/a/work");
  expect(inForce.getByText("Used 3 times")).toBeInTheDocument();
  expect(inForce.getByText("17 more times at most")).toBeInTheDocument();
  expect(inForce.getByText("No end")).toBeInTheDocument();
  const past = within(screen.getByRole("list", { name: "Grants no longer in force" }));
  expect(past.getByText(/^Taken back/)).toBeInTheDocument();
  expect(past.getByText("Used up")).toBeInTheDocument();
  expect(past.getByText("It was made before Rouse bound a grant to its folder.")).toBeInTheDocument();
  expect(past.queryByRole("button", { name: /^Take back/ })).not.toBeInTheDocument();
});

test("a grant names the stored secrets whose values it writes, and one that writes none speaks of none", async () => {
  const grants = [aGrant({ writesValues: ["mail"] }), aGrant({ id: "g2", writesValues: ["mail", "pin"] }), aGrant({ id: "g3" })];
  renderApp("/grants", fakeHost({ "grants.list": () => ({ grants }) }));
  const [one, two, none] = within(await screen.findByRole("list", { name: "Grants in force" })).getAllByRole("listitem");
  expect(one).toHaveTextContent("It writes the value of the stored secret mail into the file.");
  expect(two).toHaveTextContent("It writes the values of the stored secrets mail and pin into the file.");
  expect(none).not.toHaveTextContent("secret");
});

test("a grant that ends while the page is open is in force no more", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true, now: noon });
  onTestFinished(() => void vi.useRealTimers());
  renderApp("/grants", fakeHost({ "grants.list": () => ({ grants: [aGrant({ expiresAtMs: noon + 60_000 }), aGrant({ id: "g2", tool: "http" })] }) }));
  const inForce = within(await screen.findByRole("list", { name: "Grants in force" }));
  expect(inForce.getAllByRole("listitem")).toHaveLength(2);
  act(() => void vi.advanceTimersByTime(61_000));
  expect(inForce.getByRole("listitem")).toHaveTextContent("http");
  const past = within(screen.getByRole("list", { name: "Grants no longer in force" }));
  expect(past.getByRole("listitem")).toHaveTextContent("Ended");
  expect(past.queryByRole("button", { name: /^Take back/ })).not.toBeInTheDocument();
});

test("taking a grant back asks first", async () => {
  const host = fakeHost({ "grants.list": () => ({ grants: [aGrant()] }), "grants.revoke": () => ({ changed: true }) });
  const { user } = renderApp("/grants", host);
  await user.click(await screen.findByRole("button", { name: "Take back: write_file for Weekly notes" }));
  const question = within(await screen.findByRole("alertdialog", { name: "Take this grant back?" }));
  expect(host.called("grants.revoke")).toEqual([]);
  host.answers["grants.list"] = () => ({ grants: [aGrant({ isGood: false, revokedAtMs: noon })] });
  await user.click(question.getByRole("button", { name: "Take it back" }));
  await waitFor(() => expect(host.called("grants.revoke")).toEqual([{ id: "grant-1" }]));
  expect(await screen.findByRole("heading", { name: "No grants" })).toBeInTheDocument();
});

test("what cannot be seen in a grant is shown by its number, folded and unfolded", async () => {
  const grants = [
    aGrant({ covers: { kind: "exact", arguments: { path: "a\u202eb" } } }),
    aGrant({ id: "g2", covers: { kind: "pattern", folder: null, rules: { path: { rule: "below", value: "https://x\u200b.example" } } } }),
  ];
  renderApp("/grants", fakeHost({ "grants.list": () => ({ grants }) }));
  const [exact, pattern] = within(await screen.findByRole("list", { name: "Grants in force" })).getAllByRole("listitem");
  expect(exact).toHaveTextContent("path: a⟨U+202E⟩b");
  expect(pattern).toHaveTextContent("when path is “https://x⟨U+200B⟩.example” or lies below it");
});
