/* What a change by hand has made of the settings file: that it does not count yet, or what is wrong with it. */

import { FilePenLine, TriangleAlert } from "lucide-react";

import { Notice } from "@/components/Notice";
import type { ConfigView } from "@/platform";

export function FileNotice({ config: { changedByHand, problem } }: { config: ConfigView }) {
  if (problem !== null) {
    return (
      <div role="alert">
        <Notice tone="bad" icon={TriangleAlert}>The settings file was changed by hand and cannot be read. What was in force stays in force, and nothing can be changed here until it is mended. {problem}</Notice>
      </div>
    );
  }
  if (!changedByHand) return null;
  return <Notice icon={FilePenLine}>The settings file was changed by hand. What it says counts from the next start of Rouse, or from the next change on this page.</Notice>;
}
