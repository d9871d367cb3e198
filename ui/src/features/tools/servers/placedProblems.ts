/* Errors of the engine at the fields of the form. */

import { toSentence } from "@/format/text";
import { fieldErrors } from "@/platform";

import { withoutFlags } from "./engineMessage";
import type { FormProblems } from "./serverForm";
import type { SourceKind } from "./serverSource";

/** Fields of the form by error path, first match wins. */
const fieldPaths: readonly { path: string; field: keyof FormProblems; kinds?: readonly SourceKind[] }[] = [
  { path: "name", field: "name" },
  { path: "server.startTimeoutSeconds", field: "startSeconds" },
  { path: "server.callTimeoutSeconds", field: "callSeconds" },
  { path: "server.mode", field: "mode" },
  { path: "server.transport.environment", field: "pairs" },
  { path: "server.transport.headers", field: "pairs" },
  { path: "server.transport.folders", field: "folders" },
  { path: "server.transport.folder", field: "folder" },
  { path: "server.transport.hosts", field: "hosts" },
  { path: "server.transport.arguments", field: "words", kinds: ["npm", "pypi", "mcpb", "folder"] },
  { path: "server.transport.command", field: "words", kinds: ["folder"] },
  { path: "server.transport.command", field: "runtime", kinds: ["npm", "pypi"] },
  { path: "source.config", field: "config" },
  { path: "source.program", field: "program" },
  { path: "source", field: "source" },
  { path: "server", field: "source" },
];

/** Problems of the fields that an error of the engine names. */
export function placedProblems(error: Error, kind: SourceKind): FormProblems {
  const problems: FormProblems = {};
  for (const { path, message } of fieldErrors(error)) {
    // The switch shows no error.
    if (path.startsWith("server.transport.isUnconfined")) continue;
    const found = fieldPaths.find((one) => path.startsWith(one.path) && (one.kinds?.includes(kind) ?? true));
    // The engine judges the settings of a bundle with its source.
    const field = kind === "mcpb" && message.includes("--config ") ? "config" : found?.field;
    if (field !== undefined) problems[field] ??= toSentence(withoutFlags(message));
  }
  return problems;
}
