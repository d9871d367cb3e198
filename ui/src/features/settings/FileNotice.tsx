/* What a change by hand has made of the settings file: that it does not count yet, what is wrong with it, or which of its
   keys mean nothing. */

import { FilePenLine, TriangleAlert } from "lucide-react";

import { Notice } from "@/components/Notice";
import type { ConfigView } from "@/platform";

export function FileNotice({ config }: { config: ConfigView }) {
  return (
    <>
      <Change config={config} />
      <UnknownKeys config={config} />
    </>
  );
}

function UnknownKeys({ config: { path, unknownKeys } }: { config: ConfigView }) {
  if (unknownKeys.length === 0) return null;
  return (
    <div role="alert">
      <Notice icon={TriangleAlert}>
        Rouse does not know everything that stands in {path}:
        <ul>
          {unknownKeys.map(({ key, text }) => <li key={key}>{text}</li>)}
        </ul>
      </Notice>
    </div>
  );
}

function Change({ config: { changedByHand, problem } }: { config: ConfigView }) {
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
