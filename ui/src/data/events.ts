/* Event stream that invalidates queries. Holds no view state. Batches keys, because a burst of events would
   otherwise restart fetches forever; a gap in the sequence invalidates everything. */

import type { QueryClient, QueryKey } from "@tanstack/react-query";

import type { CallProgressView, Connection, HostEvent, Platform, RunDetail, SessionsGetResult } from "@/platform";

import { mainSession, sessionOfJob } from "./chat";
import { keys } from "./keys";
import { refreshOlderRuns } from "./olderRuns";

/** Batches a burst, still feels immediate. */
const batchMs = 40;

/** Query keys that an event invalidates. */
export function staleKeys(event: HostEvent): QueryKey[] {
  if (event.kind === "reset") return [[]];
  const { jobId, runId, session, deliveryId, toolBuilds } = event.data as {
    jobId?: string;
    runId?: string;
    session?: string;
    deliveryId?: string;
    toolBuilds?: string;
  };
  const run = runId === undefined ? [] : [keys.run(runId)];
  const job = jobId === undefined ? [] : [keys.job(jobId)];
  switch (event.kind) {
    case "cron":
      // Adding or removing a job changes what an approval blocks. Without a job id, many jobs changed.
      // A preview depends on the stored job.
      return [
        keys.jobs,
        keys.status,
        keys.approvals,
        keys.previews,
        ...(jobId === undefined ? [keys.eachJob] : job),
        ...run,
      ];
    case "run":
      // A run without a job belongs to the main session. Approvals show what their run blocks. A run starts servers.
      return [
        keys.runs,
        keys.extensions,
        keys.status,
        keys.jobs,
        keys.approvals,
        keys.grants,
        keys.hooks,
        keys.spending,
        keys.estimates,
        keys.transcript(jobId === undefined ? mainSession : sessionOfJob(jobId)),
        ...job,
        ...run,
      ];
    case "approval":
      // A grant event names no job, and changes the effective tools.
      return [
        keys.approvals,
        keys.grants,
        keys.runs,
        keys.status,
        keys.transcripts,
        keys.eachJob,
        keys.toolsOfDrafts,
        ...run,
      ];
    case "delivery":
      // The status shows whether notifications are delivered, a channel its newest failure.
      return [keys.status, keys.channels, ...(deliveryId === undefined ? [] : [keys.delivery(deliveryId)]), ...run];
    case "session":
      // Taint of the session changes the effective tools.
      return [keys.toolsOfDrafts, ...(session === undefined ? [] : [keys.transcript(session)]), ...job];
    case "heartbeat":
      return [keys.status];
    case "config":
      // A checked version of a built tool, which changes no setting. An accepted version is an extension with a tool.
      if (toolBuilds !== undefined)
        return [keys.toolBuilds, keys.extensions, keys.tools, keys.eachJob, keys.toolsOfDrafts, keys.checks];
      // Skill trust changes the effective tools.
      return [
        keys.config,
        keys.channels,
        keys.previews,
        keys.providers,
        keys.checks,
        keys.skills,
        keys.status,
        keys.jobs,
        keys.eachJob,
        keys.toolsOfDrafts,
        keys.spending,
      ];
    case "runText":
    case "runProgress":
    case "seen":
      return [];
  }
}

/** Writes live text into the cache. The engine does not store live text, so nothing is fetched. */
function showLiveText(client: QueryClient, event: HostEvent) {
  const { runId, text } = event.data as { runId: string; text: string };
  client.setQueryData<RunDetail>(keys.run(runId), (detail) => detail && { ...detail, liveText: text });
  client.setQueriesData<SessionsGetResult>(
    { queryKey: keys.transcripts },
    (page) =>
      page && { ...page, open: page.open.map((run) => (run.runId === runId ? { ...run, liveText: text } : run)) },
  );
}

/** Writes the progress of a running call into the cache. The engine does not store progress. */
function showProgress(client: QueryClient, event: HostEvent) {
  const { runId, ...progress } = event.data as { runId: string } & CallProgressView;
  client.setQueryData<RunDetail>(
    keys.run(runId),
    (detail) =>
      detail && {
        ...detail,
        progress: [...(detail.progress ?? []).filter(({ step }) => step !== progress.step), progress],
      },
  );
}

export class EventFeed {
  private lastSeq: number | undefined;
  private stale = new Map<string, QueryKey>();
  private changedRuns = new Set<string>();
  private flushing = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private state: Connection = "connecting";
  private opened = false;
  private watchers = new Set<() => void>();

  constructor(
    private readonly client: QueryClient,
    private readonly platform: Platform,
  ) {}

  /** Starts listening. Returns the stop function. */
  start(): () => void {
    const stop = this.platform.subscribe(this.lastSeq, {
      onEvent: (event) => this.take(event),
      onConnection: (connection) => this.connected(connection),
    });
    return () => {
      stop();
      clearTimeout(this.timer);
      this.timer = undefined;
    };
  }

  readonly connection = (): Connection => this.state;

  readonly watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  private take(event: HostEvent) {
    if (event.kind === "runText") showLiveText(this.client, event);
    if (event.kind === "runProgress") showProgress(this.client, event);
    // Unstored events have no number.
    if (event.seq === 0) {
      this.mark(staleKeys(event));
      return;
    }
    const missed = this.lastSeq !== undefined && event.seq > this.lastSeq + 1;
    const restarted = this.lastSeq !== undefined && event.seq <= this.lastSeq;
    this.lastSeq = event.seq;
    if (event.kind === "run" && typeof event.data.runId === "string") this.changedRuns.add(event.data.runId);
    if (missed || restarted) this.markAll();
    else this.mark(staleKeys(event));
  }

  /** Invalidates everything after a first or resumed connection. After a loss, the status query finds the reason. */
  private connected(connection: Connection) {
    if (connection === "open") {
      if (this.lastSeq === undefined || this.opened) this.markAll();
      this.opened = true;
    }
    if (connection === "lost") this.mark([keys.status]);
    this.state = connection;
    this.watchers.forEach((watcher) => watcher());
  }

  private markAll() {
    this.mark([[]]);
  }

  private mark(queryKeys: QueryKey[]) {
    for (const key of queryKeys) this.stale.set(JSON.stringify(key), key);
    if (this.stale.size > 0 && !this.flushing) this.timer ??= setTimeout(() => void this.flush(), batchMs);
  }

  private async flush() {
    this.timer = undefined;
    this.flushing = true;
    const queryKeys = [...this.stale.values()];
    const runs = this.changedRuns;
    this.stale.clear();
    this.changedRuns = new Set();
    // `invalidateQueries` does not restart a first fetch, whose data may predate the event.
    const first = new Set(
      queryKeys.flatMap((queryKey) =>
        this.client
          .getQueryCache()
          .findAll({ queryKey, fetchStatus: "fetching", predicate: ({ state }) => state.data === undefined }),
      ),
    );
    await Promise.allSettled(queryKeys.map((queryKey) => this.client.invalidateQueries({ queryKey })));
    await Promise.allSettled(
      [...first].map(({ queryKey }) => this.client.invalidateQueries({ queryKey, exact: true })),
    );
    // Failures are retried with the next event.
    await Promise.allSettled([refreshOlderRuns(this.client, this.platform, runs)]);
    this.flushing = false;
    this.mark([]);
  }
}
