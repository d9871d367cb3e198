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
