/* Search of the skill registry. Sends nothing before the person presses Search. A chosen skill is downloaded and shown,
   and stays uninstalled. */

import { useState } from "react";

import { Button } from "@/components/Button";
import { useCall } from "@/data/actions";
import { Result } from "@/features/tools/registry/Result";
import styles from "@/features/tools/registry/Registry.module.css";
import { SearchForm } from "@/features/tools/registry/SearchForm";
import { WithRegistry } from "@/features/tools/registry/WithRegistry";
import { ActionError } from "@/features/tools/servers/DialogParts";
import { plural } from "@/format/amount";
import { showInvisible, showOneLine } from "@/format/visible";
import type { RegistrySkillView, SkillSearchResult } from "@/platform";

import type { ReadSkill } from "./SkillConsent";

/** Query, results and error; kept while the dialog shows the page of a skill. */
export function useSkillSearch() {
  const call = useCall("skills.search");
  const [query, setQuery] = useState("");
  // The last results stay until the next results are here.
  const [found, setFound] = useState<SkillSearchResult>();
  return {
    query,
    setQuery,
    found,
    error: call.error,
    isPending: call.isPending,
    search: () => call.mutate({ query: query.trim() }, { onSuccess: setFound }),
  };
}

interface Props {
  search: ReturnType<typeof useSkillSearch>;
  onRead: (read: ReadSkill) => void;
}

export function SkillSearch({ search, onRead }: Props) {
  const { query, setQuery, found, error, isPending } = search;
  return (
    <WithRegistry name="skills">
      <div className={styles.search}>
        <SearchForm
          label="Search the registry"
          query={query}
          onChange={setQuery}
          onSearch={search.search}
          isPending={isPending}
          error={error}
          result={found && `${plural(found.skills.length, "result")} of ${showInvisible(found.registry)}`}
        />
        {found && found.skills.length > 0 && (
          <ul aria-label="Skills of the registry" className={styles.results}>
            {found.skills.map((skill, at) => (
              <SkillResult key={`${at} ${skill.slug}`} skill={skill} onRead={onRead} />
            ))}
          </ul>
        )}
      </div>
    </WithRegistry>
  );
}

interface SkillResultProps {
  skill: RegistrySkillView;
  onRead: (read: ReadSkill) => void;
}

function SkillResult({ skill: { slug, name, version, description }, onRead }: SkillResultProps) {
  const download = useCall("skills.download");
  const preview = useCall("skills.preview");
  const read = () => {
    preview.reset();
    download.mutate(
      { slug, ...(version !== undefined && { version }) },
      {
        onSuccess: ({ path, warning }) => preview.mutate({ path }, { onSuccess: (page) => onRead({ page, warning }) }),
      },
    );
  };
  const error = download.error ?? preview.error;
  return (
    <Result
      name={slug}
      title={name}
      version={version}
      description={description}
      action={
        <Button
          small
          isPending={download.isPending || preview.isPending}
          onPress={read}
          aria-label={`View ${showOneLine(slug)}`}
        >
          View
        </Button>
      }
    >
      {error && <ActionError error={error} />}
    </Result>
  );
}
