/// <reference types="vitest/config" />
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/* One static bundle for the window and the browser. Nothing is inlined into the page, so that the strict CSP holds. */
export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    target: ["chrome111", "safari16.4", "firefox114"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
  css: { modules: { localsConvention: "camelCaseOnly", generateScopedName: "[name]_[local]_[hash:base64:5]" } },
  server: {
    proxy: {
      "/rpc": "http://127.0.0.1:7420",
      "/auth": "http://127.0.0.1:7420",
      "/ws": { target: "ws://127.0.0.1:7420", ws: true },
    },
  },
  test: {
    environment: "jsdom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/test/setup.ts"],
    restoreMocks: true,
    // Test files leave no state behind. A worker keeps its modules and its page from file to file.
    isolate: false,
    maxWorkers: "100%",
    testTimeout: 120_000,
    css: { modules: { classNameStrategy: "non-scoped" } },
  },
});
