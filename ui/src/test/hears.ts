/* Words of a model on their way to a page. */

import { act, screen, waitFor } from "@testing-library/react";
import { expect } from "vitest";

import type { FakeHost } from "./fakeHost";

/** Lets the page hear what a model has said so far, until it shows it once: a fetch that was on its way when it came knows nothing
    of it, and a stream says the words again with the next ones. */
export async function hears(host: FakeHost, said: { runId: string; turn?: number; text: string }) {
  await waitFor(() => {
    act(() => host.emit("runText", said, 0));
    expect(screen.getAllByText(said.text)).toHaveLength(1);
  });
}
