import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";

import type { ChannelView, PairingView } from "@/platform";
import { type FakeHost, fakeHost } from "@/test/fakeHost";
import { aChannel, aChannelList, aConfig, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const off = { state: "off", sinceMs: noon, problem: null, ignored: 0 } as const;

function aPairing(parts: Partial<PairingView> = {}): PairingView {
  return {
    channel: "phone",
    state: "waiting",
    link: "https://t.me/anna_bot?start=abc",
    qrSvg: "<svg/>",
    qrText: "",
    expiresAtMs: noon,
    person: null,
    ...parts,
  };
}

function hostWith(channel: Partial<ChannelView>, answers: FakeHost["answers"] = {}) {
  return fakeHost({
    "config.get": () => aConfig({}),
    "channels.list": () => aChannelList({ channels: [aChannel({ recipients: [], receiving: off, ...channel })] }),
    "channels.pair": () => aPairing(),
    ...answers,
  });
}

async function openPairing(host: FakeHost) {
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: "Pair a chat with phone…" }));
  return { user, dialog: within(await screen.findByRole("dialog")) };
}

test("pairing shows link, person and end", async () => {
  let opens: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    opens = resolve;
  });
  const person = "Anna (@anna)";
  const host = hostWith(
    {},
    {
      "channels.pairing": async () => {
        await opened;
        return { pairing: aPairing({ state: "confirming", person }) };
      },
      "channels.confirmPairing": () => aPairing({ state: "paired", person }),
    },
  );
  const { user, dialog } = await openPairing(host);
  expect(await dialog.findByRole("img", { name: "QR code of the pairing link" })).toBeInTheDocument();
  expect(dialog.getByText("https://t.me/anna_bot?start=abc")).toBeInTheDocument();
  opens();
  await user.click(await dialog.findByRole("button", { name: "Yes, pair" }));
  expect(await dialog.findByText(/^Paired with/)).toHaveTextContent("Paired with Anna (@anna).");
  expect(host.called("channels.confirmPairing")).toEqual([{ name: "phone", accept: true }]);
});

test("expired link can be replaced", async () => {
  const host = hostWith({}, { "channels.pairing": () => ({ pairing: aPairing({ state: "expired" }) }) });
  const { user, dialog } = await openPairing(host);
  expect(await dialog.findByText("The link has expired.")).toBeInTheDocument();
  const links = host.called("channels.pair").length;
  await user.click(dialog.getByRole("button", { name: "New link" }));
  expect(host.called("channels.pair")).toHaveLength(links + 1);
});

test("failed start shows the reason", async () => {
  const host = hostWith(
    {},
    {
      "channels.pair": () => {
        throw new Error("Telegram does not know the token of the bot.");
      },
    },
  );
  const { dialog } = await openPairing(host);
  expect(await dialog.findByRole("alert")).toHaveTextContent("Telegram does not know the token of the bot.");
  expect(dialog.getByRole("button", { name: "Try again" })).toBeInTheDocument();
});

test("paired chat is listed and can be unpaired", async () => {
  const anna = { address: "7", label: "Anna", isPrivate: true, isPaired: true };
  const receiving = { state: "failed", sinceMs: noon, problem: "Another program uses this bot.", ignored: 0 } as const;
  const host = hostWith({ recipients: [anna], receiving }, { "channels.unpair": () => ({ changed: true }) });
  const { user } = renderApp("/settings", host);
  expect(await screen.findByText(/^Hears nothing since/)).toHaveTextContent("Another program uses this bot.");
  await user.click(await screen.findByRole("button", { name: "Paired chats of phone" }));
  await user.click(await screen.findByRole("menuitem", { name: "Unpair Anna" }));
  expect(host.called("channels.unpair")).toEqual([{ name: "phone", address: "7" }]);
});
