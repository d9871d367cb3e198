import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";

import type { StepView } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aDetail, aStep, newestHash } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

async function show(step: Partial<StepView>) {
  renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail({}, { steps: [aStep(step)] }) }));
  return within(await screen.findByRole("list", { name: "Steps" }));
}

const output = {
  name: "weather",
  hash: newestHash,
  passed: false,
  errors: ["`hosts` is invalid.\u202e"],
  tests: [
    { name: "sunny city", passed: true },
    { name: "no city\u202e", passed: false, message: "The result is {}.", log: ["asked"] },
  ],
  next: "Change the files.",
};

test("check lists errors and tests and links to the version", async () => {
  const steps = await show({ name: "tool_check", input: { name: "weather" }, output });
  expect(steps.getByText("Check a tool")).toBeInTheDocument();
  expect(steps.getByRole("link", { name: "weather" })).toHaveAttribute(
    "href",
    `/tools/built/weather?hash=${newestHash}`,
  );
  expect(steps.getByRole("list", { name: "Errors of weather" })).toHaveTextContent("hosts is invalid.⟨U+202E⟩");
  const tests = within(steps.getByRole("list", { name: "Tests of weather" })).getAllByRole("listitem");
  expect(tests.map(({ textContent }) => textContent)).toEqual([
    "Passed:sunny city",
    "Failed:no city⟨U+202E⟩The result is {}.asked",
  ]);
});

test("failed offer shows its label beside the failure", async () => {
  const error = "Another version was checked since.";
  const steps = await show({ name: "tool_offer", status: "failed", isError: true, output: { error } });
  expect(steps.getByText("Offer a tool · failed")).toBeInTheDocument();
});

test("step named like an object property has no label", async () => {
  const steps = await show({ name: "constructor" });
  expect(steps.getByText("constructor").nextElementSibling).toHaveTextContent("no approval needed · 5 ms");
});
