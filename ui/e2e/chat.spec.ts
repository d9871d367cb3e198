import { expectAccessible } from "./keyboard";
import { expect, type Rouse, test } from "./rouse";

test.use({ hasModel: true });

const proposal = `CALL routine_create ${JSON.stringify({ name: "Stretch", schedule: { kind: "at", at: "20m" }, reminder: "Stand up and stretch." })}`;

async function names(rouse: Rouse): Promise<string[]> {
  const { jobs } = (await rouse.cli("cron", "list")) as { jobs: { job: { name: string } }[] };
  return jobs.map(({ job }) => job.name);
}

test("a message is answered in its conversation, and the conversation stands when one comes back", async ({ page, rouse }) => {
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

test("“remind me in 20 minutes” proposes a job, and nothing is made before it is allowed", async ({ page, rouse }) => {
  await rouse.open(page, "/chat");
  await page.getByRole("textbox", { name: "Message" }).fill(`Remind me in 20 minutes to stretch.\n${proposal}\nSAY I will.`);
  await page.keyboard.press("Enter");
  const card = page.getByRole("article", { name: /^Question: routine_create/ });
  await expect(card.getByRole("region", { name: "What would happen" })).toContainText("Stand up and stretch.");
  await expectAccessible(page, "a proposal");
  expect(await names(rouse)).not.toContain("Stretch");
  await expect(card.getByRole("group", { name: "Answers" })).not.toHaveAttribute("data-arming");
  await card.getByRole("button", { name: /^Allow once/ }).click();
  await expect(card).toHaveCount(0);
  await expect(page.getByText("I will.", { exact: true })).toBeVisible();
  await expect(page.getByRole("link", { name: "Open the job" })).toBeVisible();
  expect(await names(rouse)).toContain("Stretch");
});

test("a proposal is changed first, made by the person, and the model is told so", async ({ page, rouse }) => {
  await rouse.open(page, "/chat");
  await page.getByRole("textbox", { name: "Message" }).fill(`Remind me in 20 minutes to stretch.\n${proposal}\nSAY As you like.`);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Change it first…" }).click();
  const name = page.getByRole("textbox", { name: "Name" });
  await expect(name).toHaveValue("Stretch");
  await name.fill("Stretch well");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page).toHaveURL(/\/jobs\/[0-9a-f-]{36}$/);
  const job = page.url();
  await page.goto(`${rouse.address}/chat`);
  await expect(page.getByText("As you like.", { exact: true })).toBeVisible();
  await expect(page.getByText("routine_create · 1 changed by you")).toBeVisible();
  await expect(page.getByRole("link", { name: "Open the job" })).toHaveAttribute("href", new URL(job).pathname);
  const made = await names(rouse);
  expect(made).toContain("Stretch well");
  expect(made).not.toContain("Stretch");
});
