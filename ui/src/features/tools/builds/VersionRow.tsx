/* Facts of a version of a built tool on one row. */

import { Link } from "@tanstack/react-router";

import { Time } from "@/components/Time";
import { VisibleText } from "@/components/VisibleText";
import { BuildStateGlyph, UntrustedBuildMark } from "@/domain/buildState";
import { isUntrustedBuild, languageLabels, shortHash, testsLabel } from "@/domain/toolBuilds";
import { showOneLine } from "@/format/visible";
import type { ToolBuildSummary } from "@/platform";

import styles from "./Builds.module.css";

/** Version by the manifest, or the beginning of the hash. */
export function versionName({ version, hash }: Pick<ToolBuildSummary, "version" | "hash">): string {
  return version === null ? shortHash(hash) : showOneLine(version);
}

interface Props {
  build: ToolBuildSummary;
  /** The page shows this version, so the row has no link. */
  isShown?: boolean;
}

export function VersionRow({ build, isShown = false }: Props) {
  const { name, hash, language, state, runId, checkedAtMs } = build;
  const version = <VisibleText text={versionName(build)} />;
  return (
    <div className={styles.version}>
      <span className={styles.state}>
        <BuildStateGlyph state={state} />
      </span>
      <span className={styles.facts}>
        {isShown ? (
          version
        ) : (
          <Link
            to="/tools/built/$toolName"
            params={{ toolName: name }}
            search={{ hash }}
            title={hash}
            className={styles.factLink}
            aria-label={`${name}, version ${versionName(build)}`}
          >
            {version}
          </Link>
        )}
        {` · ${languageLabels[language]} · ${testsLabel(build)}`}
      </span>
      {isUntrustedBuild(build) && <UntrustedBuildMark />}
      <span className={styles.end}>
        {isShown && <span>Shown on this page</span>}
        <Time at={checkedAtMs} as="log" />
        {runId !== null && (
          <Link
            to="/runs/$runId"
            params={{ runId }}
            className={styles.factLink}
            aria-label={`Run that made ${name}, version ${versionName(build)}`}
          >
            Run
          </Link>
        )}
      </span>
    </div>
  );
}
