/* A model's words anywhere on a page: plain at once, with structure as soon as that part of the program is loaded. */

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
