/* Since when the engine has not been heard of, for everything that would otherwise go on as if it were there: what it said is as
   old as that, and nobody takes an answer. Nothing while it is there, or has been away no longer than a blink. */

import { createContext } from "react";

export const GoneSinceContext = createContext<number | undefined>(undefined);
