/* MCP servers of a job. Text form: `NAME`, or `NAME:optional` for a server that a run can do without. */

const optional = ":optional";

export interface JobServerChoice {
  name: string;
  isOptional: boolean;
}

export function parseJobServer(text: string): JobServerChoice {
  return text.endsWith(optional)
    ? { name: text.slice(0, -optional.length), isOptional: true }
    : { name: text, isOptional: false };
}

/** `servers` with `name` in this use; undefined removes the server. Keeps the order. */
export function withJobServer(
  servers: readonly string[],
  name: string,
  use: "required" | "optional" | undefined,
): string[] {
  const text = use === "optional" ? `${name}${optional}` : name;
  const isThis = (server: string) => parseJobServer(server).name === name;
  if (use === undefined) return servers.filter((server) => !isThis(server));
  return servers.some(isThis) ? servers.map((server) => (isThis(server) ? text : server)) : [...servers, text];
}
