import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import type { DeviceView } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aConfig, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const url = "https://box.example.org/#pair=abc";

function aDevice(parts: Partial<DeviceView> = {}): DeviceView {
  return { id: "d1", name: "Anna’s phone", scope: "approve", createdAtMs: noon, lastSeenAtMs: null, ...parts };
}

function hostWith(...devices: DeviceView[]) {
  return fakeHost({
    "config.get": () => aConfig(),
    "devices.list": () => ({ devices, names: ["box.example.org"] }),
  });
}

const section = async () => within(await screen.findByRole("region", { name: "Devices" }));

test("without devices the names of the computer are shown", async () => {
  const host = hostWith();
  renderApp("/settings", host);
  expect(await (await section()).findByText("Reachable as box.example.org.")).toBeInTheDocument();
});

test("without names the setting is named", async () => {
  const host = hostWith();
  host.answers["devices.list"] = () => ({ devices: [], names: [] });
  renderApp("/settings", host);
  expect(await (await section()).findByText("gateway.names")).toBeInTheDocument();
});

test("device shows scope, pairing and last request", async () => {
  renderApp("/settings", hostWith(aDevice(), aDevice({ id: "d2", name: "Tablet", scope: "read", lastSeenAtMs: noon })));
  const devices = await section();
  const row = async (name: string) => (await devices.findByRole("heading", { name })).parentElement;
  expect(await row("Anna’s phone")).toHaveTextContent(/Read and approve · paired .+ · never seen$/);
  expect(await row("Tablet")).toHaveTextContent(/Read only · paired .+ · last seen .+/);
});

test("pairing shows link, code and the paired device", async () => {
  const host = hostWith();
  host.answers["devices.pair"] = () => ({
    links: [
      { url, isLocal: false, qrSvg: "<svg/>" },
      { url: "http://127.0.0.1:7717/#pair=abc", isLocal: true, qrSvg: "<svg/>" },
    ],
    expiresAtMs: Date.now() + 600_000,
  });
  const { user } = renderApp("/settings", host);
  await user.click((await section()).getByRole("button", { name: "Pair a device" }));
  const form = within(await screen.findByRole("form", { name: "Device" }));
  expect(form.getByText("It may see everything and decide approvals.")).toBeInTheDocument();
  await user.click(form.getByRole("radio", { name: "Read" }));
  await user.type(form.getByRole("textbox", { name: "Name" }), " Tablet ");
  await user.click(form.getByRole("button", { name: "Show code" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Scan with the device" }));
  expect(host.called("devices.pair")).toEqual([{ scope: "read", name: "Tablet" }]);
  expect(dialog.getByRole("region", { name: "Link" })).toHaveTextContent(url);
  expect(dialog.getByRole("img", { name: "QR code of the link" })).toHaveAttribute(
    "src",
    "data:image/svg+xml,%3Csvg%2F%3E",
  );
  expect(dialog.queryByText(/127\.0\.0\.1/)).not.toBeInTheDocument();
  host.answers["devices.list"] = () => ({ devices: [aDevice()], names: [] });
  expect(await screen.findByRole("dialog", { name: "Device paired" }, { timeout: 10_000 })).toBeInTheDocument();
});

test("expired code can be replaced", async () => {
  const host = hostWith();
  host.answers["devices.pair"] = () => ({ links: [{ url, isLocal: false, qrSvg: null }], expiresAtMs: 0 });
  const { user } = renderApp("/settings", host);
  await user.click((await section()).getByRole("button", { name: "Pair a device" }));
  await user.click(await screen.findByRole("button", { name: "Show code" }));
  expect(await screen.findByText("This code has expired.")).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "New code" }));
  expect(await screen.findByRole("form", { name: "Device" })).toBeInTheDocument();
});

test("revocation of a device is confirmed", async () => {
  const host = hostWith(aDevice());
  host.answers["devices.revoke"] = () => {
    host.answers["devices.list"] = () => ({ devices: [], names: [] });
    return { changed: true };
  };
  const { user } = renderApp("/settings", host);
  await user.click(await (await section()).findByRole("button", { name: "Revoke Anna’s phone" }));
  const question = within(await screen.findByRole("alertdialog", { name: "Revoke “Anna’s phone”?" }));
  expect(host.called("devices.revoke")).toEqual([]);
  await user.click(question.getByRole("button", { name: "Revoke" }));
  expect(await (await section()).findByRole("heading", { name: "No devices" })).toBeInTheDocument();
  expect(host.called("devices.revoke")).toEqual([{ id: "d1" }]);
});

test("settings of a device are those of the device only", async () => {
  const host = hostWith(aDevice());
  host.device = () => ({ name: "Anna’s phone", scope: "approve" });
  renderApp("/settings", host);
  expect(await screen.findByRole("region", { name: "This device" })).toHaveTextContent(
    "Read and approve. It may see everything and decide approvals.",
  );
  expect(screen.queryByRole("region", { name: "Secrets" })).not.toBeInTheDocument();
  await waitFor(() => expect(host.called("devices.list")).toEqual([]));
});
