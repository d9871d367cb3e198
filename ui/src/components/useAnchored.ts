/* Keeps what is being read where it is when something above it grows: the outcome of a run that has just ended, a text
   that has just got its structure. Browsers on WebKit do not do this by themselves, so it is done here for all of them. */

import { type RefObject, use, useLayoutEffect } from "react";

import { ScrollerContext } from "./VirtualList";

export function useAnchored(element: RefObject<HTMLElement | null>) {
  const scroller = use(ScrollerContext);
  useLayoutEffect(() => {
    const anchor = element.current;
    const above = anchor?.parentElement;
    if (!anchor || !above || !scroller) return;
    const place = () => anchor.getBoundingClientRect().top - scroller.getBoundingClientRect().top + scroller.scrollTop;
    let before = place();
    const keep = () => {
      const now = place();
      const moved = now - before;
      // Only once the upper half of the window shows what is below the anchor is that being read.
      const isRead = scroller.scrollTop > 0 && before - scroller.scrollTop < scroller.clientHeight / 2;
      before = now;
      if (moved !== 0 && isRead) scroller.scrollBy({ top: moved, behavior: "instant" });
    };
    const observer = new ResizeObserver(keep);
    for (const sibling of [above, ...above.children]) observer.observe(sibling);
    return () => observer.disconnect();
  }, [element, scroller]);
}
