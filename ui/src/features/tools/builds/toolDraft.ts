/* Draft of the installation of a tool folder. */

import type { ExtensionDraft } from "@/platform";

/** The engine fills in the permissions of the manifest. `name` is the name in tool.toml. */
export function toolDraft(name: string, path: string): ExtensionDraft {
  return {
    name,
    server: { transport: { kind: "wasm", hosts: [], secrets: [], files: "none" } },
    source: { kind: "tool", path },
  };
}
