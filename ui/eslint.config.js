import { readdirSync } from "node:fs";

import globals from "globals";
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

/* The import table of the UI. Flat config replaces a rule's options instead of merging them, so every
   directory gets its whole list from `walls`. */
const hostOnly = [
  { group: ["@tauri-apps/*"], message: "Only src/platform/ talks to the host." },
  { group: ["@/platform/tauri", "@/platform/web", "@/platform/gen/*"], message: "Import from @/platform." },
  { group: ["../*"], message: "Use @/… across directories; relative paths stay inside one." },
];
const noFeatures = { group: ["@/features/*", "@/features/**"], message: "Features meet only in routes (src/app)." };
const noApp = { group: ["@/app/*"], message: "Nothing imports the composition root." };
const noDomain = {
  group: ["@/platform", "@/platform/*", "@/data/*", "@/domain/*"],
  message: "components/ knows no domain.",
};
const noData = { group: ["@/data/*"], message: "domain/ shows what it is given." };

const walls = (...groups) => ({ "no-restricted-imports": ["error", { patterns: [...hostOnly, ...groups] }] });
const hostGlobals = ["fetch", "WebSocket", "XMLHttpRequest", "EventSource", "localStorage", "sessionStorage"].map(
  (name) => ({
    name,
    message: "Only src/platform/ reaches outside the page.",
  }),
);

export default tseslint.config(
  { ignores: ["dist", "node_modules", "test-results", "playwright-report", "src/platform/gen"] },
  ...tseslint.configs.strictTypeChecked,
  {
    files: ["**/*.{ts,tsx}"],
    languageOptions: { globals: globals.browser, parserOptions: { projectService: true } },
    plugins: { "react-hooks": reactHooks },
    rules: {
      ...reactHooks.configs.recommended.rules,
      // TanStack Virtual and react-hook-form hand out functions that the compiler cannot memoise; we do not run the compiler.
      "react-hooks/incompatible-library": "off",
      "no-restricted-globals": ["error", ...hostGlobals],
      "no-restricted-properties": [
        "error",
        ...hostGlobals.map(({ name, message }) => ({ object: "window", property: name, message })),
      ],
      "no-console": "error",
      "max-lines": ["error", { max: 500, skipBlankLines: true, skipComments: true }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: { attributes: false } }],
      // TanStack Router's redirect is thrown by design.
      "@typescript-eslint/only-throw-error": "off",
      ...walls(noFeatures, noApp),
    },
  },
  { files: ["src/components/**"], rules: walls(noFeatures, noApp, noDomain) },
  { files: ["src/format/**"], rules: walls(noFeatures, noApp, noDomain) },
  { files: ["src/domain/**"], rules: walls(noFeatures, noApp, noData) },
  { files: ["src/attachments/**", "src/connect/**"], rules: walls(noFeatures, noApp) },
  { files: ["src/app/**", "src/main.tsx"], rules: walls() },
  ...readdirSync(new URL("src/features", import.meta.url)).map((feature) => ({
    files: [`src/features/${feature}/**`],
    rules: walls(noApp, {
      group: ["@/features/*", "@/features/**", `!@/features/${feature}`, `!@/features/${feature}/**`],
      message: "Features meet only in routes (src/app).",
    }),
  })),
  {
    files: ["src/platform/**"],
    rules: { "no-restricted-imports": "off", "no-restricted-globals": "off", "no-restricted-properties": "off" },
  },
  {
    files: ["**/*.test.{ts,tsx}", "src/test/**", "e2e/**", "*.config.ts"],
    rules: {
      "no-restricted-globals": "off",
      "no-restricted-properties": "off",
      "no-restricted-imports": "off",
      "@typescript-eslint/no-non-null-assertion": "off",
      "max-lines": ["error", { max: 700 }],
    },
  },
  {
    // Playwright's `use` is no hook of React's, and it reads a fixture's needs from its empty pattern.
    files: ["e2e/**"],
    rules: { "react-hooks/rules-of-hooks": "off", "no-empty-pattern": "off" },
  },
  { files: ["**/*.js"], ...tseslint.configs.disableTypeChecked },
);
