/* What a model wrote, as text with structure. It builds elements and never parses raw HTML; images are not loaded, because
   an address in one can carry data out; links leave Rouse only after a question, and only to https. Loaded when first
   needed. */

import { type ReactNode, useState } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize, { defaultSchema } from "rehype-sanitize";
import remarkGfm from "remark-gfm";

import { Question } from "@/components/Modal";

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
  const [asked, setAsked] = useState<string>();
  const components: Components = {
    a: ({ href, children }) => <Leaving url={href} onAsk={setAsked}>{children}</Leaving>,
    // A heading in a text is not a heading of the page.
    h1: Heading, h2: Heading, h3: Heading, h4: Heading, h5: Heading, h6: Heading,
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
      <Question
        isOpen={asked !== undefined}
        onClose={() => setAsked(undefined)}
        title="Open this address?"
        confirm="Open"
        onConfirm={() => asked !== undefined && onOpen(asked)}
      >
        <p>The link was written by the model. It leads to:</p>
        <p className={styles.address}>{asked}</p>
      </Question>
    </div>
  );
}

function Heading({ children }: { children?: ReactNode }) {
  return <p className={styles.heading}>{children}</p>;
}

function Leaving({ url, onAsk, children }: { url?: string; onAsk: (url: string) => void; children: ReactNode }) {
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
