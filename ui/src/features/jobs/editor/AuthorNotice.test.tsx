import { screen } from "@testing-library/react";
import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aJob, aPreview } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

function hostWith(parts: Parameters<typeof aJob>[0]) {
  return fakeHost({
    "cron.get": () => aJob(parts),
    "cron.preview": () => aPreview({ text: "Daily at 14:00" }),
    "tools.catalog": () => ({ tools: [], refused: [] }),
  });
}

test("agent task shows its run until edited", async () => {
  const task = { kind: "agentTurn", message: "Look at example.org" } as const;
  const { user } = renderApp("/jobs/job-1", hostWith({ payload: task, messageBy: { kind: "agent", runId: "run-9" } }));
  expect(await screen.findByText(/^Written by an agent/)).toHaveTextContent(
    "Written by an agent: requests to sites that it names need approval. Edit and save it to make it yours. View run",
  );
  expect(screen.getByRole("link", { name: "View run" })).toHaveAttribute("href", "/runs/run-9");
  await user.click(screen.getByRole("textbox", { name: "Task" }));
  await user.paste(" again");
  expect(
    await screen.findByText(
      "Saving makes this your instruction: requests to sites that it names no longer need approval.",
    ),
  ).toBeInTheDocument();
  expect(screen.queryByText(/^Written by an agent/)).not.toBeInTheDocument();
});

test("added space counts as a change", async () => {
  const { user } = renderApp(
    "/jobs/job-1",
    hostWith({ payload: { kind: "agentTurn", message: "Look" }, messageBy: { kind: "agent" } }),
  );
  await user.click(await screen.findByRole("textbox", { name: "Task" }));
  await user.paste(" ");
  expect(await screen.findByText(/^Saving makes this your instruction/)).toBeInTheDocument();
});

test.each([
  [
    "a job of an agent's whose words a person has written",
    { createdBy: { kind: "agent" }, messageBy: { kind: "person" } },
    undefined,
  ],
  ["a job of a person's", {}, undefined],
  [
    "a reminder of a program",
    { createdBy: { kind: "agent", client: "Cal\u202e" } },
    "Written by “Cal⟨U+202E⟩” (its own claim): treated as information, not as your instruction. Edit and save it to make it yours.",
  ],
  [
    "a reminder of an agent's",
    { createdBy: { kind: "agent" } },
    "Written by an agent: treated as information, not as your instruction. Edit and save it to make it yours.",
  ],
])("%s names the author of the message", async (_, keys, said) => {
  renderApp("/jobs/job-1", hostWith({ payload: { kind: "systemEvent", text: "Up" }, ...keys }));
  await screen.findByRole("textbox", { name: "Reminder" });
  if (said === undefined) expect(screen.queryByText(/^Written by/)).not.toBeInTheDocument();
  else expect(screen.getByText(/^Written by/)).toHaveTextContent(said);
});

test.each([
  [{ kind: "agent", client: "goose" }, /^“goose” \(its own claim\), /],
  [{ kind: "agent" }, /^An agent, /],
])("job page names the creator %j", async (createdBy, text) => {
  renderApp("/jobs/job-1", hostWith({ createdBy }));
  const heading = await screen.findByRole("heading", { name: "Created by" });
  expect(heading.nextElementSibling).toHaveTextContent(text);
});
