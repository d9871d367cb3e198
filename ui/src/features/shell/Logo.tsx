/* Rouse logo. */

export function Logo({ size = 20 }: { size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 32 32"
      fill="none"
      stroke="var(--accent)"
      strokeWidth="3"
      strokeLinecap="round"
      aria-hidden
    >
      <path d="M6 21a10 10 0 0 1 20 0M3 26.5h26M16 3v3M4.7 9.7l2.1 2.1M27.3 9.7l-2.1 2.1" />
    </svg>
  );
}
