import type { Page } from "@playwright/test";

import { expectAccessible, tabTo } from "./keyboard";
import { expect, type Rouse, test } from "./rouse";

test.use({ hasModel: true });

/** Lets a job's model write a file, which it may not do without a yes; answers the run that waits. */
async function asks(rouse: Rouse, name: string, file = "notes/today.md"): Promise<{ runId: string; jobId: string }> {
  const task = `Write it down.\nCALL write_file ${JSON.stringify({ path: file, content: "dentist\n" })}\nSAY Written.`;
  const { job } = (await rouse.cli("cron", "add", "--name", name, "--manual", "--message", task)) as { job: { id: string } };
  const { runId } = (await rouse.cli("cron", "run", job.id, "--force")) as { runId: string };
  return { runId, jobId: job.id };
}

/** Until answers count, half a second after the question has come up. */
const armed = (page: Page) => expect(page.getByRole("group", { name: "Answers" })).not.toHaveAttribute("data-arming");

const read = (rouse: Rouse, file: string) => rouse.workspaceFile(file);

test("by keyboard alone: a question comes, is read, is allowed, and the run goes on", async ({ page, rouse }) => {
  await rouse.open(page, "/runs");
  const { runId } = await asks(rouse, "Weekly notes");
  await expect(page.getByRole("link", { name: "Needs you 1 waiting" })).toBeVisible();
  await expect(page).toHaveTitle("(1) Runs · Rouse");
  await tabTo(page, page.getByRole("link", { name: /^Needs you/ }));
  await page.keyboard.press("Enter");
  const card = page.getByRole("article", { name: "Question: write_file in Weekly notes" });
  await expect(card.getByRole("region", { name: "What would happen" })).toContainText("+dentist");
  await expectAccessible(page, "a question");
  expect(await read(rouse, "notes/today.md"), "nothing has run yet").toBeUndefined();
  await armed(page);
  await page.keyboard.press("a");
  await expect(page.getByText(/^Allowed once here/)).toBeVisible();
  await expect(page).toHaveTitle("Needs you · Rouse");
  await page.goto(`${rouse.address}/runs/${runId}`);
  await expect(page.getByRole("status").filter({ hasText: "Succeeded" })).toBeVisible();
  await expect(page.getByRole("list", { name: "Steps" })).toContainText("Asked you about");
  expect(await read(rouse, "notes/today.md")).toBe("dentist\n");
});

test("a no with a reason reaches the model, and nothing is written", async ({ page, rouse }) => {
  const { runId } = await asks(rouse, "Weekly notes");
  await rouse.open(page, `/runs/${runId}`);
  const card = page.getByRole("article", { name: /^Question/ });
  await expect(card).toBeVisible();
  await armed(page);
  await page.keyboard.press("d");
  await expect(page.getByRole("textbox", { name: "Why not?" })).toBeFocused();
  await page.getByRole("textbox", { name: "Why not?" }).fill("Put it into the archive.");
  await page.keyboard.press("Enter");
  const steps = page.getByRole("list", { name: "Steps" });
  await expect(steps).toContainText("Denied here");
  await page.getByRole("button", { name: /Denied here/ }).click();
  await expect(page.getByText(/^The model (is|was) told: “Put it into the archive.”$/)).toBeVisible();
  await expect(card).toHaveCount(0);
  expect(await read(rouse, "notes/today.md")).toBeUndefined();
});

test("two windows: the first answer counts, the other one sees it at once", async ({ page, rouse, context }) => {
  await asks(rouse, "Weekly notes");
  await rouse.open(page, "/approvals");
  const other = await context.newPage();
  await other.goto(`${rouse.address}/approvals`);
  for (const window of [page, other]) await expect(window.getByRole("button", { name: /^Allow once/ })).toBeVisible();
  await armed(other);
  await other.getByRole("button", { name: /^This run/ }).click();
  await expect(other.getByText(/^Allowed for this run here/)).toBeVisible();
  await expect(page.getByRole("heading", { name: "Nothing needs you" })).toBeVisible();
  await expect(page.getByText("Allowed for this run · write_file")).toBeVisible();
});

test("the time that runs out while one looks takes the answers away", async ({ page, rouse }) => {
  await asks(rouse, "Weekly notes");
  await page.clock.install();
  await rouse.open(page, "/approvals");
  await expect(page.getByRole("article").getByText(/min left$/)).toBeVisible();
  await page.clock.fastForward("25:30");
  await expect(page.getByRole("article").getByText(/^Only 4 min/)).toBeVisible();
  await page.clock.fastForward("05:00");
  await expect(page.getByText("The time for an answer is over.")).toBeVisible();
  await page.keyboard.press("a");
  await expect(page.getByRole("button", { name: /^Allow once/ })).toBeDisabled();
});

test("always for this job: a pattern in words, then no question more; taken back, it asks again", async ({ page, rouse }) => {
  const { jobId } = await asks(rouse, "Weekly notes");
  await rouse.open(page, "/approvals");
  await armed(page);
  await page.keyboard.press("g");
  await expect(page.getByRole("dialog", { name: "Always for “Weekly notes”" })).toBeVisible();
  const dialog = page.getByRole("dialog");
  await expectAccessible(page, "the grant editor");
  await dialog.getByText("Calls like this one").click();
  await dialog.getByRole("button", { name: /What path may be/ }).click();
  await page.getByRole("option", { name: "is this or lies below it" }).click();
  await expect(dialog.getByRole("status")).toContainText("when path is “notes” or lies below it and content is exactly");
  await dialog.getByRole("button", { name: "Allow from now on" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole("link", { name: "Needs you", exact: true })).toBeVisible();

  const { runId } = (await rouse.cli("cron", "run", jobId, "--force")) as { runId: string };
  await page.goto(`${rouse.address}/runs/${runId}`);
  await expect(page.getByRole("status").filter({ hasText: "Succeeded" })).toBeVisible();
  await expect(page.getByRole("list", { name: "Steps" })).toContainText("covered by a grant");

  await page.goto(`${rouse.address}/grants`);
  await expect(page.getByRole("list", { name: "Grants in force" })).toContainText("Weekly notes may call write_file when content is exactly");
  await expectAccessible(page, "the grants");
  await page.getByRole("button", { name: /^Take back/ }).click();
  await page.getByRole("button", { name: "Take it back" }).click();
  await expect(page.getByRole("heading", { name: "No grants" })).toBeVisible();
  await rouse.cli("cron", "run", jobId, "--force");
  await expect(page.getByRole("link", { name: "Needs you 1 waiting" })).toBeVisible();
});
