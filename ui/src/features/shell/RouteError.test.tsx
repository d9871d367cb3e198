import { act, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";

import { FeedContext } from "@/data/connection";
import type { EventFeed } from "@/data/events";
import type { Connection } from "@/platform";

import { RouteError } from "./RouteError";

const gone = new TypeError("Failed to fetch dynamically imported module: http://127.0.0.1/assets/RunsPage.js");

function show(error: Error, first: Connection) {
  let state = first;
  const watchers = new Set<() => void>();
  const watch = (watcher: () => void) => {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  };
  const reset = vi.fn();
  render(
    <FeedContext value={{ connection: () => state, watch } as unknown as EventFeed}>
      <RouteError error={error} reset={reset} />
    </FeedContext>,
  );
  const becomes = (next: Connection) =>
    act(() => {
      state = next;
      watchers.forEach((watcher) => watcher());
    });
  return { becomes };
}

test("missing chunk while unreachable shows Rouse not running", () => {
  show(gone, "lost");
  expect(screen.getByRole("heading", { name: "Rouse is not running" })).toBeInTheDocument();
  expect(screen.getByRole("alert")).toHaveTextContent("run rouse serve in a terminal");
  expect(screen.queryByText(/out of date/)).not.toBeInTheDocument();
});

test("connection lost later shows Rouse not running", () => {
  const { becomes } = show(gone, "open");
  expect(screen.getByRole("heading", { name: "Rouse was updated" })).toBeInTheDocument();
  becomes("lost");
  expect(screen.getByRole("heading", { name: "Rouse is not running" })).toBeInTheDocument();
});

test("other error shows its message", () => {
  show(new Error("no such thing"), "open");
  expect(screen.getByRole("alert")).toHaveTextContent("no such thing");
  expect(screen.getByRole("button", { name: "Try again" })).toBeInTheDocument();
});
