import AxeBuilder from "@axe-core/playwright";

import { expect, test } from "./rouse";

const pages = [
  "/",
  "/jobs",
  "/jobs/new",
  "/runs",
  "/approvals",
  "/grants",
  "/chat",
  "/tools",
  "/tools/http",
  "/tools/write_file",
  "/tools/built/gone",
  "/jobs/gone/conversation",
  "/settings",
  "/nowhere",
];

for (const colorScheme of ["light", "dark"] as const) {
  test(`axe finds nothing on any page, ${colorScheme}`, async ({ page, rouse }) => {
    test.slow();
    await page.emulateMedia({ colorScheme });
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
    const { runId } = (await rouse.cli("cron", "run", added.job.id, "--force")) as { runId: string };
    await rouse.open(page, "/");
    for (const path of [...pages, `/runs/${runId}`, `/jobs/${added.job.id}`]) {
      await page.goto(rouse.address + path);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      await expect(page.locator("[aria-busy=true]")).toHaveCount(0);
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(
        violations.map(({ id, nodes }) => ({ id, at: nodes.map((node) => node.html) })),
        path,
      ).toEqual([]);
    }
  });
}

test("axe finds nothing in dialogs and popovers", async ({ page, rouse }) => {
  await rouse.open(page, "/");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  for (const key of ["Control+k", "?"]) {
    await page.keyboard.press(key);
    await expect(page.getByRole("dialog")).toBeVisible();
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(
      violations.map(({ id, nodes }) => ({ id, at: nodes.map((node) => node.html) })),
      key,
    ).toEqual([]);
    await page.keyboard.press("Escape");
    await expect(page.getByRole("dialog")).toHaveCount(0);
  }
});

test("axe finds nothing in the forms of servers and skills", async ({ page, rouse }) => {
  await rouse.open(page, "/tools");
  await page.goto(`${rouse.address}/install?npm=cal%401.0.0`);
  const check = async (at: string) => {
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(
      violations.map(({ id, nodes }) => ({ id, at: nodes.map((node) => node.html) })),
      at,
    ).toEqual([]);
  };
  await expect(page.getByText("A link opened this form. Nothing is installed yet.")).toBeVisible();
  await check("link");
  await page.getByRole("radio", { name: "Registry" }).click();
  await expect(page.getByRole("textbox", { name: "Registry address" })).toBeVisible();
  await check("registry");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.getByRole("button", { name: "Add skill" }).click();
  await expect(page.getByRole("dialog", { name: "Add skill" })).toBeVisible();
  await check("skill");
});
