/* URL parameters of the tool catalog, a built tool and an install link. */

export interface ToolsSearch {
  /** Job of the shown tools. */
  job?: string;
}

export function readToolsSearch({ job }: Record<string, unknown>): ToolsSearch {
  return typeof job === "string" && job !== "" ? { job } : {};
}

export interface BuiltToolSearch {
  /** SHA-256 of the shown version; the version checked last without one. */
  hash?: string;
}

/** Pitfall: the router keeps a parameter that a result leaves out. */
export function readBuiltToolSearch({ hash }: Record<string, unknown>): BuiltToolSearch {
  return { hash: typeof hash === "string" && /^[0-9a-f]{64}$/.test(hash) ? hash : undefined };
}

/** Parameters of an install link, each absent or a text. */
export interface InstallSearch {
  npm?: string;
  pypi?: string;
  url?: string;
  /** Name of a registry entry. */
  entry?: string;
  /** Proposed name of the server. */
  name?: string;
}

const maxLinkLength = 512;

/** Pitfall: the router keeps parameters that a result leaves out, so each is set. */
export function readInstallSearch(search: Record<string, unknown>): InstallSearch {
  const text = (key: keyof InstallSearch) => {
    const value = search[key];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const read = { npm: text("npm"), pypi: text("pypi"), url: text("url"), entry: text("entry"), name: text("name") };
  const length = Object.values(read).reduce((sum, value) => sum + (value?.length ?? 0), 0);
  return length <= maxLinkLength
    ? read
    : { npm: undefined, pypi: undefined, url: undefined, entry: undefined, name: undefined };
}
