/* Scroll anchoring: keeps the visible content in place when content above grows. WebKit has none built in. */

import { type RefObject, use, useLayoutEffect } from "react";

import { ScrollerContext } from "./VirtualList";

export function useScrollAnchor(element: RefObject<HTMLElement | null>) {
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
      // Applies only while the anchor is in the upper half of the viewport.
      const isRead = scroller.scrollTop > 0 && before - scroller.scrollTop < scroller.clientHeight / 2;
      before = now;
      if (moved !== 0 && isRead) scroller.scrollBy({ top: moved, behavior: "instant" });
    };
    const observer = new ResizeObserver(keep);
    for (const sibling of [above, ...above.children]) observer.observe(sibling);
    return () => observer.disconnect();
  }, [element, scroller]);
}
