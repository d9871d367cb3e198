import { screen, waitFor, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";

import { errorCode, RpcError, type ServerState, type SignInStatus } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aDefinition, anExtension, anExtensionDetail, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const url = "https://auth.example/authorize?state=1";
const need = "The server cal needs a sign-in.";

/** A host with one server over HTTP. `end` ends a pending sign-in. */
function signInHost(first: SignInStatus = { state: "signedOut" }, state: ServerState = "needsSignIn") {
  const engine = { signIn: first, state };
  let wake: () => void = () => undefined;
  const end = (signIn: SignInStatus) => {
    engine.signIn = signIn;
    if (signIn.state === "signedIn") engine.state = "off";
    wake();
  };
  const host = fakeHost({
    "tools.catalog": () => ({ tools: [], refused: [] }),
    "extensions.list": () => ({
      extensions: [
        anExtension({
          state: engine.state,
          label: engine.state === "off" ? "off" : "needs sign-in",
          reason: engine.state === "off" ? null : need,
        }),
      ],
    }),
    "extensions.get": () =>
      anExtensionDetail({
        signIn: engine.signIn,
        status: { state: engine.state },
        extension: {
          server: { ...aDefinition(), transport: { kind: "http", url: "https://mcp.example/mcp", headers: {} } },
        },
      }),
    "extensions.signIn": () => {
      engine.signIn = { state: "pending" };
      return { url };
    },
    "extensions.awaitSignIn": async () => {
      if (engine.signIn.state === "pending") await new Promise<void>((resolve) => (wake = resolve));
      return engine.signIn;
    },
    "extensions.cancelSignIn": () => {
      end({ state: "signedOut", reason: "The sign-in was cancelled." });
      return { changed: true };
    },
    "extensions.signOut": () => {
      end({ state: "signedOut" });
      return { changed: true };
    },
  });
  return { host, end };
}

const server = async () => within(await screen.findByRole("region", { name: "cal" }));

test("sign-in opens the browser and ends with the new state", async () => {
  const { host, end } = signInHost();
  const { user } = renderApp("/tools", host);
  const cal = await server();
  await user.click(await cal.findByRole("button", { name: "Sign in at cal" }));
  expect(await cal.findByText("Waiting for the browser …")).toBeInTheDocument();
  expect(host.openExternal).toHaveBeenCalledExactlyOnceWith(url);
  expect(cal.queryByRole("button", { name: "Sign in at cal" })).not.toBeInTheDocument();
  end({ state: "signedIn", signedInAtMs: noon, refreshedAtMs: noon });
  expect(await cal.findByText("Off")).toBeInTheDocument();
  await waitFor(() => expect(cal.queryByText("Waiting for the browser …")).not.toBeInTheDocument());
  expect(cal.queryByRole("button", { name: "Sign in at cal" })).not.toBeInTheDocument();
});

test("cancelled sign-in offers another one", async () => {
  const { host } = signInHost({ state: "pending" });
  const { user } = renderApp("/tools", host);
  const cal = await server();
  await user.click(await cal.findByRole("button", { name: "Cancel the sign-in at cal" }));
  expect(await cal.findByText("The sign-in was cancelled.")).toBeInTheDocument();
  expect(cal.getByRole("button", { name: "Sign in at cal" })).toBeInTheDocument();
  expect(host.called("extensions.cancelSignIn")).toEqual([{ name: "cal" }]);
});

test("refused sign-in shows the reason", async () => {
  const { host } = signInHost();
  host.answers["extensions.signIn"] = () =>
    Promise.reject(new RpcError(errorCode.conflict, "The server cal publishes no sign-in."));
  const { user } = renderApp("/tools", host);
  const cal = await server();
  await user.click(await cal.findByRole("button", { name: "Sign in at cal" }));
  expect(await cal.findByRole("alert")).toHaveTextContent("The server cal publishes no sign-in.");
  expect(host.openExternal).not.toHaveBeenCalled();
});

test("address shows if the browser does not open", async () => {
  const { host } = signInHost();
  host.openExternal = vi.fn(() => Promise.reject(new Error("Could not open the browser.")));
  const { user } = renderApp("/tools", host);
  const cal = await server();
  await user.click(await cal.findByRole("button", { name: "Sign in at cal" }));
  expect(await cal.findByRole("region", { name: "Sign-in address" })).toHaveTextContent(url);
});

test("details show the sign-in and sign out", async () => {
  const { host } = signInHost({ state: "signedIn", signedInAtMs: noon, refreshedAtMs: noon }, "off");
  const { user } = renderApp("/tools", host);
  const cal = await server();
  await user.click(cal.getByRole("button", { name: /^Details/ }));
  expect(await cal.findByText(/^Signed in, last refreshed/)).toBeInTheDocument();
  await user.click(cal.getByRole("button", { name: "Sign out of cal" }));
  const dialog = within(await screen.findByRole("alertdialog"));
  await user.click(dialog.getByRole("button", { name: "Sign out" }));
  await waitFor(() => expect(cal.queryByText(/^Signed in/)).not.toBeInTheDocument());
  expect(host.called("extensions.signOut")).toEqual([{ name: "cal" }]);
});
