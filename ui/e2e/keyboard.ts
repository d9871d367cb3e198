/* Keyboard navigation and accessibility checks. */

import AxeBuilder from "@axe-core/playwright";
import type { Locator, Page } from "@playwright/test";

import { expect } from "./rouse";

/** Presses Tab until `target` or a descendant has the focus. */
export async function tabTo(page: Page, target: Locator) {
  await expect(target).toBeVisible();
  // Resolved once, because an open list of suggestions hides everything else from roles.
  const wanted = await target.elementHandle();
  for (let presses = 0; presses < 60; presses += 1) {
    if (await page.evaluate((element) => element.contains(document.activeElement), wanted)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error("60 tabs did not lead there");
}

/** Selects a radio by keyboard: Tab to the group, arrow keys to the first choice and on to the wanted choice. */
export async function choose(page: Page, group: string, choice: string) {
  const choices = page.getByRole("radiogroup", { name: group, exact: true });
  const options = choices.getByRole("radio");
  const wanted = choices.getByRole("radio", { name: choice, exact: true });
  // Tab leads to the last focused radio, or to the first.
  await tabTo(page, choices);
  const count = await options.count();
  for (let presses = 1; presses < count; presses += 1) await page.keyboard.press("ArrowLeft");
  for (let presses = 0; presses < count; presses += 1) {
    if (await wanted.evaluate((element) => element === document.activeElement)) break;
    await page.keyboard.press("ArrowRight");
  }
  await expect(wanted).toBeFocused();
  await page.keyboard.press("Space");
  await expect(wanted).toBeChecked();
}

/** Expects no axe violations. */
export async function expectAccessible(page: Page, what: string) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(
    violations.map(({ id, nodes }) => ({ id, at: nodes.map((node) => node.html) })),
    what,
  ).toEqual([]);
}
