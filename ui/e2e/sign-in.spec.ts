import { expect, test } from "./rouse";

/** Chromium writes down what it was refused. */
const refused = /401|Authentication failed/;

test("a browser without a code is told how to sign in, and shows nothing else", async ({ page, rouse, allow }) => {
  allow(refused);
  await page.goto(`${rouse.address}/jobs`);
  await expect(page.getByRole("heading", { name: "This browser is not signed in" })).toBeVisible();
  await expect(page.getByText("rouse open")).toBeVisible();
  await expect(page.getByRole("navigation")).toHaveCount(0);
});

test("a code signs in once, leads to the page that was asked for, and leaves the address", async ({ page, rouse, browser }) => {
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

test("an address in the page's address is not followed", async ({ page, rouse, allow }) => {
  allow(refused);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(`${rouse.address}/?gateway=http://127.0.0.1:9&token=x#gateway=ws://127.0.0.1:9`);
  await expect(page.getByRole("heading", { name: "This browser is not signed in" })).toBeVisible();
  expect(asked.filter((url) => !url.startsWith(rouse.address) && !url.startsWith(rouse.address.replace("http", "ws")))).toEqual([]);
});
