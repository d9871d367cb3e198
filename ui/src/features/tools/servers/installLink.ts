/* Link that opens the form of a server (`rouse://install?npm=NAME@VERSION`). Reads only the name of a package, an
   address, or the name of a registry entry. Pitfall: any web page can open a link, so a link starts nothing. */

import type { InstallSearch } from "@/features/tools/searchParams";

import { emptyServerForm, namePattern, proposedName, type ServerForm } from "./serverForm";

/** What a link fills in. */
export interface InstallLink {
  form: ServerForm;
  /** Query of a registry search, which the person starts. */
  query?: string;
}

const packagePatterns = {
  npm: /^(@[\w.~-]+\/)?[\w.~-]+(@[\w.+-]+)?$/,
  pypi: /^[\w.-]+(==[\w.!+-]+)?$/,
};
const entryPattern = /^[\w.-]+(\/[\w.-]+)?$/;

/** The link, or why nothing can be filled in. Invalid parameters count as absent. */
export function readInstallLink({ npm, pypi, url, entry, name }: InstallSearch): InstallLink | { problem: string } {
  const sources = [
    ...(npm !== undefined && packagePatterns.npm.test(npm) ? [`npm:${npm}`] : []),
    ...(pypi !== undefined && packagePatterns.pypi.test(pypi) ? [`pypi:${pypi}`] : []),
    ...(url !== undefined && isServerAddress(url) ? [url] : []),
  ];
  const queries = entry !== undefined && entryPattern.test(entry) ? [entry] : [];
  const found = sources.length + queries.length;
  if (found === 0) return { problem: "The link names no package, no address and no registry entry." };
  if (found > 1) return { problem: "The link names several servers. A link must name exactly one." };
  const [source = ""] = sources;
  const [query] = queries;
  const named = name !== undefined && namePattern.test(name) ? name : proposedName(source, undefined);
  return { form: { ...emptyServerForm, source, name: named }, ...(query !== undefined && { query }) };
}

/** An address over TLS or of this computer, without a user name or password. */
function isServerAddress(text: string): boolean {
  if (/\s/.test(text) || !URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  const isHere = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);
  return (protocol === "https:" || (protocol === "http:" && isHere)) && username === "" && password === "";
}
