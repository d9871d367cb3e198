import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { errorCode, type Job, RpcError } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aJob, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const http = { name: "http", description: "Fetches a URL.", parameters: { type: "object", properties: { url: { type: "string" } }, required: ["url"] }, callsPerMinute: 30 };
const preview = { text: "Weekdays at 09:00", zone: "UTC", localZone: "UTC", notes: [], next: [{ atMs: noon, jobTime: "2026-11-21T10:00+00:00", localTime: "2026-11-21T10:00+00:00", note: "The clock goes back." }] };

function hostWith(job: Job = aJob().job) {
  let current = job;
  return fakeHost({
    "cron.get": () => aJob({ ...current }),
    "cron.add": (draft) => aJob({ ...draft, id: "job-new" }),
    "cron.update": ({ patch }) => {
      current = { ...current, ...patch, state: { ...current.state, revision: current.state.revision + 1 } };
      return aJob({ ...current });
    },
    "cron.preview": () => preview,
    "tools.catalog": () => ({ tools: [http] }),
  });
}

type User = ReturnType<typeof renderApp>["user"];

/** All at once, as a person pastes; the keys themselves are the fields' business. */
async function write(user: User, field: HTMLElement, text: string) {
  await user.click(field);
  await user.paste(text);
}

const save = () => screen.getByRole("button", { name: "Save" });
const name = () => screen.findByRole("textbox", { name: "Name" });

test("a reminder is made from three answers, and leads to its page", async () => {
  const host = hostWith();
  const { user, path } = renderApp("/jobs/new", host);
  await write(user, await name(), "Stretch");
  await write(user, screen.getByRole("textbox", { name: "What to say" }), "Stand up.");
  await user.click(save());
  await waitFor(() => expect(path()).toBe("/jobs/job-new"));
  expect(host.called("cron.add")[0]).toMatchObject({
    name: "Stretch", sessionTarget: "main", payload: { kind: "systemEvent", text: "Stand up." }, schedule: { kind: "cron", expr: "0 9 * * 1-5" },
  });
});

test("the panel says what the engine would do, with its clock notes, and what it costs", async () => {
  renderApp("/jobs/new", hostWith());
  const panel = await screen.findByRole("complementary", { name: "What this job will do" });
  expect(await within(panel).findByText("Weekdays at 09:00.")).toBeInTheDocument();
  expect(within(panel).getByText("The clock goes back.")).toBeInTheDocument();
  expect(await within(panel).findByText("No model: costs nothing.")).toBeInTheDocument();
});

test("days write the pattern, and the pattern sets the days", async () => {
  const { user } = renderApp("/jobs/new", hostWith());
  const pattern = await screen.findByRole("textbox", { name: /cron pattern/ });
  const days = within(screen.getByRole("toolbar", { name: "Days of the week" }));
  await user.click(days.getByRole("button", { name: "Sat" }));
  expect(pattern).toHaveValue("0 9 * * 1-6");
  await user.clear(pattern);
  await write(user, pattern, "15 8 * * 0");
  expect(days.getAllByRole("button", { pressed: true }).map((day) => day.textContent)).toEqual(["Sun"]);
  await user.clear(pattern);
  await write(user, pattern, "*/5 * * * *");
  expect(screen.getByText(/says more than days and times can show/)).toBeInTheDocument();
});

test("the engine's complaints stand at their fields, others above the form", async () => {
  const host = hostWith();
  host.answers["cron.add"] = () => Promise.reject(new RpcError(errorCode.invalidParams, "no", {
    fields: [{ path: "payload.text", message: "is required" }, { path: "isolation.postToMainPrefix", message: "expected a text" }],
  }));
  const { user } = renderApp("/jobs/new", host);
  await write(user, await name(), "Stretch");
  await user.click(save());
  const text = screen.getByRole("textbox", { name: "What to say" });
  await waitFor(() => expect(text).toBeInvalid());
  expect(text).toHaveAccessibleDescription("This is required.");
  expect(screen.getByText("isolation.postToMainPrefix")).toBeInTheDocument();
  await waitFor(() => expect(text).toHaveFocus());
});

test("a tool's arguments are a form, and what is missing is said before anything is sent", async () => {
  const host = hostWith(aJob({ payload: { kind: "toolCall", tool: "http", arguments: { url: "https://a.example" } } }).job);
  const { user } = renderApp("/jobs/job-1", host);
  const url = await screen.findByRole("textbox", { name: "url" });
  await user.clear(url);
  await user.click(save());
  expect(await screen.findByText("This is required.")).toBeInTheDocument();
  expect(host.called("cron.update")).toEqual([]);
  await write(user, url, "https://b.example");
  await user.click(save());
  await waitFor(() => expect(host.called("cron.update")).toEqual([{ id: "job-1", patch: { payload: { arguments: { url: "https://b.example" } } }, expectedRevision: 1 }]));
  expect(await screen.findByText("Saved")).toBeInTheDocument();
  expect(save()).toBeDisabled();
});

test("a job that changed elsewhere meanwhile is not overwritten; the new version can be shown", async () => {
  const host = hostWith();
  const { user } = renderApp("/jobs/job-1", host);
  await write(user, await name(), "!");
  host.answers["cron.update"] = () => Promise.reject(new RpcError(errorCode.stale, "stale"));
  host.answers["cron.get"] = () => aJob({ name: "Renamed", state: { revision: 2 } });
  host.emit("cron", { jobId: "job-1", action: "updated" });
  await user.click(await screen.findByRole("button", { name: "Show the new version" }));
  expect(await name()).toHaveValue("Renamed");
  expect(save()).toBeDisabled();
});

test("a change elsewhere is taken over while nothing here was changed; a run is none", async () => {
  const host = hostWith();
  const { user } = renderApp("/jobs/job-1", host);
  await name();
  host.answers["cron.get"] = () => aJob({ name: "Renamed", state: { revision: 2 } });
  host.emit("cron", { jobId: "job-1", action: "updated" });
  await waitFor(async () => expect(await name()).toHaveValue("Renamed"));
  await write(user, await name(), "!");
  host.answers["cron.get"] = () => aJob({ name: "Renamed", enabled: false, state: { revision: 3, lastState: "failed" } });
  host.emit("cron", { jobId: "job-1", action: "finished" });
  await waitFor(() => expect(screen.getByRole("switch", { name: "Active" })).not.toBeChecked());
  expect(screen.queryByText(/changed elsewhere/)).not.toBeInTheDocument();
  await user.click(save());
  await waitFor(() => expect(host.called("cron.update")).toEqual([{ id: "job-1", patch: { name: "Renamed!" }, expectedRevision: 3 }]));
});

test("leaving with changes asks first, leaving without does not", async () => {
  const { user, path } = renderApp("/jobs/job-1", hostWith());
  await write(user, await name(), "!");
  await user.click(screen.getByRole("link", { name: "Runs" }));
  const question = await screen.findByRole("dialog", { name: "Leave without saving?" });
  await user.click(within(question).getByRole("button", { name: "Cancel" }));
  expect(path()).toBe("/jobs/job-1");
  await user.clear(await name());
  await write(user, await name(), "Backup");
  await user.click(screen.getByRole("link", { name: "Runs" }));
  await waitFor(() => expect(path()).toBe("/runs"));
});

test("a copy begins with everything the job has", async () => {
  const host = hostWith({ ...aJob().job, "x-mine": 1 } as unknown as Job);
  const { user } = renderApp("/jobs/new?from=job-1", host);
  expect(await name()).toHaveValue("Backup copy");
  host.answers["tools.catalog"] = () => ({ tools: [] });
  await user.click(await screen.findByRole("radio", { name: "Remind me" }));
  await write(user, screen.getByRole("textbox", { name: "What to say" }), "x");
  await user.click(save());
  await waitFor(() => expect(host.called("cron.add")[0]).toMatchObject({ name: "Backup copy", "x-mine": 1, payload: { kind: "systemEvent", text: "x" }, sessionTarget: "main" }));
  expect(host.called("cron.add")[0]).not.toHaveProperty("id");
});

test("a job that is gone says so", async () => {
  renderApp("/jobs/nope", fakeHost());
  expect(await screen.findByText("This job is not there any more")).toBeInTheDocument();
});
