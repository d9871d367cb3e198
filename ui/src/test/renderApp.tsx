/* Renders the whole UI at an address. */

import { createMemoryHistory } from "@tanstack/react-router";
import { render } from "@testing-library/react";
import userEvent from "@testing-library/user-event";

import { App } from "@/app/App";

import type { FakeHost } from "./fakeHost";

export function renderApp(path: string, host: FakeHost) {
  const history = createMemoryHistory({ initialEntries: [path] });
  const user = userEvent.setup();
  render(<App platform={host} history={history} />);
  return { history, user, path: () => history.location.pathname + history.location.search };
}
