/* Notices about the settings file: edits, errors, unknown keys, missing items. */

import { FilePenLine, TriangleAlert } from "lucide-react";

import { Notice } from "@/components/Notice";
import type { ConfigView } from "@/platform";

export function ConfigFileNotice({ config }: { config: ConfigView }) {
  return (
    <>
      <ConfigChangeNotice config={config} />
      <UnknownKeysNotice config={config} />
      <MissingItemsNotice config={config} />
      <RestartNotice config={config} />
    </>
  );
}

function UnknownKeysNotice({ config: { path, unknownKeys } }: { config: ConfigView }) {
  if (unknownKeys.length === 0) return null;
  return (
    <div role="alert">
      <Notice icon={TriangleAlert}>
        Unknown keys in {path}:
        <ul>
          {unknownKeys.map(({ key, text }) => (
            <li key={key}>{text}</li>
          ))}
        </ul>
      </Notice>
    </div>
  );
}

function MissingItemsNotice({ config: { path, unmetSettings } }: { config: ConfigView }) {
  if (unmetSettings.length === 0) return null;
  return (
    <div role="alert">
      <Notice tone="bad" icon={TriangleAlert}>
        {path} refers to missing items:
        <ul>
          {unmetSettings.map(({ key, text }) => (
            <li key={key}>{text}</li>
          ))}
        </ul>
      </Notice>
    </div>
  );
}

function RestartNotice({ config: { pendingRestart } }: { config: ConfigView }) {
  if (pendingRestart.length === 0) return null;
  return <Notice icon={FilePenLine}>Takes effect after a restart: {pendingRestart.join(", ")}.</Notice>;
}

function ConfigChangeNotice({ config: { changedByHand, problem } }: { config: ConfigView }) {
  if (problem !== null) {
    return (
      <div role="alert">
        <Notice tone="bad" icon={TriangleAlert}>
          The settings file was edited and is invalid. The previous settings stay active, and nothing can be changed
          here until you fix it. {problem}
        </Notice>
      </div>
    );
  }
  if (!changedByHand) return null;
  return (
    <Notice icon={FilePenLine}>
      The settings file was edited. Restart Rouse, or change a setting on this page, to apply it.
    </Notice>
  );
}
