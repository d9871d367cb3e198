import { expectAccessible } from "./keyboard";
import { expect, type Rouse, test } from "./rouse";

test.use({ hasModel: true });

const proposal = `CALL routine_create ${JSON.stringify({ name: "Stretch", schedule: { kind: "at", at: "20m" }, reminder: "Stand up and stretch." })}`;

async function names(rouse: Rouse): Promise<string[]> {
  const { jobs } = (await rouse.cli("cron", "list")) as { jobs: { job: { name: string } }[] };
  return jobs.map(({ job }) => job.name);
}

test("message and answer remain after navigating away", async ({ page, rouse }) => {
  await rouse.open(page, "/chat");
  const box = page.getByRole("textbox", { name: "Message" });
  await expect(box).toBeFocused();
  await page.keyboard.type("Good morning");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("SAY Two things wait.");
  await page.keyboard.press("Enter");
  const conversation = page.getByRole("list", { name: "Conversation" });
  await expect(conversation.getByText("Two things wait.", { exact: true })).toBeVisible();
  await expect(box).toHaveValue("");
  await page.reload();
  await expect(conversation.getByText("Two things wait.", { exact: true })).toBeVisible();
  await expectAccessible(page, "the conversation");
});

test("reminder request creates a job only after approval", async ({ page, rouse }) => {
  await rouse.open(page, "/chat");
  await page
    .getByRole("textbox", { name: "Message" })
    .fill(`Remind me in 20 minutes to stretch.\n${proposal}\nSAY I will.`);
  await page.keyboard.press("Enter");
  const card = page.getByRole("article", { name: /^Approval: routine_create/ });
  await expect(card.getByRole("region", { name: "Preview" })).toContainText("Stand up and stretch.");
  await expectAccessible(page, "a proposal");
  expect(await names(rouse)).not.toContain("Stretch");
  await expect(card.getByRole("group", { name: "Decision" })).not.toHaveAttribute("data-arming");
  await card.getByRole("button", { name: /^Allow once/ }).click();
  await expect(card).toHaveCount(0);
  await expect(page.getByText("I will.", { exact: true })).toBeVisible();
  await expect(page.getByRole("link", { name: "Open job" })).toBeVisible();
  expect(await names(rouse)).toContain("Stretch");
});

test("edited proposal creates the job and informs the model", async ({ page, rouse }) => {
  await rouse.open(page, "/chat");
  await page
    .getByRole("textbox", { name: "Message" })
    .fill(`Remind me in 20 minutes to stretch.\n${proposal}\nSAY As you like.`);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Edit first…" }).click();
  const name = page.getByRole("textbox", { name: "Name" });
  await expect(name).toHaveValue("Stretch");
  await name.fill("Stretch well");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page).toHaveURL(/\/jobs\/[0-9a-f-]{36}$/);
  const job = page.url();
  await page.goto(`${rouse.address}/chat`);
  await expect(page.getByText("As you like.", { exact: true })).toBeVisible();
  await expect(page.getByText("routine_create · 1 changed by you")).toBeVisible();
  await expect(page.getByRole("link", { name: "Open job" })).toHaveAttribute("href", new URL(job).pathname);
  const made = await names(rouse);
  expect(made).toContain("Stretch well");
  expect(made).not.toContain("Stretch");
});
