/* Markdown from a model. Never renders raw HTML or images, which could leak data. Links are https only and ask
   first. */

import { type ReactNode, useState } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize, { defaultSchema } from "rehype-sanitize";
import remarkGfm from "remark-gfm";

import { ConfirmDialog } from "@/components/Modal";

import styles from "./Markdown.module.css";

const schema = {
  ...defaultSchema,
  tagNames: (defaultSchema.tagNames ?? []).filter((name) => name !== "img"),
  protocols: { ...defaultSchema.protocols, href: ["https"] },
};

interface Props {
  text: string;
  onOpen: (url: string) => Promise<void>;
}

export default function Markdown({ text, onOpen }: Props) {
  const [pendingUrl, setPendingUrl] = useState<string>();
  const components: Components = {
    a: ({ href, children }) => (
      <ExternalLink url={href} onAsk={setPendingUrl}>
        {children}
      </ExternalLink>
    ),
    // Headings in text are not page headings.
    h1: Heading,
    h2: Heading,
    h3: Heading,
    h4: Heading,
    h5: Heading,
    h6: Heading,
    table: ({ children }) => (
      <div className={styles.scroll} tabIndex={0} role="group" aria-label="Table">
        <table>{children}</table>
      </div>
    ),
  };
  return (
    <div className={styles.markdown}>
      <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={[[rehypeSanitize, schema]]} components={components}>
        {text}
      </ReactMarkdown>
      <ConfirmDialog
        isOpen={pendingUrl !== undefined}
        onClose={() => setPendingUrl(undefined)}
        title="Open this link?"
        confirm="Open"
        onConfirm={() => pendingUrl !== undefined && onOpen(pendingUrl)}
      >
        <p>A model wrote this link:</p>
        <p className={styles.address}>{pendingUrl}</p>
      </ConfirmDialog>
    </div>
  );
}

function Heading({ children }: { children?: ReactNode }) {
  return <p className={styles.heading}>{children}</p>;
}

function ExternalLink({ url, onAsk, children }: { url?: string; onAsk: (url: string) => void; children: ReactNode }) {
  if (!url?.startsWith("https://")) return <span>{children}</span>;
  return (
    <a
      href={url}
      rel="noreferrer noopener"
      title={url}
      onClick={(event) => {
        event.preventDefault();
        onAsk(url);
      }}
      onAuxClick={(event) => event.preventDefault()}
    >
      {children}
    </a>
  );
}
