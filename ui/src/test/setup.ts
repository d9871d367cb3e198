/* What jsdom lacks: sizes, observers and matching of media. Everything is 800 pixels high, so virtual lists draw rows. */

import "@testing-library/jest-dom/vitest";

import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";

afterEach(cleanup);

// A wait ends as soon as its condition holds; a busy machine must not make it fail.
configure({ asyncUtilTimeout: 10_000 });

if (typeof window !== "undefined") {
  class NoObserver {
    observe() {}
    unobserve() {}
    disconnect() {}
  }
  Object.assign(globalThis, { ResizeObserver: NoObserver, IntersectionObserver: NoObserver });
  Object.defineProperty(HTMLElement.prototype, "clientHeight", { configurable: true, get: () => 800 });
  Object.defineProperty(HTMLElement.prototype, "clientWidth", { configurable: true, get: () => 800 });
  window.scrollTo = () => undefined;
  Element.prototype.scrollTo = () => undefined;
  Element.prototype.scrollBy = () => undefined;
  Element.prototype.scrollIntoView = () => undefined;
  Object.assign(window, { matchMedia: (media: string) => ({ matches: false, media, addEventListener() {}, removeEventListener() {} }) });
}
