/* Follows a link to a section once its content is here. */

import { useLocation } from "@tanstack/react-router";
import { useEffect } from "react";

export function useScrollToSection(id: string, isLoaded: boolean) {
  const isAddressed = useLocation({ select: ({ hash }) => hash === id });
  useEffect(() => {
    if (!isLoaded || !isAddressed) return;
    const section = document.getElementById(id);
    section?.scrollIntoView({ block: "start" });
    section?.focus({ preventScroll: true });
  }, [id, isLoaded, isAddressed]);
}
