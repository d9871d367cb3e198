/* Search of the MCP registry. Sends nothing before the person presses Search. A chosen entry fills in the form and
   installs nothing. */

import { useState } from "react";

import { Button } from "@/components/Button";
import { InlineCode } from "@/components/InlineCode";
import { VisibleText } from "@/components/VisibleText";
import { useCall } from "@/data/actions";
import { Result } from "@/features/tools/registry/Result";
import styles from "@/features/tools/registry/Registry.module.css";
import { SearchForm } from "@/features/tools/registry/SearchForm";
import { WithRegistry } from "@/features/tools/registry/WithRegistry";
import { plural } from "@/format/amount";
import { showInvisible, showOneLine } from "@/format/visible";
import type { RegistrySearchResult, RegistryServerView } from "@/platform";

import type { EntryServer } from "./registryEntry";
import { readServerDocument } from "./serverDocument";
import serverStyles from "./Servers.module.css";

/** Query, results and errors; kept while the dialog shows another step. */
export function useServerSearch(firstQuery: string) {
  const call = useCall("extensions.search");
  const [query, setQuery] = useState(firstQuery);
  const [found, setFound] = useState<RegistrySearchResult & { query: string }>();
  return {
    query,
    setQuery,
    found,
    error: call.error,
    isPending: call.isPending,
    search: () => {
      const words = query.trim();
      call.mutate({ query: words }, { onSuccess: (page) => setFound({ ...page, query: words }) });
    },
    /** Fetches the next page of the shown results. */
    more: () => {
      if (found?.next === undefined) return;
      const { query: words, next: cursor, servers } = found;
      call.mutate(
        { query: words, cursor },
        { onSuccess: (page) => setFound({ ...page, query: words, servers: [...servers, ...page.servers] }) },
      );
    },
  };
}

interface Props {
  search: ReturnType<typeof useServerSearch>;
  onChoose: (servers: EntryServer[]) => void;
}

export function RegistrySearch({ search, onChoose }: Props) {
  const { query, setQuery, found, error, isPending } = search;
  return (
    <WithRegistry name="servers">
      <div className={styles.search}>
        <SearchForm
          label="Search the registry"
          query={query}
          onChange={setQuery}
          onSearch={search.search}
          isPending={isPending}
          error={error}
          result={found && `${plural(found.servers.length, "result")} of ${showInvisible(found.registry)}`}
        />
        {found && found.servers.length > 0 && (
          <ul aria-label="Servers of the registry" className={styles.results}>
            {found.servers.map((server, at) => (
              <ServerResult key={at} server={server} onChoose={onChoose} />
            ))}
          </ul>
        )}
        {found?.next !== undefined && (
          <Button small className={styles.more} isPending={isPending} onPress={search.more}>
            More
          </Button>
        )}
      </div>
    </WithRegistry>
  );
}

interface ServerResultProps {
  server: RegistryServerView;
  onChoose: (servers: EntryServer[]) => void;
}

function ServerResult({ server, onChoose }: ServerResultProps) {
  const [unread, setUnread] = useState<string>();
  const { document, problem = unread, source, ...texts } = server;
  const choose = () => {
    const read = readServerDocument(document);
    if ("servers" in read) onChoose(read.servers);
    else setUnread(read.problem);
  };
  return (
    <Result
      {...texts}
      action={
        problem === undefined && (
          <Button small onPress={choose} aria-label={`Use ${showOneLine(server.name)}`}>
            Use
          </Button>
        )
      }
    >
      {problem === undefined ? (
        <p className={styles.note}>
          Source: <VisibleText text={showOneLine(source ?? "")} />
        </p>
      ) : (
        <p className={serverStyles.error}>
          <InlineCode text={showInvisible(problem)} />
        </p>
      )}
    </Result>
  );
}
