/* Groups of built-in tools by purpose. */

import type { ToolView } from "@/platform";

export interface ToolGroup {
  title: string;
  tools: ToolView[];
}

const files = ["read_file", "list_dir", "search_files", "write_file", "edit_file", "create_workspace"];
const web = ["http", "web_fetch", "web_search"];
const commands = ["run_command"];

const groups: readonly { title: string; has: (name: string) => boolean }[] = [
  { title: "Files", has: (name) => files.includes(name) },
  { title: "Web", has: (name) => web.includes(name) },
  { title: "Commands", has: (name) => commands.includes(name) },
  { title: "Memory", has: (name) => name.startsWith("memory_") },
  { title: "Jobs", has: (name) => name.startsWith("routine_") },
];

/** Built-in tools by group, without empty groups. Keeps the order of the tools. */
export function groupTools(tools: readonly ToolView[]): ToolGroup[] {
  const own = tools.filter(({ origin }) => origin === null);
  const known = groups.map(({ title, has }) => ({ title, tools: own.filter(({ name }) => has(name)) }));
  const others = own.filter(({ name }) => !groups.some(({ has }) => has(name)));
  return [...known, { title: "Other", tools: others }].filter((group) => group.tools.length > 0);
}
