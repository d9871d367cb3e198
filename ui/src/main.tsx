/* Starts the page: sign in, then draw. */

import "@/styles/tokens.css";
import "@/styles/base.css";

import { createRoot } from "react-dom/client";

import { App } from "@/app/App";
import { applyStoredTheme } from "@/data/theme";
import { platform } from "@/platform";

applyStoredTheme(platform);

const root = document.getElementById("root");
if (!root) throw new Error("BUG: index.html has no #root");

// A code that is too old, or was used before, leaves the page signed out; the first query finds out and says what to do.
await platform.signIn().catch(() => undefined);
createRoot(root).render(<App platform={platform} />);
