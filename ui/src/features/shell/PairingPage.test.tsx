import { screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";

import { errorCode, type Pairing, RpcError } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { renderApp } from "@/test/renderApp";

function aPairing(parts: Partial<Pairing> = {}): Pairing {
  return {
    suggestedName: "Safari on iPhone",
    offer: () => Promise.resolve({ name: null, scope: "read", expiresAtMs: 0 }),
    pair: vi.fn(() => Promise.resolve()),
    ...parts,
  };
}

function hostWith(pairing: Pairing) {
  const host = fakeHost();
  host.pairing = () => pairing;
  return host;
}

test("pairing names the scope, then opens the page", async () => {
  const pairing = aPairing();
  const { user } = renderApp("/", hostWith(pairing));
  const name = await screen.findByRole("textbox", { name: "Name" });
  expect(name).toHaveValue("Safari on iPhone");
  expect(screen.getByText(/It may see jobs, runs, approvals and conversations/)).toBeInTheDocument();
  await user.clear(name);
  expect(screen.getByRole("button", { name: "Pair" })).toBeDisabled();
  await user.type(name, " Anna’s phone {Enter}");
  expect(await screen.findByRole("navigation", { name: "Main" })).toBeInTheDocument();
  expect(pairing.pair).toHaveBeenCalledExactlyOnceWith("Anna’s phone");
});

test("name of the computer has priority", async () => {
  const offer = () => Promise.resolve({ name: "Kitchen", scope: "write", expiresAtMs: 0 } as const);
  renderApp("/", hostWith(aPairing({ offer })));
  expect(await screen.findByRole("textbox", { name: "Name" })).toHaveValue("Kitchen");
});

test("expired code says what to do", async () => {
  const error = new RpcError(errorCode.unauthenticated, "This code is used or expired.");
  renderApp("/", hostWith(aPairing({ offer: () => Promise.reject(error) })));
  expect(await screen.findByRole("alert")).toHaveTextContent("This code is used or expired.");
  expect(screen.queryByRole("button", { name: "Pair" })).not.toBeInTheDocument();
});

test("refused name can be changed", async () => {
  const taken = new RpcError(errorCode.conflict, "There is already a device Tablet.");
  const pair = vi.fn().mockRejectedValueOnce(taken).mockResolvedValueOnce(undefined);
  const { user } = renderApp("/", hostWith(aPairing({ pair })));
  const name = await screen.findByRole("textbox", { name: "Name" });
  await user.click(screen.getByRole("button", { name: "Pair" }));
  expect(await screen.findByRole("alert")).toHaveTextContent("There is already a device Tablet.");
  await user.type(name, " 2{Enter}");
  expect(await screen.findByRole("navigation", { name: "Main" })).toBeInTheDocument();
});
