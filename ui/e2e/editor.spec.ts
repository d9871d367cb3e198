import { expect, type Rouse, test } from "./rouse";
import { choose, expectAccessible, tabTo } from "./keyboard";

interface Job {
  id: string;
  name: string;
  schedule: Record<string, unknown>;
  payload: Record<string, unknown>;
  state: { revision: number };
  [key: string]: unknown;
}

async function jobOf(rouse: Rouse, id: string): Promise<Job> {
  return ((await rouse.cli("cron", "show", id)) as { job: Job }).job;
}

async function addEcho(rouse: Rouse, name: string, ...flags: string[]): Promise<Job> {
  const when = flags.length > 0 ? flags : ["--manual"];
  return (
    (await rouse.cli(
      "cron",
      "add",
      "--name",
      name,
      "--tool",
      "echo",
      "--arguments",
      '{"text":"All is well."}',
      ...when,
    )) as { job: Job }
  ).job;
}

test("keyboard alone creates, runs and inspects a tool call job", async ({ page, rouse }) => {
  await rouse.open(page, "/jobs");
  await page.keyboard.press("n");
  await expect(page.getByRole("textbox", { name: "Name" })).toBeFocused();
  await page.keyboard.type("Tool job");
  await choose(page, "Kind", "Tool call");
  await choose(page, "When it fires", "Manual");
  await tabTo(page, page.getByRole("button", { name: /Tool$/ }));
  await page.keyboard.press("Enter");
  await page.keyboard.type("echo");
  await expect(page.getByRole("option", { name: /^echo/ })).toBeFocused();
  await expectAccessible(page, "the open list of tools");
  await page.keyboard.press("Enter");
  await tabTo(page, page.getByRole("group", { name: "Arguments" }).getByRole("textbox", { name: "text" }));
  await page.keyboard.type("Typed, not clicked.");
  await page.keyboard.press("Control+Enter");
  await expect(page).toHaveURL(/\/jobs\/[0-9a-f-]{36}$/);

  await tabTo(page, page.getByRole("button", { name: "Run now" }));
  await page.keyboard.press("Enter");
  const run = page.getByRole("list", { name: "Recent runs" }).getByRole("link").first();
  await tabTo(page, run);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Tool job", level: 1 })).toBeVisible();
  await tabTo(page, page.getByRole("button", { name: /^text: Typed, not clicked/ }));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("region", { name: "Arguments" })).toContainText("Typed, not clicked.");
  await expectAccessible(page, "a run with a step open");
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`axe finds nothing in any state of the editor, ${colorScheme}`, async ({ page, rouse }) => {
    test.slow();
    await page.emulateMedia({ colorScheme });
    await rouse.open(page, "/jobs/new");
    const name = page.getByRole("textbox", { name: "Name" });
    for (const when of ["Once", "Every", "Days & times", "Cron", "Event", "Webhook", "Manual"]) {
      await name.focus();
      await choose(page, "When it fires", when);
      await expectAccessible(page, when);
    }
    for (const what of ["Agent task", "Tool call", "Reminder"]) {
      await name.focus();
      await choose(page, "Kind", what);
      await expectAccessible(page, what);
    }
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByText("Add a name.")).toBeVisible();
    await expectAccessible(page, "complaints at their fields");
  });
}

test("preview shows the engine's next slots", async ({ page, rouse }) => {
  await rouse.open(page, "/jobs/new");
  await page.getByRole("textbox", { name: "Name" }).focus();
  await choose(page, "When it fires", "Cron");
  for (const pattern of ["30 7 * * 1-5", "0 0 29 2 *", "15,45 */6 1-7 * MON", "@weekly"]) {
    await page.getByRole("textbox", { name: "Cron expression" }).fill(pattern);
    const told = (await rouse.cli("cron", "preview", "--cron", pattern, "--tz", "Europe/Berlin")) as {
      text: string;
      next: { jobTime: string }[];
    };
    const shown = page.getByRole("complementary", { name: "Job preview" }).locator("time");
    await expect
      .poll(() => shown.evaluateAll((times) => times.map((time) => time.getAttribute("datetime"))), pattern)
      .toEqual(told.next.map(({ jobTime }) => jobTime));
    await expect(page.getByRole("complementary", { name: "Job preview" })).toContainText(told.text);
  }
});

test("remote change applies to a clean form and warns a dirty one", async ({ page, rouse }) => {
  const job = await addEcho(rouse, "Shared");
  await rouse.open(page, `/jobs/${job.id}`);
  const name = page.getByRole("textbox", { name: "Name" });
  await expect(name).toHaveValue("Shared");
  await rouse.cli("cron", "edit", job.id, "--name", "Taken over");
  await expect(name).toHaveValue("Taken over");

  await name.fill("Mine");
  await rouse.cli("cron", "edit", job.id, "--name", "Theirs");
  await expect(page.getByRole("alert")).toContainText("changed elsewhere");
  await expect(name).toHaveValue("Mine");
  await expectAccessible(page, "the notice");
  await page.keyboard.press("Control+s");
  await expect(page.getByRole("alert")).toContainText("changed elsewhere");
  expect((await jobOf(rouse, job.id)).name).toBe("Theirs");
  await page.getByRole("button", { name: "Show the new version" }).click();
  await expect(name).toHaveValue("Theirs");
  await name.fill("Ours");
  await page.keyboard.press("Control+s");
  await expect.poll(async () => (await jobOf(rouse, job.id)).name).toBe("Ours");
});

test("hidden fields stay unchanged on save", async ({ page, rouse }) => {
  const job = await addEcho(
    rouse,
    "Rich",
    "--every",
    "90s",
    "--misfire",
    "run-all",
    "--overlap",
    "queue",
    "--timeout",
    "95s",
    "--max-attempts",
    "3",
  );
  await rouse.open(page, `/jobs/${job.id}`);
  await page.getByRole("textbox", { name: "Description (optional)" }).fill("Only this is new.");
  await page.keyboard.press("Control+s");
  await expect.poll(async () => (await jobOf(rouse, job.id)).description).toBe("Only this is new.");
  const { description, updatedAtMs, state, ...rest } = await jobOf(rouse, job.id);
  const { updatedAtMs: before, state: oldState, ...expected } = job;
  expect(rest).toEqual(expected);
  expect([description, Number(updatedAtMs) >= Number(before), state.revision > oldState.revision]).toEqual([
    "Only this is new.",
    true,
    true,
  ]);
});

test("undo restores the whole deleted job", async ({ page, rouse }) => {
  const job = await addEcho(rouse, "Regretted", "--every", "6h");
  await rouse.open(page, "/jobs");
  await page.getByRole("button", { name: "More for Regretted" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await expect(page.getByRole("link", { name: "Regretted" })).toHaveCount(0);
  await expect
    .poll(async () =>
      ((await rouse.cli("cron", "list", "--all")) as { jobs: { job: Job }[] }).jobs.some(
        (view) => view.job.id === job.id,
      ),
    )
    .toBe(false);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByRole("link", { name: "Regretted" })).toBeVisible();
  const back = await jobOf(rouse, job.id);
  expect([back.schedule, back.payload, back.createdAtMs]).toEqual([job.schedule, job.payload, job.createdAtMs]);
});

test("leaving with unsaved changes asks first", async ({ page, rouse }) => {
  await rouse.open(page, "/jobs/new");
  await page.getByRole("textbox", { name: "Name" }).fill("Half an idea");
  const runs = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Runs" });
  await runs.click();
  const question = page.getByRole("alertdialog", { name: "Leave without saving?" });
  await expect(question).toBeVisible();
  await expectAccessible(page, "the question");
  await page.keyboard.press("Escape");
  await expect(question).toHaveCount(0);
  await expect(page.getByRole("textbox", { name: "Name" })).toHaveValue("Half an idea");
  await runs.click();
  await question.getByRole("button", { name: "Leave" }).click();
  await expect(page.getByRole("heading", { name: "Runs", level: 1 })).toBeVisible();
  expect(
    ((await rouse.cli("cron", "list", "--all")) as { jobs: { job: Job }[] }).jobs.some(
      (view) => view.job.name === "Half an idea",
    ),
  ).toBe(false);
});

test("remotely deleted job shows not found", async ({ page, rouse }) => {
  const job = await addEcho(rouse, "Going");
  await rouse.open(page, `/jobs/${job.id}`);
  await expect(page.getByRole("textbox", { name: "Name" })).toHaveValue("Going");
  await rouse.cli("cron", "rm", job.id);
  await expect(page.getByText("Job not found")).toBeVisible();
});
