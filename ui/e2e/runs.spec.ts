import { expect, test } from "./rouse";

test("keyboard alone finds a run, opens its job and returns", async ({ page, rouse }) => {
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
  await rouse.cli("cron", "run", added.job.id, "--force");
  await rouse.open(page, "/");
  await expect(page.getByRole("heading", { name: "Up next" })).toBeVisible();

  await page.keyboard.press("Control+k");
  await page.keyboard.type("go runs");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Runs", level: 1 })).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type("disk");
  const row = page.getByRole("list", { name: "Runs" }).getByRole("link", { name: "Disk check" });
  await expect(row).toBeVisible();
  await page.getByRole("searchbox", { name: "Search runs" }).press("Tab");
  await page.keyboard.press("j");
  await expect(row).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Disk check", level: 1 })).toBeVisible();
  await page.keyboard.press("e");
  await expect(page).toHaveURL(`${rouse.address}/jobs/${added.job.id}`);
  await page.goBack();
  await expect(page.getByRole("heading", { name: "Disk check", level: 1 })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page).toHaveURL(/\/runs\?q=disk/);
});

test("stopped engine is reported and a restart resumes the page", async ({ page, rouse, allow }) => {
  allow(/ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|401|Authentication failed/);
  await rouse.open(page, "/runs");
  await expect(page.getByRole("heading", { name: "Runs", level: 1 })).toBeVisible();
  await rouse.stop();
  await expect(page.getByRole("button", { name: "Engine: Not connected, retrying" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Runs", level: 1 })).toBeVisible();

  await rouse.startAgain();
  const { job } = (await rouse.cli(
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
  await rouse.cli("cron", "run", job.id, "--force");
  await expect(page.getByRole("link", { name: "Disk check" })).toBeVisible();
});

test("new runs above keep the scroll position", async ({ page, rouse }) => {
  const { job } = (await rouse.cli(
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
  for (let i = 0; i < 40; i += 1) await rouse.cli("cron", "run", job.id, "--force");
  await rouse.open(page, "/runs");
  const list = page.getByRole("list", { name: "Runs" });
  await expect(list.getByRole("listitem").first()).toBeVisible();
  // Counts all jobs, because the example job may fire at any time.
  const count = async () => Number(await list.getByRole("listitem").first().getAttribute("aria-setsize"));
  const first = await count();
  await page.locator("#main").evaluate((main) => main.scrollTo({ top: 600 }));
  const row = list
    .getByRole("listitem")
    .filter({ has: page.locator("a") })
    .nth(20);
  const link = await row.getByRole("link").getAttribute("href");
  const read = page.locator(`#main a[href="${link}"]`);
  const before = await read.boundingBox();
  await rouse.cli("cron", "run", job.id, "--force");
  await expect.poll(count).toBeGreaterThan(first);
  expect((await read.boundingBox())?.y).toBe(before?.y);
});
