import AxeBuilder from "@axe-core/playwright";

import { tabTo } from "./keyboard";
import { expect, test } from "./rouse";

test("keyboard alone creates a job and opens its run", async ({ page, rouse }) => {
  await rouse.open(page, "/");
  await page.keyboard.press("n");
  await expect(page.getByRole("textbox", { name: "Name" })).toBeFocused();
  await page.keyboard.type("Keyboard job");
  await tabTo(page, page.getByRole("radio", { name: "Once", exact: true }));
  const cron = page.getByRole("radio", { name: "Cron" });
  for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press("ArrowRight");
  await expect(cron).toBeFocused();
  await page.keyboard.press("Space");
  await expect(cron).toBeChecked();
  const pattern = page.getByRole("textbox", { name: /cron/i });
  await tabTo(page, pattern);
  await page.keyboard.press("Control+a");
  await page.keyboard.type("*/2 * * * * *");
  await expect(page.getByRole("complementary", { name: "Job preview" })).toContainText("Every 2 seconds");
  await tabTo(page, page.getByRole("textbox", { name: "Reminder" }));
  await page.keyboard.type("Made without a mouse.");
  const judged = await new AxeBuilder({ page }).analyze();
  expect(judged.violations).toEqual([]);
  await page.keyboard.press("Control+s");
  await expect(page).toHaveURL(/\/jobs\/[0-9a-f-]{36}$/);

  const run = page.getByRole("main").locator('a[href^="/runs/"]').first();
  await tabTo(page, run);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/runs\/[0-9a-f-]{36}$/);
  await expect(page.getByRole("heading", { name: "Keyboard job", level: 1 })).toBeVisible();
  await expect(page.getByText("Succeeded").first()).toBeVisible();
  await expect(page.getByText("Made without a mouse.").first()).toBeVisible();
});

test("engine error shows at its field and keeps the input", async ({ page, rouse, allow }) => {
  allow(/400|422/);
  await rouse.open(page, "/jobs/new");
  await page.getByRole("textbox", { name: "Name" }).fill("Never");
  await page.getByRole("radio", { name: "Cron" }).click({ force: true });
  await page.getByRole("textbox", { name: /cron/i }).fill("0 0 31 2 *");
  await page.getByRole("textbox", { name: "Reminder" }).fill("Never said.");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText(/never fires/).first()).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Name" })).toHaveValue("Never");
  await expect(page).toHaveURL(/\/jobs\/new$/);
});
