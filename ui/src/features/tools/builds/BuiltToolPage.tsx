/* A version of a built tool: permissions, tests, source and versions, and what a person can do with it. */

import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Globe, Hammer, PackageCheck, SearchX, Trash2 } from "lucide-react";
import { useState } from "react";

import { Button, ButtonLink } from "@/components/Button";
import { ConfirmDialog } from "@/components/Modal";
import { Notice } from "@/components/Notice";
import { Page, Section } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/Placeholders";
import { VisibleText } from "@/components/VisibleText";
import { Allowed } from "@/data/access";
import { useRemoveBuilds, useToolBuild } from "@/data/toolBuilds";
import { BuildStateGlyph } from "@/domain/buildState";
import {
  isUntrustedBuild,
  languageLabels,
  type ToolManifestFacts,
  manifestFacts,
  testCounts,
  testsLabel,
} from "@/domain/toolBuilds";
import { ToolTests } from "@/domain/ToolTests";
import { showInvisible, showOneLine } from "@/format/visible";
import { errorCode, RpcError, type ToolBuildDetail } from "@/platform";

import { BuildFacts } from "./BuildFacts";
import styles from "./Builds.module.css";
import { BuildToolDialog } from "./BuildToolDialog";
import { CheckErrors } from "./CheckResult";
import { InstallBuildDialog } from "./InstallBuildDialog";
import { SourceFiles } from "./SourceFiles";
import { VersionRow } from "./VersionRow";

export function BuiltToolPage() {
  const { toolName } = useParams({ from: "/tools/built/$toolName" });
  const { hash } = useSearch({ from: "/tools/built/$toolName" });
  const { data, error, refetch } = useToolBuild(toolName, hash);
  if (data) return <BuiltTool key={toolName} detail={data} />;
  const isMissing = error instanceof RpcError && error.code === errorCode.notFound;
  return (
    <Page title={toolName}>
      {isMissing ? (
        <Empty
          icon={SearchX}
          title="Built tool not found"
          action={
            <ButtonLink to="/tools" search={{}} hash="built-tools">
              All built tools
            </ButtonLink>
          }
        >
          This version was removed, or the link is incomplete.
        </Empty>
      ) : error ? (
        <Failure title="Could not load the built tool." error={error} onRetry={() => void refetch()} />
      ) : (
        <SkeletonRows rows={6} />
      )}
    </Page>
  );
}

function BuiltTool({ detail }: { detail: ToolBuildDetail }) {
  const { build, versions } = detail;
  const { name, hash, language, state, tests, errors, files } = build;
  const manifest = manifestFacts(build.manifest);
  return (
    <Page
      title={name}
      about={
        <span className={styles.about}>
          <BuildStateGlyph state={state} />
          <span>{aboutText(languageLabels[language], manifest)}</span>
        </span>
      }
      actions={<Actions detail={detail} />}
    >
      <Notices detail={detail} />
      <p className={styles.text}>
        <VisibleText text={showInvisible(manifest?.description ?? "The manifest cannot be read.")} />
      </p>
      <BuildFacts detail={detail} manifest={manifest} />
      {errors.length > 0 && (
        <Section title="Errors">
          <CheckErrors errors={errors} />
        </Section>
      )}
      <Section title="Tests" aside={tests.length > 0 && testsLabel({ ...testCounts(build), errors: 0 })}>
        {tests.length === 0 ? (
          <p className={styles.note}>No test ran.</p>
        ) : (
          <ToolTests tests={tests} label={`Tests of ${name}`} />
        )}
      </Section>
      <Section title="Source">
        <SourceFiles files={files} />
      </Section>
      <Section title="Versions">
        <ul aria-label={`Versions of ${name}`} className={styles.versions}>
          {versions.map((version) => (
            <li key={version.hash} aria-current={version.hash === hash ? "true" : undefined}>
              <VersionRow build={version} isShown={version.hash === hash} />
            </li>
          ))}
        </ul>
      </Section>
    </Page>
  );
}

function aboutText(language: string, manifest: ToolManifestFacts | undefined): string {
  return manifest?.version == null ? language : `${language} · version ${showOneLine(manifest.version)}`;
}

function Notices({ detail: { build, versions } }: { detail: ToolBuildDetail }) {
  const newest = versions[0];
  return (
    <div className={styles.notices}>
      {newest !== undefined && newest.hash !== build.hash && (
        <Notice
          action={
            <ButtonLink small to="/tools/built/$toolName" params={{ toolName: build.name }} search={{}}>
              Show newest
            </ButtonLink>
          }
        >
          This is an earlier version.
        </Notice>
      )}
      {isUntrustedBuild(build) && (
        <Notice tone="accent" icon={Globe}>
          From untrusted input: the run that made this version had read untrusted input. Read the source before you
          install it.
        </Notice>
      )}
      {build.state === "accepted" && (
        <Notice>
          This version is installed.{" "}
          <Link to="/tools" hash="mcp-servers" className={styles.link}>
            Show the installed tool
          </Link>
        </Notice>
      )}
    </div>
  );
}

function Actions({ detail: { build, folder } }: { detail: ToolBuildDetail }) {
  const { name, hash, state } = build;
  const navigate = useNavigate();
  const remove = useRemoveBuilds();
  const [open, setOpen] = useState<"change" | "remove">();
  // The page may show a newer version, or no draft, before the dialog is closed.
  const [installing, setInstalling] = useState<{ hash: string; folder: string }>();
  const close = () => setOpen(undefined);
  const removeAll = async () => {
    await remove.mutateAsync({ name });
    void navigate({ to: "/tools", search: {}, hash: "built-tools" });
  };
  return (
    <>
      <Allowed to="tools.removeBuilds">
        <Button look="ghost" icon={Trash2} onPress={() => setOpen("remove")}>
          Remove versions…
        </Button>
      </Allowed>
      <Allowed to="tools.build">
        <Button icon={Hammer} onPress={() => setOpen("change")}>
          Change
        </Button>
      </Allowed>
      {state === "passed" && folder !== null && (
        <Allowed to="extensions.install">
          <Button look="primary" icon={PackageCheck} onPress={() => setInstalling({ hash, folder: folder })}>
            Install…
          </Button>
        </Allowed>
      )}
      {open === "change" && <BuildToolDialog tool={name} onClose={close} />}
      {installing && <InstallBuildDialog name={name} {...installing} onClose={() => setInstalling(undefined)} />}
      <ConfirmDialog
        isOpen={open === "remove"}
        onClose={close}
        title={`Remove the versions of “${name}”?`}
        confirm="Remove"
        danger
        onConfirm={removeAll}
      >
        The draft and all stored versions with their source are deleted. An installed tool stays installed.
      </ConfirmDialog>
    </>
  );
}
