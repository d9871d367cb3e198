import { screen } from "@testing-library/react";
import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aJob } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

function hostWith(parts: Parameters<typeof aJob>[0]) {
  return fakeHost({
    "cron.get": () => aJob(parts),
    "cron.preview": () => ({ text: "Daily at 14:00", zone: "UTC", localZone: "UTC", notes: [], next: [] }),
    "tools.catalog": () => ({ tools: [] }),
  });
}

test("a task that an agent wrote says so, with the run; changed, that saving makes it the person's", async () => {
  const task = { kind: "agentTurn", message: "Look at example.org" } as const;
  const { user } = renderApp("/jobs/job-1", hostWith({ payload: task, messageBy: { kind: "agent", runId: "run-9" } }));
  expect(await screen.findByText(/^An agent wrote this/)).toHaveTextContent("An agent wrote this, so sites that it names are asked about. Saved with changes, it counts as yours. See how");
  expect(screen.getByRole("link", { name: "See how" })).toHaveAttribute("href", "/runs/run-9");
  await user.click(screen.getByRole("textbox", { name: "Task" }));
  await user.paste(" again");
  expect(await screen.findByText("Saving makes this yours: sites that it names are no longer asked about.")).toBeInTheDocument();
  expect(screen.queryByText(/^An agent wrote this/)).not.toBeInTheDocument();
});

test("a blank more is a change, as it is for the engine", async () => {
  const { user } = renderApp("/jobs/job-1", hostWith({ payload: { kind: "agentTurn", message: "Look" }, messageBy: { kind: "agent" } }));
  await user.click(await screen.findByRole("textbox", { name: "Task" }));
  await user.paste(" ");
  expect(await screen.findByText(/^Saving makes this yours/)).toBeInTheDocument();
});

test.each([
  ["a job of an agent's whose words a person has written", { createdBy: { kind: "agent" }, messageBy: { kind: "person" } }, undefined],
  ["a job of a person's", {}, undefined],
  ["a reminder of an agent's", { createdBy: { kind: "agent" } }, "An agent wrote this, so it is told as information and not as your word. Saved with changes, it counts as yours."],
])("%s says whose words they are", async (_, keys, said) => {
  renderApp("/jobs/job-1", hostWith({ payload: { kind: "systemEvent", text: "Up" }, ...keys }));
  await screen.findByRole("textbox", { name: "What to say" });
  if (said === undefined) expect(screen.queryByText(/^An agent wrote/)).not.toBeInTheDocument();
  else expect(screen.getByText(said)).toBeInTheDocument();
});
