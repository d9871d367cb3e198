import { screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";

import type { Job } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aJob } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

function hostWith(job: Partial<Job> = {}) {
  return fakeHost({ "cron.get": () => aJob(job), "cron.update": () => aJob(job) });
}

type User = ReturnType<typeof renderApp>["user"];

/** Pastes the text, which is faster than typing. */
async function write(user: User, field: HTMLElement, text: string) {
  await user.click(field);
  await user.paste(text);
}

const save = () => screen.getByRole("button", { name: "Save" });
const name = () => screen.findByRole("textbox", { name: "Name" });

test("time limit keeps the chosen unit and 10 seconds", async () => {
  const host = hostWith({ policies: { timeoutSeconds: 100 } });
  const { user } = renderApp("/jobs/job-1", host);
  await name();
  const limit = screen.getByRole("textbox", { name: "Time limit" });
  const unit = screen.getByRole("button", { name: /Unit of “Time limit”/ });
  expect(limit).toHaveValue("100");
  expect(unit).toHaveTextContent("seconds");
  await user.clear(limit);
  await write(user, limit, "10");
  await user.tab();
  expect(limit).toHaveValue("10");
  await user.click(save());
  await waitFor(() =>
    expect(host.called("cron.update")[0]).toMatchObject({ patch: { policies: { timeoutSeconds: 10 } } }),
  );
});

test("changing the unit keeps the number and converts the default", async () => {
  const host = hostWith();
  const { user } = renderApp("/jobs/job-1", host);
  await name();
  const limit = screen.getByRole("textbox", { name: "Time limit" });
  expect(limit).toHaveAttribute("placeholder", "10");
  await user.click(screen.getByRole("button", { name: /Unit of “Time limit”/ }));
  await user.click(await screen.findByRole("option", { name: "seconds" }));
  expect(limit).toHaveAttribute("placeholder", "600");
  await write(user, limit, "45");
  await user.click(screen.getByRole("button", { name: /Unit of “Time limit”/ }));
  await user.click(await screen.findByRole("option", { name: "hours" }));
  expect(limit).toHaveValue("45");
  await user.click(save());
  await waitFor(() =>
    expect(host.called("cron.update")[0]).toMatchObject({ patch: { policies: { timeoutSeconds: 162_000 } } }),
  );
});
