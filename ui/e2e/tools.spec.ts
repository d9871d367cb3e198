import { expect, test } from "./rouse";

test("tool trial validates arguments and links to its run", async ({ page, rouse }) => {
  await rouse.open(page, "/tools/echo");
  const form = page.getByRole("form", { name: "Try echo" });
  await form.getByRole("button", { name: "Call" }).click();
  await expect(form.getByText("This is required.")).toBeVisible();
  await form.getByRole("textbox").first().fill("good morning");
  await page.keyboard.press("Tab");
  await form.getByRole("button", { name: "Call" }).click();
  const outcome = page.getByRole("region", { name: "Trial result" });
  await expect(outcome.getByText("Succeeded")).toBeVisible();
  await expect(outcome.getByRole("region", { name: "Result" })).toContainText("good morning");
  await outcome.getByRole("link", { name: "Open run" }).click();
  await expect(page.getByRole("heading", { name: "Trial of echo", level: 1 })).toBeVisible();
});

test("changing call shows a preview and runs after approval", async ({ page, rouse }) => {
  await rouse.open(page, "/tools/write_file");
  const form = page.getByRole("form", { name: "Try write_file" });
  await form.getByRole("textbox", { name: "path" }).fill("note.md");
  await form.getByRole("textbox", { name: "content" }).fill("Tea at four.");
  await form.getByRole("button", { name: "Call" }).click();
  const card = page.getByRole("article", { name: /^Approval: write_file/ });
  await expect(card.getByRole("region", { name: "Preview" })).toContainText("Tea at four.");
  expect(await rouse.workspaceFile("note.md")).toBeUndefined();
  // Decisions count after 500 ms.
  await expect(card.getByRole("group", { name: "Decision" })).not.toHaveAttribute("data-arming");
  await card.getByRole("button", { name: /^Allow once/ }).click();
  await expect(page.getByText("allowed by you")).toBeVisible();
  expect(await rouse.workspaceFile("note.md")).toBe("Tea at four.");
});

test.describe("with a model", () => {
  test.use({ hasModel: true });

  test("job conversation opens from its run with folded tools", async ({ page, rouse }) => {
    const task = 'Say it.\nCALL echo {"text": "hello"}\nSAY Three things are new.';
    await rouse.cli("cron", "add", "--name", "News", "--manual", "--message", task);
    const { jobs } = (await rouse.cli("cron", "list", "--all")) as { jobs: { job: { id: string; name: string } }[] };
    const id = jobs.find(({ job }) => job.name === "News")?.job.id ?? "";
    await rouse.cli("cron", "run", id, "--force");
    await rouse.open(page, `/jobs/${id}`);
    await page.getByRole("link", { name: "Conversation" }).click();
    const said = page.getByRole("list", { name: "Conversation" });
    await expect(said.getByText("Three things are new.", { exact: true })).toBeVisible();
    await said.getByRole("button", { name: /^1 tool call/ }).click();
    await expect(said.getByRole("region", { name: "Result of echo" })).toContainText("hello");
  });
});
