import { cleanup, screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";

import { type Computer, errorCode, RpcError } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aShell } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const box: Computer = { name: "box", address: "anna@box", state: "connected" };
const nas: Computer = { name: "nas", address: "nas", state: "failed", problem: "Rouse is not running on nas." };

test("menu names each computer with its connection and switches", async () => {
  const host = fakeHost();
  host.shellInfo = () => Promise.resolve(aShell({ computers: [box, nas] }));
  const { user } = renderApp("/runs", host);
  await user.click(await screen.findByRole("button", { name: "Computer: This computer" }));
  expect(await screen.findByText("Not connected, retrying. Rouse is not running on nas.")).toBeInTheDocument();
  await user.click(screen.getByRole("menuitem", { name: "This computer" }));
  expect(host.showComputer).not.toHaveBeenCalled();
  await user.click(screen.getByRole("button", { name: "Computer: This computer" }));
  await user.click(await screen.findByRole("menuitem", { name: "box" }));
  expect(host.showComputer).toHaveBeenCalledExactlyOnceWith("box");
});

test("another computer is named on its pages, with a way back", async () => {
  const host = fakeHost();
  host.shellInfo = () => Promise.resolve(aShell({ engine: "anotherComputer", computer: "box", computers: [box] }));
  const { user } = renderApp("/runs", host);
  await user.click(await screen.findByRole("button", { name: "Computer: box" }));
  await user.click(await screen.findByRole("menuitem", { name: "This computer" }));
  expect(host.showComputer).toHaveBeenCalledExactlyOnceWith(null);
});

test("switcher is absent without other computers and in a browser", async () => {
  for (const shell of [aShell(), null]) {
    const host = fakeHost();
    host.shellInfo = () => Promise.resolve(shell);
    renderApp("/runs", host);
    await screen.findByRole("heading", { name: "Runs" });
    expect(screen.queryByRole("button", { name: /^Computer: / })).not.toBeInTheDocument();
    cleanup();
  }
});

test("computer without a connection shows why and the way back", async () => {
  const refused = () => Promise.reject(new RpcError(errorCode.conflict, "Rouse is not running on nas."));
  const host = fakeHost({ "system.status": refused });
  host.shellInfo = () => Promise.resolve(aShell({ engine: "failed", computer: "nas", computers: [nas] }));
  const { user } = renderApp("/runs", host);
  expect(await screen.findByRole("heading", { name: "nas is not connected" })).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Show this computer" }));
  await waitFor(() => expect(host.showComputer).toHaveBeenCalledExactlyOnceWith(null));
});
