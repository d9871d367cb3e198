/* A sentence about a grant. What a model has written stands in it as code, keeps to itself whichever way it is read, and shows what
   cannot be seen by its number. */

import { Marks } from "@/components/Marks";

import type { Said } from "./rules";
import styles from "./SaidWords.module.css";

export function SaidWords({ said }: { said: Said }) {
  return said.map((part, i) => (typeof part === "string" ? part : <code key={i} className={styles.value}><bdi><Marks text={part.value} /></bdi></code>));
}
