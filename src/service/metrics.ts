import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { WireHealth } from '../contract/health.js';

/** The Prometheus metrics of a running server. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Counter({
    name: 'stillframe_http_requests_total',
    help: 'Responses by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [this.#registry],
  });
  readonly #seconds = new Histogram({
    name: 'stillframe_http_request_seconds',
    help: 'Response time by route.',
    labelNames: ['route'],
    buckets: [0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10, 25],
    registers: [this.#registry],
  });
  readonly #jobs = new Counter({
    name: 'stillframe_jobs_total',
    help: 'Finished jobs by state.',
    labelNames: ['state'],
    registers: [this.#registry],
  });
  readonly #watchRuns = new Counter({
    name: 'stillframe_watch_runs_total',
    help: 'Ended runs of watches by state.',
    labelNames: ['state'],
    registers: [this.#registry],
  });
  readonly #watchMessages = new Counter({
    name: 'stillframe_watch_messages_total',
    help: 'Attempts to send messages of watches by kind and outcome.',
    labelNames: ['kind', 'outcome'],
    registers: [this.#registry],
  });
  readonly #stages = new Histogram({
    name: 'stillframe_capture_stage_seconds',
    help: 'Capture time by stage.',
    labelNames: ['stage'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60],
    registers: [this.#registry],
  });
  readonly #health = new Gauge({
    name: 'stillframe_health',
    help: 'Values of /v1/health; true is 1. With several servers, those of all: take one, not the sum.',
    labelNames: ['part', 'figure'],
    registers: [this.#registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
  }

  countAnswer(answer: { method: string; route: string; status: number; ms: number }): void {
    this.#requests.inc({ method: answer.method, route: answer.route, status: String(answer.status) });
    this.#seconds.observe({ route: answer.route }, answer.ms / 1000);
  }

  countJob(state: 'completed' | 'failed' | 'canceled'): void {
    this.#jobs.inc({ state });
  }

  countWatchRun(state: string): void {
    this.#watchRuns.inc({ state });
  }

  countWatchMessage(kind: string, outcome: string): void {
    this.#watchMessages.inc({ kind, outcome });
  }

  /** @param timings ms by stage */
  countStages(timings: Record<string, number>): void {
    for (const [stage, ms] of Object.entries(timings)) this.#stages.observe({ stage }, ms / 1000);
  }

  /** Renders the Prometheus text, with the current health data. */
  async text(health: { ready: boolean; data: WireHealth }): Promise<string> {
    this.#health.set({ part: 'server', figure: 'ready' }, Number(health.ready));
    for (const [part, value] of Object.entries(health.data)) {
      if (typeof value === 'object') {
        for (const [figure, number] of Object.entries(value)) this.#health.set({ part, figure }, Number(number));
      } else
        this.#health.set(
          { part, figure: 'value' },
          typeof value === 'string' ? Number(value === 'ready') : Number(value),
        );
    }
    return await this.#registry.metrics();
  }
}
