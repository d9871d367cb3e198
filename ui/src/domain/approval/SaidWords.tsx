/* A sentence about a grant. What a model has written stands in it as code or strong, keeps to itself whichever way it is read, and shows what
   cannot be seen by its number. */

import { Marks } from "@/components/Marks";

import type { Said } from "./rules";
import styles from "./SaidWords.module.css";

export function SaidWords({ said }: { said: Said }) {
  return said.map((part, i) => {
    if (typeof part === "string") return part;
    const Tag = part.isName ? "strong" : "code";
    return <Tag key={i} className={styles.value}><bdi><Marks text={part.value} /></bdi></Tag>;
  });
}
