/* All routes. Features meet only here; a route passes its parameters to its page. */

import {
  createBrowserHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  type RouterHistory,
} from "@tanstack/react-router";

import { HomePage } from "@/features/home/HomePage";
import { readJobsSearch, readNewJobSearch } from "@/features/jobs/searchParams";
import { readRunsSearch } from "@/features/runs/searchParams";
import { NotFoundPage } from "@/features/shell/NotFoundPage";
import { RouteError } from "@/features/shell/RouteError";
import { Shell } from "@/features/shell/Shell";
import { readBuiltToolSearch, readInstallSearch, readToolsSearch } from "@/features/tools/searchParams";

const root = createRootRoute({
  component: () => (
    <Shell>
      <Outlet />
    </Shell>
  ),
  notFoundComponent: NotFoundPage,
  errorComponent: RouteError,
});

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: HomePage,
});

const jobs = createRoute({
  getParentRoute: () => root,
  path: "/jobs",
  validateSearch: readJobsSearch,
  component: lazyRouteComponent(() => import("@/features/jobs/list/JobsPage"), "JobsPage"),
});

const newJob = createRoute({
  getParentRoute: () => root,
  path: "/jobs/new",
  validateSearch: readNewJobSearch,
  component: lazyRouteComponent(() => import("@/features/jobs/editor/JobEditorPage"), "NewJobPage"),
});

const job = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$jobId",
  component: lazyRouteComponent(() => import("@/features/jobs/editor/JobEditorPage"), "JobPage"),
});

const conversation = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$jobId/conversation",
  component: lazyRouteComponent(() => import("@/features/chat/ConversationPage"), "ConversationPage"),
});

const runs = createRoute({
  getParentRoute: () => root,
  path: "/runs",
  validateSearch: readRunsSearch,
  component: lazyRouteComponent(() => import("@/features/runs/RunsPage"), "RunsPage"),
});

const run = createRoute({
  getParentRoute: () => root,
  path: "/runs/$runId",
  component: lazyRouteComponent(() => import("@/features/runs/RunPage"), "RunPage"),
});

const approvals = createRoute({
  getParentRoute: () => root,
  path: "/approvals",
  component: lazyRouteComponent(() => import("@/features/approvals/ApprovalsPage"), "NeedsYouPage"),
});

const approval = createRoute({
  getParentRoute: () => root,
  path: "/approvals/$approvalId",
  component: lazyRouteComponent(() => import("@/features/approvals/ApprovalsPage"), "ApprovalPage"),
});

const grants = createRoute({
  getParentRoute: () => root,
  path: "/grants",
  component: lazyRouteComponent(() => import("@/features/approvals/GrantsPage"), "GrantsPage"),
});

const chat = createRoute({
  getParentRoute: () => root,
  path: "/chat",
  component: lazyRouteComponent(() => import("@/features/chat/ChatPage"), "ChatPage"),
});

const tools = createRoute({
  getParentRoute: () => root,
  path: "/tools",
  validateSearch: readToolsSearch,
  component: lazyRouteComponent(() => import("@/features/tools/ToolsPage"), "ToolsPage"),
});

const tool = createRoute({
  getParentRoute: () => root,
  path: "/tools/$toolName",
  component: lazyRouteComponent(() => import("@/features/tools/ToolPage"), "ToolPage"),
});

const builtTool = createRoute({
  getParentRoute: () => root,
  path: "/tools/built/$toolName",
  validateSearch: readBuiltToolSearch,
  component: lazyRouteComponent(() => import("@/features/tools/builds/BuiltToolPage"), "BuiltToolPage"),
});

const install = createRoute({
  getParentRoute: () => root,
  path: "/install",
  validateSearch: readInstallSearch,
  component: lazyRouteComponent(() => import("@/features/tools/InstallPage"), "InstallPage"),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  component: lazyRouteComponent(() => import("@/features/settings/SettingsPage"), "SettingsPage"),
});

export function createAppRouter(history: RouterHistory = createBrowserHistory()) {
  return createRouter({
    routeTree: root.addChildren([
      home,
      jobs,
      newJob,
      job,
      conversation,
      runs,
      run,
      approvals,
      approval,
      grants,
      chat,
      tools,
      tool,
      builtTool,
      install,
      settings,
    ]),
    history,
    scrollRestoration: true,
    // Pages scroll to a named section and move the focus themselves.
    defaultHashScrollIntoView: false,
    scrollToTopSelectors: ["#main"],
    defaultPreload: "intent",
    defaultPendingMs: 200,
    // Replaces a failed page inside the frame; the root's handler would replace the frame.
    defaultErrorComponent: RouteError,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
