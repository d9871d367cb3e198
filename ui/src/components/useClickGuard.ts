/* Guards irreversible actions: input is ignored for 500 ms after the target appears and after the window gets the
   focus. */

import { useEffect, useState } from "react";

const armedAfterMs = 500;

/** `what` identifies the target; a new value restarts the delay. */
export function useClickGuard(what: string): boolean {
  const [armed, setArmed] = useState<string>();
  useEffect(() => {
    let timer = setTimeout(() => setArmed(what), armedAfterMs);
    const again = () => {
      clearTimeout(timer);
      setArmed(undefined);
      timer = setTimeout(() => setArmed(what), armedAfterMs);
    };
    window.addEventListener("focus", again);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("focus", again);
    };
  }, [what]);
  return armed === what;
}
