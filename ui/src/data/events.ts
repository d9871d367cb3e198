/* One event stream feeds the query cache: every event names the views it made stale, and those are fetched again. It
   refuses to hold state of its own, so the page can be thrown away at any moment. Two ways to get it wrong: to refetch on
   every event (a burst of a thousand would never let a fetch finish, so stale keys are gathered and flushed one flush at
   a time), and to trust a stream with a gap (then everything is fetched again). */

import type { QueryClient, QueryKey } from "@tanstack/react-query";

import type { Connection, HostEvent, Platform, RunDetail, SessionsGetResult } from "@/platform";

import { mainSession, sessionOfJob } from "./chat";
import { keys } from "./keys";
import { refreshOldRuns } from "./oldRuns";

/** Long enough to gather a burst, short enough to feel immediate. */
const gatherMs = 40;

/** The views that an event makes stale. */
export function staleAfter(event: HostEvent): QueryKey[] {
  if (event.kind === "reset") return [[]];
  const { jobId, runId, session } = event.data as { jobId?: string; runId?: string; session?: string };
  const run = runId === undefined ? [] : [keys.run(runId)];
  const job = jobId === undefined ? [] : [keys.job(jobId)];
  switch (event.kind) {
    case "cron":
      // A job that is added or taken away may be one that waits for a question's run.
      // One that names no job is about many of them.
      return [keys.jobs, keys.status, keys.approvals, ...(jobId === undefined ? [keys.eachJob] : job), ...run];
    case "run":
      // A run of no job is one of the main session. One of a job with an open question goes by it.
      return [keys.runs, keys.status, keys.jobs, keys.approvals, keys.grants, keys.hooks, keys.spending, keys.estimates, keys.transcript(jobId === undefined ? mainSession : sessionOfJob(jobId)), ...job, ...run];
    case "approval":
      // A grant that is made or taken back names no job, and decides what one is offered.
      return [keys.approvals, keys.grants, keys.runs, keys.status, keys.transcripts, keys.eachJob, keys.toolsOfDrafts, ...run];
    case "delivery":
      // Whether notifications get through stands in the status.
      return [keys.status, ...run];
    case "session":
      // What a job may do depends on what its conversation has read.
      return [keys.toolsOfDrafts, ...(session === undefined ? [] : [keys.transcript(session)]), ...job];
    case "heartbeat":
      return [keys.status];
    case "config":
      // Trust in a skill decides what the jobs with it are offered.
      return [keys.config, keys.providers, keys.checks, keys.skills, keys.status, keys.jobs, keys.eachJob, keys.toolsOfDrafts, keys.spending];
    case "runText":
    case "seen":
      return [];
  }
}

/** Words of a model that is still speaking go straight to where they are read; they are not stored, so there is nothing to fetch. */
function showWords(client: QueryClient, event: HostEvent) {
  const { runId, text } = event.data as { runId: string; text: string };
  client.setQueryData<RunDetail>(keys.run(runId), (detail) => detail && { ...detail, liveText: text });
  client.setQueriesData<SessionsGetResult>({ queryKey: keys.transcripts }, (said) => said && { ...said, open: said.open.map((one) => (one.runId === runId ? { ...one, liveText: text } : one)) });
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

  /** Starts listening; returns the way to stop. */
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
    if (event.kind === "runText") showWords(this.client, event);
    // Events that are not stored have no number and are no part of the sequence.
    if (event.seq === 0) {
      this.mark(staleAfter(event));
      return;
    }
    const missed = this.lastSeq !== undefined && event.seq > this.lastSeq + 1;
    const restarted = this.lastSeq !== undefined && event.seq <= this.lastSeq;
    this.lastSeq = event.seq;
    if (event.kind === "run" && typeof event.data.runId === "string") this.changedRuns.add(event.data.runId);
    if (missed || restarted) this.markAll();
    else this.mark(staleAfter(event));
  }

  /** A stream that was never read cannot tell what happened before it opened, nor can one that came back without a number.
      One that cannot be opened cannot say why; the status can: nobody is there, or this page is not signed in any more. */
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
    if (this.stale.size > 0 && !this.flushing) this.timer ??= setTimeout(() => void this.flush(), gatherMs);
  }

  private async flush() {
    this.timer = undefined;
    this.flushing = true;
    const queryKeys = [...this.stale.values()];
    const runs = this.changedRuns;
    this.stale.clear();
    this.changedRuns = new Set();
    // A first fetch is not begun anew, as one over older data is: its answer may be from before the event.
    const first = new Set(queryKeys.flatMap((queryKey) => this.client.getQueryCache().findAll({ queryKey, fetchStatus: "fetching", predicate: ({ state }) => state.data === undefined })));
    await Promise.allSettled(queryKeys.map((queryKey) => this.client.invalidateQueries({ queryKey })));
    await Promise.allSettled([...first].map(({ queryKey }) => this.client.invalidateQueries({ queryKey, exact: true })));
    // What fails here is tried again with the next event, and told by the view that asks for it.
    await Promise.allSettled([refreshOldRuns(this.client, this.platform, runs)]);
    this.flushing = false;
    this.mark([]);
  }
}
