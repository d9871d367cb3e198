import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import type { Schedule } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aJob, anApproval, aPreview, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

function hostWith() {
  return fakeHost({
    "cron.add": (draft) => aJob({ ...draft, schedule: draft.schedule as Schedule, id: "job-new" }),
    "cron.preview": () => aPreview({ text: "Once" }),
    "tools.catalog": () => ({ tools: [], refused: [] }),
  });
}

const save = () => screen.getByRole("button", { name: "Save" });

test("unknown proposed time must be chosen before saving", async () => {
  const host = hostWith();
  host.answers["approvals.get"] = () =>
    anApproval({
      tool: "routine_create",
      arguments: { name: "Stretch", schedule: { kind: "at", at: "18:00" }, reminder: "Up." },
    });
  const { user } = renderApp("/jobs/new?ask=ask-1", host);
  const time = await screen.findByRole("group", { name: "Date and time" });
  expect(screen.getByText(/^Could not read the proposed time/)).toBeInTheDocument();
  expect(screen.getByRole("radio", { name: "Once" })).toBeChecked();
  await user.click(save());
  await waitFor(() =>
    expect(within(time.parentElement as HTMLElement).getByText("Choose a date and time.")).toBeInTheDocument(),
  );
  expect(host.called("cron.add")).toEqual([]);
});

test("known proposed time is saved to the second", async () => {
  const at = noon + 86_412_345;
  const host = hostWith();
  host.answers["approvals.get"] = () =>
    anApproval({
      tool: "routine_create",
      arguments: { name: "Stretch", schedule: { kind: "at", at: "tomorrow 12:00" }, reminder: "Up." },
      firesOnceAtMs: at,
    });
  host.answers["approvals.decide"] = () => ({ applied: true, approval: anApproval({ state: "denied" }) });
  const { user } = renderApp("/jobs/new?ask=ask-1", host);
  await user.click(await screen.findByRole("textbox", { name: "Name" }));
  await user.paste(" well");
  await user.click(save());
  await waitFor(() =>
    expect(host.called("cron.add")[0]).toMatchObject({
      name: "Stretch well",
      schedule: { kind: "at", atMs: at },
      payload: { text: "Up." },
    }),
  );
});

const reminder = {
  tool: "routine_create",
  arguments: { name: "Stretch", schedule: { kind: "every", every: "1h" }, reminder: "Up." },
};

test("proposal is denied before the job is created", async () => {
  const order: string[] = [];
  const host = hostWith();
  host.answers["approvals.get"] = () => anApproval(reminder);
  host.answers["approvals.decide"] = () => {
    order.push("no");
    return { applied: true, approval: anApproval({ ...reminder, state: "denied" }) };
  };
  host.answers["cron.add"] = (draft) => {
    order.push("made");
    return aJob({ ...draft, schedule: draft.schedule as Schedule, id: "job-new" });
  };
  const { user } = renderApp("/jobs/new?ask=ask-1", host);
  await screen.findByRole("textbox", { name: "Name" });
  await user.click(save());
  await waitFor(() => expect(order).toEqual(["no", "made"]));
});

test("earlier decision prevents creation and is shown", async () => {
  const host = hostWith();
  let state: "pending" | "approved" = "pending";
  host.answers["approvals.get"] = () => anApproval({ ...reminder, state });
  host.answers["approvals.decide"] = () => {
    state = "approved";
    return { applied: false, approval: anApproval({ ...reminder, state }) };
  };
  const { user } = renderApp("/jobs/new?ask=ask-1", host);
  await screen.findByRole("textbox", { name: "Name" });
  await user.click(save());
  expect(await screen.findByText(/elsewhere/)).toBeInTheDocument();
  expect(host.called("cron.add")).toEqual([]);
  expect(save()).toBeDisabled();
});

test("proposal decided elsewhere cannot be saved", async () => {
  const host = hostWith();
  host.answers["approvals.get"] = () => anApproval({ ...reminder, state: "approved" });
  renderApp("/jobs/new?ask=ask-1", host);
  expect(await screen.findByText(/elsewhere/)).toBeInTheDocument();
  expect(save()).toBeDisabled();
});

test("rejected job can be fixed without a second denial", async () => {
  const host = hostWith();
  let state: "pending" | "denied" = "pending";
  host.answers["approvals.get"] = () => anApproval({ ...reminder, state });
  host.answers["approvals.decide"] = () => {
    state = "denied";
    return { applied: true, approval: anApproval({ ...reminder, state }) };
  };
  let tries = 0;
  host.answers["cron.add"] = (draft) => {
    tries += 1;
    if (tries === 1) return Promise.reject(new Error("the disk is full"));
    return aJob({ ...draft, schedule: draft.schedule as Schedule, id: "job-new" });
  };
  const { user } = renderApp("/jobs/new?ask=ask-1", host);
  await screen.findByRole("textbox", { name: "Name" });
  await user.click(save());
  expect(await screen.findByText(/Not saved/)).toBeInTheDocument();
  await user.click(save());
  await waitFor(() => expect(host.called("cron.add")).toHaveLength(2));
  expect(host.called("approvals.decide")).toHaveLength(1);
});
