/* What somebody without a mouse does, and what a screen reader would stumble over. */

import AxeBuilder from "@axe-core/playwright";
import type { Locator, Page } from "@playwright/test";

import { expect } from "./rouse";

/** Presses Tab until `target` has the focus. */
export async function tabTo(page: Page, target: Locator) {
  await expect(target).toBeVisible();
  // Found once: while a list of suggestions is open on the way, everything else is hidden from roles.
  const wanted = await target.elementHandle();
  for (let presses = 0; presses < 60; presses += 1) {
    if (await page.evaluate((element) => element === document.activeElement, wanted)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error("60 tabs did not lead there");
}

/** Chooses one of a few by arrow keys: Tab leads to the group, the arrows to the choice. */
export async function choose(page: Page, group: string, choice: string) {
  const options = page.getByRole("radiogroup", { name: group, exact: true }).getByRole("radio");
  const wanted = page.getByRole("radiogroup", { name: group, exact: true }).getByRole("radio", { name: choice, exact: true });
  await tabTo(page, options.first());
  for (let presses = 0; presses < (await options.count()); presses += 1) {
    if (await wanted.evaluate((element) => element === document.activeElement)) break;
    await page.keyboard.press("ArrowRight");
  }
  await expect(wanted).toBeFocused();
  await page.keyboard.press("Space");
  await expect(wanted).toBeChecked();
}

/** That axe has nothing to say about the page as it is now. */
export async function expectAccessible(page: Page, what: string) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => ({ id, at: nodes.map((node) => node.html) })), what).toEqual([]);
}
