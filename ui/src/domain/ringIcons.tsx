/* Ring icons missing in the icon set: 24 units, stroke 2. */

import styles from "./runState.module.css";

interface Props {
  size: number;
}

const frame = {
  viewBox: "0 0 24 24",
  fill: "none",
  stroke: "currentColor",
  strokeWidth: 2,
  strokeLinecap: "round",
} as const;

export function HollowRing({ size }: Props) {
  return (
    <svg {...frame} width={size} height={size}>
      <circle cx="12" cy="12" r="10" />
    </svg>
  );
}

/** Ring with a moving arc, which stands still under reduced motion. */
export function MovingArc({ size }: Props) {
  return (
    <svg {...frame} width={size} height={size} className={styles.turning}>
      <circle cx="12" cy="12" r="10" opacity="0.28" />
      <path d="M12 2a10 10 0 0 1 10 10" strokeWidth="2.6" />
    </svg>
  );
}

/** Broken ring. */
export function BrokenRing({ size }: Props) {
  return (
    <svg {...frame} width={size} height={size}>
      <path d="M14.5 2.3a10 10 0 0 1 3.7 17.6M9.5 21.7A10 10 0 0 1 5.8 4.1" />
      <path d="m13.5 7-3 5h3l-3 5" strokeLinejoin="round" />
    </svg>
  );
}
