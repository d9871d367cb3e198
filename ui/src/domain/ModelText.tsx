/* Model text: plain until the Markdown chunk is loaded. */

import { lazy, Suspense } from "react";

import styles from "./ModelText.module.css";

const Markdown = lazy(() => import("./Markdown"));

interface Props {
  text: string;
  onOpen: (url: string) => Promise<void>;
}

export function ModelText({ text, onOpen }: Props) {
  return (
    <Suspense fallback={<p className={styles.plain}>{text}</p>}>
      <Markdown text={text} onOpen={onOpen} />
    </Suspense>
  );
}
