/* Renders a grant sentence. Values are isolated (`bdi`) and show invisible characters. */

import { VisibleText } from "@/components/VisibleText";

import type { GrantSentence } from "./grantDraft";
import styles from "./GrantSentenceText.module.css";

export function GrantSentenceText({ sentence }: { sentence: GrantSentence }) {
  return sentence.map((part, i) => {
    if (typeof part === "string") return part;
    const Tag = part.isName ? "strong" : "code";
    return (
      <Tag key={i} className={styles.value}>
        <bdi>
          <VisibleText text={part.value} />
        </bdi>
      </Tag>
    );
  });
}
