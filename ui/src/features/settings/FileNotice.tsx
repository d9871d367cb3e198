/* What is to be known of the settings file: that a change of it does not count yet, what is wrong with it, which of its
   keys mean nothing, and which ask for what is not there. */

import { FilePenLine, TriangleAlert } from "lucide-react";

import { Notice } from "@/components/Notice";
import type { ConfigView } from "@/platform";

export function FileNotice({ config }: { config: ConfigView }) {
  return (
    <>
      <Change config={config} />
      <UnknownKeys config={config} />
      <Troubles config={config} />
      <Later config={config} />
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

function Troubles({ config: { path, troubles } }: { config: ConfigView }) {
  if (troubles.length === 0) return null;
  return (
    <div role="alert">
      <Notice tone="bad" icon={TriangleAlert}>
        What {path} asks for is not there:
        <ul>
          {troubles.map(({ key, text }) => <li key={key}>{text}</li>)}
        </ul>
      </Notice>
    </div>
  );
}

function Later({ config: { fromNextStart } }: { config: ConfigView }) {
  if (fromNextStart.length === 0) return null;
  return <Notice icon={FilePenLine}>From the next start of Rouse on: {fromNextStart.join(", ")}.</Notice>;
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
