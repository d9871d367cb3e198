/* Source files of a built tool. A person reads them before an installation, so nothing is shortened and text that
   imitates a mark is escaped. */

import { Code } from "@/components/Code";
import { Collapsible } from "@/components/Collapsible";
import { usePlatform } from "@/data/platform";
import { bytes } from "@/format/amount";
import { showOneLine } from "@/format/visible";
import type { ToolSourceFile } from "@/platform";

import styles from "./Builds.module.css";

/** A tool has a manifest and a script; more files start collapsed. */
const maxExpanded = 3;

export function SourceFiles({ files }: { files: readonly ToolSourceFile[] }) {
  const { copyText } = usePlatform();
  if (files.length === 0) return <p className={styles.note}>The folder has no files.</p>;
  return (
    <div className={styles.sources}>
      {files.map(({ path, text, bytes: size }) => {
        const name = showOneLine(path);
        return (
          <Collapsible key={path} title={name} summary={bytes(size)} defaultExpanded={files.length <= maxExpanded}>
            {text === undefined ? (
              <p className={styles.note}>A binary file, which cannot be shown.</p>
            ) : (
              <Code label={name} text={text} onCopy={copyText} unfolded isDecision />
            )}
          </Collapsible>
        );
      })}
    </div>
  );
}
