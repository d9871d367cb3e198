/* Permissions and origin of a version of a built tool. */

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { Facts } from "@/components/Facts";
import { Time } from "@/components/Time";
import { VisibleText } from "@/components/VisibleText";
import { useTools } from "@/data/queries";
import { type ToolManifestFacts, ownFilesLabels, shortHash } from "@/domain/toolBuilds";
import { toolsOfServer } from "@/domain/tools";
import { showOneLine } from "@/format/visible";
import type { ToolBuildDetail } from "@/platform";

import styles from "./Builds.module.css";

interface Props {
  detail: ToolBuildDetail;
  /** Undefined without a valid manifest. */
  manifest: ToolManifestFacts | undefined;
}

export function BuildFacts({ detail: { build, reach }, manifest }: Props) {
  const { name, hash, engine, engineVersion, runId, checkedAtMs, state } = build;
  const installed = toolsOfServer(useTools().data ?? [], name)[0];
  return (
    <div className={styles.limits}>
      <Facts
        facts={[
          {
            name: "Reach of a call",
            value: reach === null ? "Unknown, because the manifest cannot be read." : shown(reach),
            wide: true,
          },
          manifest && { name: "Hosts", value: lines(manifest.hosts, "None: no network") },
          manifest && { name: "Secrets", value: lines(manifest.secrets, "None") },
          manifest && { name: "Files", value: ownFilesLabels[manifest.files] },
          manifest && { name: "Author’s claim", value: manifest.isReadOnly ? "Read-only" : "Can change data" },
          { name: "Engine", value: shown(`${engine} ${engineVersion}`) },
          { name: "Hash", value: <code title={hash}>{shortHash(hash)}</code> },
          { name: "Checked", value: <Time at={checkedAtMs} as="log" /> },
          {
            name: "Made by",
            value:
              runId === undefined ? (
                "Your own folder"
              ) : (
                <Link to="/runs/$runId" params={{ runId }} className={styles.link}>
                  A run
                </Link>
              ),
          },
          state === "accepted" &&
            installed !== undefined && {
              name: "Tool",
              value: (
                <Link to="/tools/$toolName" params={{ toolName: installed.name }} className={styles.link}>
                  <code>{installed.name}</code>
                </Link>
              ),
            },
        ]}
      />
    </div>
  );
}

function shown(text: string): ReactNode {
  return <VisibleText text={showOneLine(text)} />;
}

function lines(values: readonly string[], none: string): ReactNode {
  if (values.length === 0) return none;
  return values.map((value, i) => (
    <div key={i}>
      <code>{shown(value)}</code>
    </div>
  ));
}
