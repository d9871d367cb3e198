import { expect, test } from "./rouse";

/** Errors that Chromium logs for refused requests and while the engine is stopped. */
const expected = /401|Authentication failed|ERR_CONNECTION|WebSocket/;

test("paired browser keeps its scope until revoked", async ({ page, rouse, allow }) => {
  allow(expected);
  const { links } = (await rouse.cli("devices", "pair", "--scope", "read")) as { links: { url: string }[] };
  await page.goto(links[0]?.url ?? "");
  expect(page.url()).toBe(`${rouse.address}/`);
  await page.getByRole("textbox", { name: "Name" }).fill("Test browser");
  await page.getByRole("button", { name: "Pair", exact: true }).click();
  const main = page.getByRole("navigation", { name: "Main" });
  await main.waitFor();
  await expect(page.getByRole("link", { name: "New job" })).toHaveCount(0);
  await page.goto(`${rouse.address}/settings`);
  await expect(page.getByRole("region", { name: "This device" })).toContainText("Test browser");

  // A restart ends the session; the page signs in again with its key.
  await rouse.stop();
  await rouse.startAgain();
  await page.reload();
  await main.waitFor();

  await rouse.cli("devices", "revoke", "Test browser");
  await page.reload();
  await expect(page.getByRole("heading", { name: "This browser is not signed in" })).toBeVisible();
});

test("pairing code is used once", async ({ page, rouse, browser, allow }) => {
  allow(expected);
  const { links } = (await rouse.cli("devices", "pair")) as { links: { url: string }[] };
  const link = links[0]?.url ?? "";
  await page.goto(link);
  await page.getByRole("button", { name: "Pair", exact: true }).click();
  await page.getByRole("navigation", { name: "Main" }).waitFor();
  const stranger = await (await browser.newContext()).newPage();
  await stranger.goto(link);
  await expect(stranger.getByRole("alert")).toContainText("This code is used or expired.");
});

test.describe("phone", () => {
  test.use({ hasModel: true, viewport: { width: 390, height: 844 } });

  test("paired phone decides an approval under its name", async ({ page, rouse, allow }) => {
    allow(expected);
    const { links } = (await rouse.cli("devices", "pair", "--scope", "approve")) as { links: { url: string }[] };
    await page.goto(links[0]?.url ?? "");
    await page.getByRole("textbox", { name: "Name" }).fill("Anna's phone");
    await page.getByRole("button", { name: "Pair", exact: true }).click();
    await page.getByRole("navigation", { name: "Main" }).waitFor();
    const call = JSON.stringify({ path: "notes/today.md", content: "dentist\n" });
    const task = `Write it down.\nCALL write_file ${call}\nSAY Written.`;
    const { job } = (await rouse.cli("cron", "add", "--name", "Notes", "--manual", "--message", task)) as {
      job: { id: string };
    };
    await rouse.cli("cron", "run", job.id, "--force");
    await page.getByRole("link", { name: /^Needs you/ }).click();
    const card = page.getByRole("article", { name: "Approval: write_file in Notes" });
    await expect(card.getByRole("region", { name: "Preview" })).toContainText("+dentist");
    await expect(page.getByRole("group", { name: "Decision" })).not.toHaveAttribute("data-arming");
    await page.screenshot({ path: test.info().outputPath("approval.png") });
    await page.getByRole("button", { name: /^Allow once/ }).click();
    await expect(page.getByText(/^Allowed once from Anna's phone/)).toBeVisible();
  });
});
