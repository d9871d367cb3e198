import { screen } from "@testing-library/react";
import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aRun } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

test("a row names its state for a reader of the screen once, and has a short word for where there is no room", async () => {
  const run = aRun({ state: "nothingToReport", jobName: "Backup" });
  renderApp("/runs", fakeHost({ "runs.list": () => ({ runs: [run], nextCursor: null, total: 1 }) }));
  const row = (await screen.findByRole("link", { name: "Backup" })).parentElement;
  const short = screen.getByText("Nothing", { exact: true });
  expect(row).toContainElement(short);
  expect(short).toHaveAttribute("aria-hidden", "true");
  expect(row?.querySelector(".visually-hidden")).toHaveTextContent("Nothing to report");
});
