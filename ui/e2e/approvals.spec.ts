import type { Page } from "@playwright/test";

import { expectAccessible, tabTo } from "./keyboard";
import { expect, type Rouse, test } from "./rouse";

test.use({ hasModel: true });

/** Starts a job whose model writes a file, which needs approval. Returns the waiting run. */
async function asks(rouse: Rouse, name: string, file = "notes/today.md"): Promise<{ runId: string; jobId: string }> {
  const task = `Write it down.\nCALL write_file ${JSON.stringify({ path: file, content: "dentist\n" })}\nSAY Written.`;
  const { job } = (await rouse.cli("cron", "add", "--name", name, "--manual", "--message", task)) as {
    job: { id: string };
  };
  const { runId } = (await rouse.cli("cron", "run", job.id, "--force")) as { runId: string };
  return { runId, jobId: job.id };
}

/** Waits for the end of the click guard, 500 ms after the approval appears. */
const armed = (page: Page) => expect(page.getByRole("group", { name: "Decision" })).not.toHaveAttribute("data-arming");

const read = (rouse: Rouse, file: string) => rouse.workspaceFile(file);

test("keyboard alone allows an approval and the run continues", async ({ page, rouse }) => {
  await rouse.open(page, "/runs");
  const { runId } = await asks(rouse, "Weekly notes");
  await expect(page.getByRole("link", { name: "Needs you 1 waiting" })).toBeVisible();
  await expect(page).toHaveTitle("(1) Runs · Rouse");
  await tabTo(page, page.getByRole("link", { name: /^Needs you/ }));
  await page.keyboard.press("Enter");
  const card = page.getByRole("article", { name: "Approval: write_file in Weekly notes" });
  await expect(card.getByRole("region", { name: "Preview" })).toContainText("+dentist");
  await expectAccessible(page, "an approval");
  expect(await read(rouse, "notes/today.md"), "nothing has run yet").toBeUndefined();
  await armed(page);
  await page.keyboard.press("a");
  await expect(page.getByText(/^Allowed once in the app/)).toBeVisible();
  await expect(page).toHaveTitle("Needs you · Rouse");
  await page.goto(`${rouse.address}/runs/${runId}`);
  await expect(page.getByRole("status").filter({ hasText: "Succeeded" })).toBeVisible();
  await expect(page.getByRole("list", { name: "Steps" })).toContainText("Approval requested:");
  expect(await read(rouse, "notes/today.md")).toBe("dentist\n");
});

test("denial reason reaches the model and nothing is written", async ({ page, rouse }) => {
  const { runId } = await asks(rouse, "Weekly notes");
  await rouse.open(page, `/runs/${runId}`);
  const card = page.getByRole("article", { name: /^Approval/ });
  await expect(card).toBeVisible();
  await armed(page);
  await page.keyboard.press("d");
  await expect(page.getByRole("textbox", { name: "Reason (optional)" })).toBeFocused();
  await page.getByRole("textbox", { name: "Reason (optional)" }).fill("Put it into the archive.");
  await page.keyboard.press("Enter");
  const steps = page.getByRole("list", { name: "Steps" });
  await expect(steps).toContainText("Denied in the app");
  await page.getByRole("button", { name: /Denied in the app/ }).click();
  await expect(page.getByText(/^The agent (gets|got) your reason: “Put it into the archive.”$/)).toBeVisible();
  await expect(card).toHaveCount(0);
  expect(await read(rouse, "notes/today.md")).toBeUndefined();
});

test("two windows keep the first decision and both show it", async ({ page, rouse, context }) => {
  await asks(rouse, "Weekly notes");
  await rouse.open(page, "/approvals");
  const other = await context.newPage();
  await other.goto(`${rouse.address}/approvals`);
  for (const window of [page, other]) await expect(window.getByRole("button", { name: /^Allow once/ })).toBeVisible();
  await armed(other);
  await other.getByRole("button", { name: /^Allow for this run/ }).click();
  await expect(other.getByText(/^Allowed for this run in the app/)).toBeVisible();
  await expect(page.getByRole("heading", { name: "You’re all caught up" })).toBeVisible();
  await expect(page.getByText("Allowed for this run · write_file")).toBeVisible();
});

test("expiry while viewing disables the decision", async ({ page, rouse }) => {
  await asks(rouse, "Weekly notes");
  await page.clock.install();
  await rouse.open(page, "/approvals");
  await expect(page.getByRole("article").getByText(/min left$/)).toBeVisible();
  await page.clock.fastForward("25:30");
  await expect(page.getByRole("article").getByText(/^Only 4 min/)).toBeVisible();
  await page.clock.fastForward("05:00");
  await expect(page.getByText("This approval has expired.")).toBeVisible();
  await page.keyboard.press("a");
  await expect(page.getByRole("button", { name: /^Allow once/ })).toBeDisabled();
});

test("pattern grant skips approval until revoked", async ({ page, rouse }) => {
  const { jobId } = await asks(rouse, "Weekly notes");
  await rouse.open(page, "/approvals");
  await armed(page);
  await page.keyboard.press("g");
  await expect(page.getByRole("dialog", { name: "Always allow for “Weekly notes”" })).toBeVisible();
  const dialog = page.getByRole("dialog");
  await expectAccessible(page, "the grant editor");
  await dialog.getByText("Similar calls").click();
  await dialog.getByRole("button", { name: /Rule for path/ }).click();
  await page.getByRole("option", { name: "is or is under" }).click();
  await expect(dialog.getByRole("status")).toContainText("when path is “notes” or is under it and content is exactly");
  await dialog.getByRole("button", { name: "Create grant" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole("link", { name: "Needs you", exact: true })).toBeVisible();

  const { runId } = (await rouse.cli("cron", "run", jobId, "--force")) as { runId: string };
  await page.goto(`${rouse.address}/runs/${runId}`);
  await expect(page.getByRole("status").filter({ hasText: "Succeeded" })).toBeVisible();
  await expect(page.getByRole("list", { name: "Steps" })).toContainText("covered by a grant");

  await page.goto(`${rouse.address}/grants`);
  await expect(page.getByRole("list", { name: "Active grants" })).toContainText(
    "Weekly notes may call write_file when content is exactly",
  );
  await expectAccessible(page, "the grants");
  await page.getByRole("button", { name: /^Revoke/ }).click();
  await page.getByRole("alertdialog", { name: "Revoke this grant?" }).getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByRole("heading", { name: "No grants" })).toBeVisible();
  await rouse.cli("cron", "run", jobId, "--force");
  await expect(page.getByRole("link", { name: "Needs you 1 waiting" })).toBeVisible();
});
