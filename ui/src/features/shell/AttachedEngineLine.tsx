/* Note that the engine belongs to another process. */

import { Link } from "@tanstack/react-router";
import { Cable } from "lucide-react";

import { useAttachedEngine } from "@/data/queries";
import { attachedEngineText } from "@/domain/labels";

import styles from "./AttachedEngineLine.module.css";

export function AttachedEngineLine() {
  const engine = useAttachedEngine();
  if (!engine) return null;
  const { short, full } = attachedEngineText(engine);
  return (
    <Link to="/settings" className={styles.line} title={full}>
      <Cable size={13} aria-hidden />
      <span className={styles.text}>{short}</span>
    </Link>
  );
}
