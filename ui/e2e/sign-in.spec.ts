import { expect, test } from "./rouse";

/** Errors that Chromium logs for refused requests. */
const refused = /401|Authentication failed/;

test("browser without a code shows only sign-in instructions", async ({ page, rouse, allow }) => {
  allow(refused);
  await page.goto(`${rouse.address}/jobs`);
  await expect(page.getByRole("heading", { name: "This browser is not signed in" })).toBeVisible();
  await expect(page.getByText("rouse open")).toBeVisible();
  await expect(page.getByRole("navigation")).toHaveCount(0);
});

test("code signs in once and leaves the address", async ({ page, rouse, browser }) => {
  const door = await rouse.doorTo("/runs");
  await page.goto(door);
  await expect(page.getByRole("heading", { name: "Runs", level: 1 })).toBeVisible();
  expect(page.url()).toBe(`${rouse.address}/runs`);
  await page.reload();
  await expect(page.getByRole("heading", { name: "Runs", level: 1 })).toBeVisible();

  const stranger = await (await browser.newContext()).newPage();
  await stranger.goto(door);
  await expect(stranger.getByRole("heading", { name: "This browser is not signed in" })).toBeVisible();
});

test("address inside the URL is not followed", async ({ page, rouse, allow }) => {
  allow(refused);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(`${rouse.address}/?gateway=http://127.0.0.1:9&token=x#gateway=ws://127.0.0.1:9`);
  await expect(page.getByRole("heading", { name: "This browser is not signed in" })).toBeVisible();
  expect(
    asked.filter((url) => !url.startsWith(rouse.address) && !url.startsWith(rouse.address.replace("http", "ws"))),
  ).toEqual([]);
});
