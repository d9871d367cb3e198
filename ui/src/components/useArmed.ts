/* Whether what has just come up may be pressed. A key or a click that was meant for what stood there a moment ago must not
   answer what stands there now, so everything that cannot be taken back waits half a second: after it comes up, and after
   the window gets the focus again. */

import { useEffect, useState } from "react";

const armedAfterMs = 500;

/** `what` names what is shown; another name begins anew. */
export function useArmed(what: string): boolean {
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
