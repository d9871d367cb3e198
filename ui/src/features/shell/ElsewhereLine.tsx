/* Above the engine's state: that the engine is not this app's own. It stays as long as that is so, and leads to the
   settings, which say it in full. */

import { Link } from "@tanstack/react-router";
import { Cable } from "lucide-react";

import { useEngineElsewhere } from "@/data/queries";
import { engineElsewhere } from "@/domain/words";

import styles from "./ElsewhereLine.module.css";

export function ElsewhereLine() {
  const engine = useEngineElsewhere();
  if (!engine) return null;
  const { short, full } = engineElsewhere(engine);
  return (
    <Link to="/settings" className={styles.line} title={full}>
      <Cable size={13} aria-hidden />
      <span className={styles.text}>{short}</span>
    </Link>
  );
}
