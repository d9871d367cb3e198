/* Streams model text to a page. */

import { act, screen, waitFor } from "@testing-library/react";
import { expect } from "vitest";

import type { FakeHost } from "./fakeHost";

/** Emits live text until the page shows the text. A fetch in flight may overwrite the text once. */
export async function streamText(host: FakeHost, said: { runId: string; turn?: number; text: string }) {
  await waitFor(() => {
    act(() => host.emit("runText", said, 0));
    expect(screen.getAllByText(said.text)).toHaveLength(1);
  });
}
