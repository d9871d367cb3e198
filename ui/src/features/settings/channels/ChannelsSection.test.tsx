import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { type ChannelsListResult, errorCode, RpcError, type SecretView } from "@/platform";
import { type FakeHost, fakeHost } from "@/test/fakeHost";
import { aChannel, aChannelList, aConfig, aDelivery, aJob, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

function aSecret(name: string): SecretView {
  return { name, hosts: [], servers: [], setAtMs: noon, storedIn: "keyring", problem: null, warning: null };
}

function hostWith(list: Partial<ChannelsListResult> = {}, config: Parameters<typeof aConfig>[0] = {}) {
  return fakeHost({
    "config.get": () => aConfig(config),
    "config.patch": () => aConfig(config),
    "channels.list": () => aChannelList(list),
    "secrets.set": ({ name }) => aSecret(name),
    "secrets.remove": () => ({ changed: true, manualCleanup: null }),
  });
}

const section = async () => within(await screen.findByRole("region", { name: "Channels" }));

async function openDialog(host: FakeHost, kind: RegExp) {
  const { user } = renderApp("/settings", host);
  await user.click(await (await section()).findByRole("button", { name: "Add a channel…" }));
  await user.click(screen.getByRole("button", { name: /Kind/ }));
  await user.click(await screen.findByRole("option", { name: kind }));
  return { user, form: within(screen.getByRole("form", { name: "Channel" })) };
}

const methods = (host: FakeHost) =>
  host.calls
    .map(({ method }) => method)
    .filter((method) => /^(secrets\.(set|remove)|config\.patch|cron\.update)$/.test(method));

test("empty list explains channels and offers to add one", async () => {
  renderApp("/settings", hostWith());
  const channels = await section();
  expect(await channels.findByText(/^A channel carries reports, failures and approval requests/)).toBeInTheDocument();
  expect(channels.getByRole("button", { name: "Add a channel…" })).toBeInTheDocument();
  expect(channels.queryByRole("toolbar", { name: "Reports" })).not.toBeInTheDocument();
});

test("channel shows recipients, state and newest failure", async () => {
  const hour = 3_600_000;
  const blocked = { atMs: Date.now() - hour, reason: "The bot is blocked." };
  renderApp(
    "/settings",
    hostWith({
      channels: [
        aChannel({ lastDeliveredAtMs: Date.now() }),
        aChannel({ name: "old", newestFailure: blocked, lastDeliveredAtMs: Date.now() - hour / 2 }),
        aChannel({ name: "push", newestFailure: blocked, details: "headline" }),
        aChannel({ name: "new", recipients: [], problem: "The token is not stored." }),
        aChannel({ name: "wa", kind: "whatsapp", lastDeliveredAtMs: Date.now() }),
      ],
    }),
  );
  const channels = await section();
  const row = (name: string) => channels.getByRole("heading", { name }).parentElement;
  await channels.findByRole("heading", { name: "phone" });
  expect(row("phone")).toHaveTextContent(/Telegram · Anna.*Ready · last delivered/);
  expect(row("wa")).toHaveTextContent(/Ready · last accepted by WhatsApp/);
  expect(row("old")).toHaveTextContent(/Ready · last delivered/);
  expect(row("push")).toHaveTextContent(/first sentence only.*Last message failed 1 h ago: The bot is blocked\./);
  expect(row("new")).toHaveTextContent(/no recipient.*Problem: The token is not stored/);
  expect(channels.getByRole("button", { name: "Send a test to new" })).toBeDisabled();
});

test("test message is followed to its outcome", async () => {
  const sent = aDelivery({ channel: "phone", to: "7", runId: null });
  const host = hostWith({ channels: [aChannel()] });
  host.answers["channels.test"] = () => sent;
  host.answers["deliveries.get"] = () => sent;
  const { user } = renderApp("/settings", host);
  const channels = await section();
  await user.click(await channels.findByRole("button", { name: "Send a test to phone" }));
  expect(await channels.findByText("Sending.")).toBeInTheDocument();
  expect(host.called("channels.test")).toEqual([{ name: "phone" }]);

  const answer = async (parts: Parameters<typeof aDelivery>[0], words: string) => {
    host.answers["deliveries.get"] = () => ({ ...sent, ...parts });
    host.emit("delivery", { deliveryId: "d", state: parts?.state });
    expect(await channels.findByText(words)).toBeInTheDocument();
  };
  await answer(
    { state: "unknown", reason: "The service did not answer" },
    "No answer: the message may have arrived. The service did not answer. Rouse sends it once more, marked as a repeat.",
  );
  await answer({ state: "failed", reason: "The bot is blocked." }, "Not delivered: The bot is blocked.");
});

test("test goes to the chosen one of several recipients", async () => {
  const recipients = ["Anna", "Family"].map((label, at) => ({
    address: `${at + 7}`,
    label,
    isPrivate: true,
    isPaired: false,
  }));
  const host = hostWith({ channels: [aChannel({ recipients })] });
  const reason = "`8` is no recipient of phone";
  host.answers["channels.test"] = () =>
    Promise.reject(new RpcError(errorCode.invalidParams, "x", { fields: [{ path: "to", message: reason }] }));
  const { user } = renderApp("/settings", host);
  const channels = await section();
  await user.click(await channels.findByRole("button", { name: "Send a test to phone" }));
  await user.click(await screen.findByRole("menuitem", { name: "Family" }));
  expect(await channels.findByRole("alert")).toHaveTextContent("Not sent. 8 is no recipient of phone.");
  expect(host.called("channels.test")).toEqual([{ name: "phone", to: "8" }]);
});

test("secret is stored for its host before the settings", async () => {
  const host = hostWith({ written: { deliverTo: ["mail"], deliverFailuresTo: null, deliverApprovalsTo: null } });
  const { user, form } = await openDialog(host, /^Slack/);
  expect(form.getByRole("textbox", { name: "Name" })).toHaveValue("slack");
  const address = form.getByLabelText("Webhook address");
  expect(address).toHaveAttribute("type", "password");
  await user.type(address, "https://hooks.example.org/T1");
  await user.click(form.getByRole("button", { name: "Add" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
  expect(methods(host)).toEqual(["secrets.set", "config.patch"]);
  expect(host.called("secrets.set")).toEqual([
    { name: "channel-slack-address", value: "https://hooks.example.org/T1", hosts: ["hooks.example.org"] },
  ]);
  expect(host.called("config.patch")).toEqual([
    {
      patch: {
        channels: { slack: { kind: "slack", urlSecret: "channel-slack-address" } },
        deliverTo: ["mail", "slack"],
      },
    },
  ]);
});

test("refused settings remove the stored secrets again", async () => {
  const host = hostWith();
  const fields = [
    { path: "channels.phone.url", message: "expected https://" },
    { path: "channels.phone.topicSecret", message: "is too long" },
  ];
  host.answers["config.patch"] = () => Promise.reject(new RpcError(errorCode.invalidParams, "invalid", { fields }));
  const { user, form } = await openDialog(host, /^ntfy/);
  const name = form.getByRole("textbox", { name: "Name" });
  await user.clear(name);
  await user.type(name, "phone");
  const url = form.getByRole("textbox", { name: "Server address" });
  await user.type(url, "http://ntfy.example.org");
  await user.type(form.getByLabelText("Topic"), "rain");
  await user.click(form.getByRole("checkbox", { name: /there too$/ }));
  await user.click(form.getByRole("button", { name: "Add" }));
  expect(await form.findByText("Expected https://.")).toBeInTheDocument();
  expect(url).toHaveAccessibleDescription("Expected https://.");
  expect(form.getByLabelText("Topic")).toHaveAccessibleDescription("This is too long.");
  expect(methods(host)).toEqual(["secrets.set", "config.patch", "secrets.remove"]);
  expect(host.called("config.patch")).toEqual([
    {
      patch: {
        channels: { phone: { kind: "ntfy", url: "http://ntfy.example.org", topicSecret: "channel-phone-topic" } },
      },
    },
  ]);
  expect(host.called("secrets.remove")).toEqual([{ name: "channel-phone-topic" }]);
});

test("incomplete channel stores nothing", async () => {
  const host = hostWith({ channels: [aChannel({ name: "whatsapp" })] });
  const { user, form } = await openDialog(host, /^WhatsApp/);
  expect(form.getByText(/approved template arrives, and each one costs money/)).toBeInTheDocument();
  expect(form.getByRole("textbox", { name: "Name" })).toHaveValue("whatsapp-2");
  await user.click(form.getByRole("button", { name: "Add" }));
  expect(await form.findAllByText("This is needed for WhatsApp.")).toHaveLength(3);
  expect(methods(host)).toEqual([]);
});

test("secret that cannot be removed again is named", async () => {
  const host = hostWith();
  host.answers["config.patch"] = () => Promise.reject(new Error("The disk is full."));
  host.answers["secrets.remove"] = () => Promise.reject(new Error("locked"));
  const { user, form } = await openDialog(host, /^Telegram/);
  expect(form.getByText(/You pair your chat in the next step/)).toBeInTheDocument();
  await user.type(form.getByLabelText("Bot token"), "1:AA");
  await user.click(form.getByRole("button", { name: "Add" }));
  expect(await form.findByRole("alert")).toHaveTextContent(
    "Not added. The disk is full. These secrets stay unused, remove them under Secrets: channel-telegram-token.",
  );
});

test("removed channel leaves jobs, settings and secrets", async () => {
  const host = hostWith({
    channels: [aChannel()],
    written: { deliverTo: ["notification", "phone"], deliverFailuresTo: ["phone"], deliverApprovalsTo: null },
  });
  const jobs = [aJob({ name: "Tea", policies: { deliverTo: ["phone", "last"] } }), aJob({ id: "job-2", name: "Walk" })];
  host.answers["cron.list"] = () => ({ jobs, broken: [], nextCursor: null });
  host.answers["cron.update"] = () => aJob();
  host.answers["secrets.list"] = () => ({
    secrets: [aSecret("channel-phone-token"), aSecret("other")],
    warning: null,
  });
  host.answers["secrets.remove"] = () => ({ changed: true, manualCleanup: "Delete the copy in the keyring." });
  const { user } = renderApp("/settings", host);
  const channels = await section();
  await user.click(await channels.findByRole("button", { name: "Remove phone…" }));
  const dialog = within(await screen.findByRole("alertdialog", { name: "Remove “phone”?" }));
  expect(await dialog.findByText(/These jobs name the channel and lose it: Tea\.$/)).toBeInTheDocument();
  expect(methods(host)).toEqual([]);
  await user.click(dialog.getByRole("button", { name: "Remove" }));
  await waitFor(() => expect(screen.queryByRole("alertdialog")).not.toBeInTheDocument());
  expect(methods(host)).toEqual(["cron.update", "config.patch", "secrets.remove"]);
  expect(host.called("cron.update")).toEqual([
    { id: "job-1", patch: { policies: { deliverTo: ["last"] } }, expectedRevision: 1 },
  ]);
  expect(host.called("config.patch")).toEqual([
    { patch: { deliverTo: ["notification"], deliverFailuresTo: null, channels: { phone: null } } },
  ]);
  expect(host.called("secrets.remove")).toEqual([{ name: "channel-phone-token" }]);
  expect(channels.getByText("Delete the copy in the keyring.")).toBeInTheDocument();
});

test("default channels are chosen and shown with their routes", async () => {
  const host = hostWith(
    {
      channels: [aChannel()],
      deliverTo: {
        reports: ["notification"],
        failures: ["phone (Telegram, Anna)"],
        approvals: ["notification"],
      },
    },
    { deliverFailuresTo: ["phone"] },
  );
  const { user } = renderApp("/settings", host);
  const channels = await section();
  const group = async (name: string) => within(await channels.findByRole("toolbar", { name }));
  const reports = await group("Reports");
  expect(reports.getByRole("button", { name: "Default" })).toHaveAttribute("aria-pressed", "true");
  expect(channels.getByText("Failed runs. Sent to: phone (Telegram, Anna).")).toBeInTheDocument();
  await user.click(reports.getByRole("button", { name: "phone" }));
  const failures = await group("Failures");
  await user.click(failures.getByRole("button", { name: "Notification" }));
  await user.click(failures.getByRole("button", { name: "Same as reports" }));
  await user.click((await group("Approval requests")).getByRole("button", { name: "Same as reports" }));
  expect(host.called("config.patch")).toEqual([
    { patch: { deliverTo: ["phone"] } },
    { patch: { deliverFailuresTo: ["phone", "notification"] } },
    { patch: { deliverFailuresTo: null } },
  ]);
});
