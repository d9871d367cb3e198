import { screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aJob, aPreview } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

test("unavailable skill shows its reason", async () => {
  const host = fakeHost({
    "cron.get": () => aJob({ payload: { kind: "agentTurn", message: "Look", skills: ["broken"] } }),
    "cron.preview": () => aPreview({ text: "Daily at 14:00" }),
    "cron.check": () => ({ warnings: [{ field: "payload.skills[0]", message: "the skill `broken` has no SKILL.md" }] }),
    "tools.catalog": () => ({ tools: [], refused: [] }),
  });
  renderApp("/jobs/job-1", host);
  const box = await screen.findByRole("checkbox", { name: "broken" });
  expect(box).toHaveAccessibleDescription("Unavailable. Runs fail until you fix or deselect this skill.");
  const group = screen.getByRole("group", { name: "Skills" }).parentElement as HTMLElement;
  await waitFor(() => expect(group).toHaveTextContent(/The skill broken has no SKILL\.md/));
  expect(screen.queryByText(/^You can save this job, but/)).not.toBeInTheDocument();
});
