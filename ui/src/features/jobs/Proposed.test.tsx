import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import type { Schedule } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aJob, anApproval, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

function hostWith() {
  return fakeHost({
    "cron.add": (draft) => aJob({ ...draft, schedule: draft.schedule as Schedule, id: "job-new" }),
    "cron.preview": () => ({ text: "Once", zone: "UTC", localZone: "UTC", notes: [], next: [] }),
    "tools.catalog": () => ({ tools: [] }),
  });
}

const save = () => screen.getByRole("button", { name: "Save" });

test("a proposed time that is not known is empty and marked, and nothing is saved before it is chosen", async () => {
  const host = hostWith();
  host.answers["approvals.get"] = () => anApproval({ tool: "routine_create", arguments: { name: "Stretch", schedule: { kind: "at", at: "18:00" }, reminder: "Up." } });
  const { user } = renderApp("/jobs/new?ask=ask-1", host);
  const time = await screen.findByRole("group", { name: "Day and time" });
  expect(screen.getByText(/^The proposed time could not be read/)).toBeInTheDocument();
  expect(screen.getByRole("radio", { name: "Once" })).toBeChecked();
  await user.click(save());
  await waitFor(() => expect(within(time.parentElement as HTMLElement).getByText("Choose a day and a time.")).toBeInTheDocument());
  expect(host.called("cron.add")).toEqual([]);
});

test("a proposed time that is known is saved as it was shown, to the second", async () => {
  const at = noon + 86_412_345;
  const host = hostWith();
  host.answers["approvals.get"] = () => anApproval({ tool: "routine_create", arguments: { name: "Stretch", schedule: { kind: "at", at: "tomorrow 12:00" }, reminder: "Up." }, firesOnceAtMs: at });
  host.answers["approvals.decide"] = () => ({ counts: true, approval: anApproval({ state: "denied" }) });
  const { user } = renderApp("/jobs/new?ask=ask-1", host);
  await user.click(await screen.findByRole("textbox", { name: "Name" }));
  await user.paste(" well");
  await user.click(save());
  await waitFor(() => expect(host.called("cron.add")[0]).toMatchObject({ name: "Stretch well", schedule: { kind: "at", atMs: at }, payload: { text: "Up." } }));
});
