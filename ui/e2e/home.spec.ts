import { expect, test } from "./rouse";

test("first start shows the example job and links to its run", async ({ page, rouse }) => {
  await rouse.open(page, "/");
  await expect(page.getByRole("heading", { name: "Welcome to Rouse" })).toBeVisible();
  await page.getByRole("link", { name: "View run" }).click({ timeout: 15_000 });
  await expect(page.getByRole("heading", { name: "Hello from Rouse", level: 1 })).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: "Succeeded" })).toBeVisible();
  await page.getByRole("button", { name: /^text: Your first job/ }).click();
  await expect(page.getByRole("region", { name: "Arguments" })).toContainText("Your first job ran on time");
});

test("first start card stays dismissed", async ({ page, rouse }) => {
  await rouse.open(page, "/");
  await page.getByRole("button", { name: "Dismiss" }).click();
  await expect(page.getByRole("heading", { name: "Welcome to Rouse" })).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole("heading", { name: "Up next" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Welcome to Rouse" })).toHaveCount(0);
});

test("remote changes appear without reload", async ({ page, rouse }) => {
  await rouse.open(page, "/");
  const added = (await rouse.cli(
    "cron",
    "add",
    "--name",
    "Disk check",
    "--every",
    "6h",
    "--tool",
    "echo",
    "--arguments",
    '{"text":"All disks are fine."}',
  )) as { job: { id: string } };
  await expect(page.getByRole("link", { name: "Disk check" })).toBeVisible();
  await rouse.cli("cron", "run", added.job.id, "--force");
  const lately = page.getByRole("list", { name: "Recent runs" });
  await expect(lately.getByRole("listitem").filter({ hasText: "Disk check" })).toContainText("All disks are fine.");
});

test("all jobs pause and resume from the rail", async ({ page, rouse }) => {
  await rouse.open(page, "/");
  await page.getByRole("button", { name: /^Engine:/ }).click();
  await page.getByRole("menuitem", { name: "Pause for 1 hour" }).click();
  await expect(page.getByText(/^All jobs are paused until/)).toBeVisible();
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(page.getByText(/^All jobs are paused until/)).toHaveCount(0);
});
