/* Entry point: signs in, then renders the app. */

import "@/styles/tokens.css";
import "@/styles/base.css";

import { createRoot } from "react-dom/client";

import { App } from "@/app/App";
import { applyStoredTheme } from "@/data/theme";
import { platform } from "@/platform";

applyStoredTheme(platform);

const root = document.getElementById("root");
if (!root) throw new Error("BUG: index.html has no #root");

// An expired or used code leaves the page signed out. The first query reports that.
await platform.signIn().catch(() => undefined);
createRoot(root).render(<App platform={platform} />);
