import { expect, test } from "./rouse";

test("the first start shows a job that fires by itself, and its run is one press away", async ({ page, rouse }) => {
  await rouse.open(page, "/");
  await expect(page.getByRole("heading", { name: "Welcome to Rouse" })).toBeVisible();
  await page.getByRole("link", { name: "See its run" }).click({ timeout: 15_000 });
  await expect(page.getByRole("heading", { name: "Hello from Rouse", level: 1 })).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: "Succeeded" })).toBeVisible();
  await page.getByRole("button", { name: /^text: Your first job/ }).click();
  await expect(page.getByRole("region", { name: "Arguments" })).toContainText("Your first job ran on time");
});

test("the card of the first start goes away for good", async ({ page, rouse }) => {
  await rouse.open(page, "/");
  await page.getByRole("button", { name: "Put this away" }).click();
  await expect(page.getByRole("heading", { name: "Welcome to Rouse" })).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole("heading", { name: "Next up" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Welcome to Rouse" })).toHaveCount(0);
});

test("what happens elsewhere is seen here without a reload", async ({ page, rouse }) => {
  await rouse.open(page, "/");
  const added = (await rouse.cli("cron", "add", "--name", "Disk check", "--every", "6h", "--tool", "echo", "--arguments", '{"text":"All disks are fine."}')) as { job: { id: string } };
  await expect(page.getByRole("link", { name: "Disk check" })).toBeVisible();
  await rouse.cli("cron", "run", added.job.id, "--force");
  const lately = page.getByRole("list", { name: "Newest runs" });
  await expect(lately.getByRole("listitem").filter({ hasText: "Disk check" })).toContainText("All disks are fine.");
});

test("everything is paused and resumed from the rail", async ({ page, rouse }) => {
  await rouse.open(page, "/");
  await page.getByRole("button", { name: /^Engine:/ }).click();
  await page.getByRole("menuitem", { name: "Pause for 1 hour" }).click();
  await expect(page.getByText(/^Everything is paused until/)).toBeVisible();
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(page.getByText(/^Everything is paused until/)).toHaveCount(0);
});
