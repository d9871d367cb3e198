/* Fixture: a real engine for each test, with a temporary data directory and a port. Any error logged by the page, such as a refused style or script, fails the test. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { type Page, test as base } from "@playwright/test";

import { startModel } from "./model";

export { expect } from "@playwright/test";

const binary = process.env.ROUSE_BIN ?? fileURLToPath(new URL("../../target/debug/rouse", import.meta.url));
const run = promisify(execFile);

export interface Rouse {
  /** `http://127.0.0.1:<port>` */
  readonly address: string;
  /** Runs a `rouse` command against this engine and parses the JSON. */
  cli: (...args: string[]) => Promise<unknown>;
  /** One-time sign-in address. */
  doorTo: (path: string) => Promise<string>;
  /** Signs the page in and shows `path`. */
  open: (page: Page, path: string) => Promise<void>;
  /** The text of a file of the workspace; undefined when there is none. */
  workspaceFile: (path: string) => Promise<string | undefined>;
  stop: () => Promise<void>;
  /** Restarts the engine at the same address. */
  startAgain: () => Promise<void>;
}

async function start(home: string): Promise<Rouse> {
  // A clean environment: no key, proxy or model server of this computer reaches the engine.
  const env = { PATH: process.env.PATH, HOME: home, ROUSE_HOME: home, ROUSE_LOCAL_MODELS: "0", TZ: "Europe/Berlin" };
  const serve = (port: string) =>
    spawn(binary, ["serve", "--port", port, "--ready-json"], { env, stdio: ["ignore", "pipe", "pipe"] });
  let engine = serve("0");
  const address = `http://${await readyAddress(engine)}`;
  const command = async (args: string[]) => (await run(binary, args, { env })).stdout;
  const doorTo = async (path: string) => (await command(["open", "--print", path])).trim();
  return {
    address,
    cli: async (...args) => JSON.parse(await command([...args, "--json"])) as unknown,
    doorTo,
    open: async (page, path) => {
      await page.goto(await doorTo(path));
      // Leaving before the code is exchanged would leave the page signed out.
      await page.getByRole("navigation", { name: "Main" }).waitFor();
    },
    workspaceFile: (path) => readFile(join(home, "workspace", path), "utf8").catch(() => undefined),
    stop: () => stopped(engine),
    startAgain: async () => {
      engine = serve(new URL(address).port);
      await readyAddress(engine);
    },
  };
}

/** Address from the engine's first output line; fails with the engine's errors. */
async function readyAddress(engine: ChildProcess): Promise<string> {
  let complaints = "";
  engine.stderr?.on("data", (chunk) => (complaints += String(chunk)));
  if (!engine.stdout) throw new Error("BUG: no pipe to the engine");
  for await (const line of createInterface({ input: engine.stdout }))
    return (JSON.parse(line) as { address: string }).address;
  throw new Error(`rouse serve ended before it was ready: ${complaints}`);
}

async function stopped(engine: ChildProcess): Promise<void> {
  if (engine.exitCode !== null || engine.signalCode !== null) return;
  const ended = new Promise((resolve) => engine.once("exit", resolve));
  engine.kill("SIGTERM");
  await ended;
}

interface Fixtures {
  /** Connects the scripted model (e2e/model.ts). */
  hasModel: boolean;
  rouse: Rouse;
  /** Allows matching errors in the page's log. */
  allow: (pattern: RegExp) => void;
}

export const test = base.extend<Fixtures>({
  hasModel: [false, { option: true }],
  rouse: async ({ hasModel }, use) => {
    const home = await mkdtemp(join(tmpdir(), "rouse-e2e-"));
    const model = hasModel ? await startModel() : undefined;
    if (model)
      await writeFile(
        join(home, "config.toml"),
        `[model]\nprovider = "told"\n[providers.told]\nkind = "openai"\nbaseUrl = "${model.address}"\nmodel = "told"\n`,
      );
    const rouse = await start(home);
    await use(rouse);
    await rouse.stop();
    await model?.stop();
    await rm(home, { recursive: true, force: true });
  },
  allow: [
    // Depends on the engine, so that the check ends before the engine stops; pages log the lost connection.
    async ({ page, rouse }, use) => {
      const complaints: string[] = [];
      const allowed: RegExp[] = [];
      page.on("console", (message) => {
        if (message.type() === "error") complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(String(error.stack ?? error)));
      await use((pattern) => allowed.push(pattern));
      const unexpected = complaints.filter((text) => !allowed.some((pattern) => pattern.test(text)));
      base.expect(unexpected, `the page at ${rouse.address} logged errors`).toEqual([]);
    },
    { auto: true },
  ],
});
