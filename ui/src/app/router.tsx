/* Every address of the UI. Features meet here and nowhere else; a route hands its page what the address says. */

import { createBrowserHistory, createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet, type RouterHistory } from "@tanstack/react-router";

import { HomePage } from "@/features/home/HomePage";
import { readJobsSearch, readNewJobSearch } from "@/features/jobs/search";
import { readRunsSearch } from "@/features/runs/search";
import { NotFoundPage } from "@/features/shell/NotFoundPage";
import { RouteFailure } from "@/features/shell/RouteFailure";
import { Shell } from "@/features/shell/Shell";
import { readToolsSearch } from "@/features/tools/search";

const root = createRootRoute({
  component: () => (
    <Shell>
      <Outlet />
    </Shell>
  ),
  notFoundComponent: NotFoundPage,
  errorComponent: RouteFailure,
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
  component: lazyRouteComponent(() => import("@/features/jobs/JobsPage"), "JobsPage"),
});

const newJob = createRoute({
  getParentRoute: () => root,
  path: "/jobs/new",
  validateSearch: readNewJobSearch,
  component: lazyRouteComponent(() => import("@/features/jobs/JobEditorPage"), "NewJobPage"),
});

const job = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$jobId",
  component: lazyRouteComponent(() => import("@/features/jobs/JobEditorPage"), "JobPage"),
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

const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  component: lazyRouteComponent(() => import("@/features/settings/SettingsPage"), "SettingsPage"),
});

export function createAppRouter(history: RouterHistory = createBrowserHistory()) {
  return createRouter({
    routeTree: root.addChildren([home, jobs, newJob, job, conversation, runs, run, approvals, approval, grants, chat, tools, tool, settings]),
    history,
    scrollRestoration: true,
    // Whoever names a part of a page in an address brings it into sight itself, and leads the focus there too.
    defaultHashScrollIntoView: false,
    scrollToTopSelectors: ["#main"],
    defaultPreload: "intent",
    defaultPendingMs: 200,
    // Beside the root's own: a page that breaks is replaced within the frame, not with it.
    defaultErrorComponent: RouteFailure,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
