/* Built tools: the newest version of each, and the installed version beside a newer one. */

import { Link } from "@tanstack/react-router";
import { Hammer, Plus } from "lucide-react";

import { Button } from "@/components/Button";
import { Section } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/Placeholders";
import { VisibleText } from "@/components/VisibleText";
import { Allowed } from "@/data/access";
import { useToolBuilds } from "@/data/toolBuilds";
import { type BuiltToolGroup, groupBuilds } from "@/domain/toolBuilds";
import { useScrollToSection } from "@/features/tools/servers/useScrollToSection";
import { showOneLine } from "@/format/visible";

import styles from "./Builds.module.css";
import { VersionRow } from "./VersionRow";

interface Props {
  /** Words of the search; empty without one. */
  words: string;
  /** Whether a text has all words of the search. */
  hasWords: (text: string) => boolean;
  onBuild: () => void;
  onAddFolder: () => void;
}

const sectionId = "built-tools";

export function BuiltToolsSection({ words, hasWords, onBuild, onAddFolder }: Props) {
  const { data: builds, error, refetch } = useToolBuilds();
  useScrollToSection(sectionId, builds !== undefined);
  const tools = builds && groupBuilds(builds);
  const shown = tools?.filter(({ name, description }) => hasWords(`${name} ${description ?? ""}`));
  if (words.trim() !== "" && shown?.length === 0) return null;
  return (
    <Section
      title="Built tools"
      id={sectionId}
      aside={
        <Allowed to="tools.check">
          <Button small look="ghost" icon={Plus} onPress={onAddFolder}>
            Add a tool folder
          </Button>
        </Allowed>
      }
    >
      {error && !builds && <Failure title="Could not load built tools." error={error} onRetry={() => void refetch()} />}
      {!error && !builds && <SkeletonRows rows={2} />}
      {tools?.length === 0 && (
        <Empty
          icon={Hammer}
          title="No built tools yet"
          action={
            <Allowed to="tools.build">
              <Button onPress={onBuild}>Build a tool</Button>
            </Allowed>
          }
        >
          Describe a tool, such as an exchange rate of the day. An agent writes and tests it, and you decide.
        </Empty>
      )}
      {shown !== undefined && shown.length > 0 && (
        <ul aria-label="Built tools" className={styles.tools}>
          {shown.map((tool) => (
            <li key={tool.name} className={styles.tool}>
              <BuiltToolRow tool={tool} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function BuiltToolRow({ tool: { name, description, versions } }: { tool: BuiltToolGroup }) {
  const text = description === null ? "The manifest cannot be read." : showOneLine(description);
  return (
    <>
      <div className={styles.head}>
        <Link to="/tools/built/$toolName" params={{ toolName: name }} search={{}} className={styles.name}>
          {name}
        </Link>
        <span className={styles.description} title={text}>
          <VisibleText text={text} />
        </span>
      </div>
      <ul aria-label={`Versions of ${name}`} className={styles.versions}>
        {versions.map((build) => (
          <li key={build.hash}>
            <VersionRow build={build} />
          </li>
        ))}
      </ul>
    </>
  );
}
