import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import type { Policies } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aChannel, aChannelList, aJob, aPreview } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

/** Reports to `label`, the rest to the notification. */
const routesTo = (label: string) => ({ reports: [label], failures: ["notification"], approvals: ["notification"] });

function hostWith(policies: Policies = {}) {
  return fakeHost({
    "cron.get": () => aJob({ payload: { kind: "agentTurn", message: "Look" }, policies }),
    "cron.update": () => aJob(),
    "cron.preview": () => aPreview({ routes: routesTo("phone (Telegram, Anna)") }),
    "channels.list": () => aChannelList({ channels: [aChannel(), aChannel({ name: "team", kind: "slack" })] }),
  });
}

const field = async () => within(await screen.findByRole("toolbar", { name: "Deliver to" }));
const panel = async () => within(await screen.findByRole("complementary", { name: "Job preview" }));

test("channels of a job are chosen and saved", async () => {
  const host = hostWith();
  const { user } = renderApp("/jobs/job-1", host);
  const channels = await field();
  expect(channels.getByRole("button", { name: "The channels of the settings" })).toHaveAttribute(
    "aria-pressed",
    "true",
  );
  await user.click(channels.getByRole("button", { name: "team" }));
  await user.click(channels.getByRole("button", { name: "phone" }));
  await user.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(host.called("cron.update")).toHaveLength(1));
  expect(host.called("cron.update")[0]).toMatchObject({ patch: { policies: { deliverTo: ["team", "phone"] } } });
});

test("job without channels of its own loses the key", async () => {
  const host = hostWith({ deliverTo: ["gone"] });
  const { user } = renderApp("/jobs/job-1", host);
  const channels = await field();
  await user.click(channels.getByRole("button", { name: "gone (not set up)" }));
  expect(channels.queryByRole("button", { name: /^gone/ })).not.toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(host.called("cron.update")).toHaveLength(1));
  expect(host.called("cron.update")[0]).toMatchObject({ patch: { policies: null } });
});

test("preview shows the channels of the draft", async () => {
  const host = hostWith({ deliverTo: ["phone"] });
  host.answers["cron.preview"] = ({ delivery }) =>
    delivery?.deliverTo?.includes("team")
      ? aPreview({ routes: routesTo("phone (Telegram, Anna), team (Slack)"), routeProblem: "There is no `team`." })
      : aPreview({ routes: routesTo("phone (Telegram, Anna)") });
  const { user } = renderApp("/jobs/job-1", host);
  const preview = await panel();
  expect(await preview.findByText("Reports: phone (Telegram, Anna)")).toBeInTheDocument();
  expect(preview.getByText("Failures: notification")).toBeInTheDocument();
  expect(preview.getByText("Approval requests: notification")).toBeInTheDocument();
  await user.click((await field()).getByRole("button", { name: "team" }));
  expect(await preview.findByText("Reports: phone (Telegram, Anna), team (Slack)")).toBeInTheDocument();
  expect(preview.getByText(/^There is no/)).toHaveTextContent("There is no team.");
  await user.click(screen.getByRole("switch", { name: /^Deliver the result/ }));
  expect(preview.getByText("Reports: not delivered")).toBeInTheDocument();
  expect(preview.queryByText(/^Approval requests/)).not.toBeInTheDocument();
  await waitFor(() =>
    expect(host.called("cron.preview").at(-1)).toMatchObject({
      delivery: { deliverTo: ["phone", "team"], deliver: false },
    }),
  );
});

test("preview requests the channel of the payload", async () => {
  const host = hostWith();
  const turn = { kind: "agentTurn", message: "Look", deliver: true, channel: "phone", to: "7" } as const;
  host.answers["cron.get"] = () => aJob({ payload: turn });
  renderApp("/jobs/job-1", host);
  const delivery = { channel: "phone", to: "7", deliver: true };
  await waitFor(() => expect(host.called("cron.preview").at(-1)).toMatchObject({ delivery }));
});

test("equal channels of reports and failures are one line", async () => {
  const host = hostWith();
  host.answers["cron.preview"] = () => aPreview();
  renderApp("/jobs/job-1", host);
  expect(await (await panel()).findByText("Reports and failures: notification")).toBeInTheDocument();
});

test("without a channel there is nothing to choose", async () => {
  const host = hostWith();
  host.answers["channels.list"] = () => aChannelList();
  renderApp("/jobs/job-1", host);
  await (await panel()).findByText("Failures: notification");
  expect(screen.queryByRole("toolbar", { name: "Deliver to" })).not.toBeInTheDocument();
});
