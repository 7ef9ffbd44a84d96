import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import type { WireHealth } from '../contract/health.js';
import { OperatorError } from './operator-error.js';
import { serverOf } from './running-server.js';
import { addSettings, readSettings } from './settings-flags.js';

const EVERY_MS = 2_000;
const ANSWER_MS = 5_000;
const ANSWER_BYTES = 4_000_000;
const CLEAR = '\u001b[H\u001b[2J';

/** The samples of a Prometheus text. */
interface Samples {
  /** Returns the value of the first sample with these labels; null if there is none. */
  one(name: string, labels?: Record<string, string>): number | null;
  /** Lists the values of one label over all samples of a name. */
  values(name: string, label: string): string[];
}

interface StageTimes {
  stage: string;
  count: number;
  /** Mean in seconds. */
  mean: number;
  /** Upper bound, in seconds, of the bucket that contains the 95th percentile. */
  p95: number;
}

interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const STAGES = 'stillframe_capture_stage_seconds';

interface TopOptions {
  url?: string;
  once?: boolean;
  json?: boolean;
}

/** A server's report about itself at one moment. */
interface Reading {
  at: number;
  ready: boolean;
  health: WireHealth;
  samples: Samples;
}

/** Adds `stillframe top`: the activity of a running server, refreshed every two seconds. */
export function addTopCommand(program: Command): void {
  const top = program
    .command('top')
    .description('watch a running server: queue, captures, time by stage')
    .option('--url <url>', 'base URL of the server (default: the one that runs on the data directory)')
    .option('--once', 'print one view, of the time since the start of the server, and end')
    .option('--json', 'print JSON, one line per view')
    .addHelpText('after', '\nExample:\n  stillframe top --url http://127.0.0.1:3000');
  addSettings(top, ['host', 'port', 'dataDir']).action(async (options: TopOptions, command: Command) => {
    const config = readSettings(command);
    const url = (options.url ?? serverOf(command, config).url).replace(/(?<!\/)\/+$/, '');
    if (!URL.canParse(url)) throw new OperatorError(`"${url}" is not a URL such as http://127.0.0.1:3000.`);
    const read = () => readServer(url, config.metricsToken);
    for (let before: Reading | null = null; ; ) {
      const now = await read();
      const shown = viewOf(url, now, before);
      const screen = process.stdout.isTTY && !options.once && !options.json ? CLEAR : '';
      process.stdout.write(`${screen}${options.json ? JSON.stringify(shown) : textOf(shown)}\n`);
      if (options.once) return;
      before = now;
      await pause(EVERY_MS);
    }
  });
}

type View = ReturnType<typeof viewOf>;

/** @param before the reading before; null for a view since the start of the server */
function viewOf(url: string, now: Reading, before: Reading | null) {
  const { queue, settlement, webhooks, ready_workers: browsers } = now.health;
  const uptime = Math.max(1, now.at / 1_000 - (now.samples.one('process_start_time_seconds') ?? 0));
  const seconds = before === null ? uptime : (now.at - before.at) / 1_000;
  const grown = (state: string) => {
    const count = (reading: Reading | null) => reading?.samples.one('stillframe_jobs_total', { state }) ?? 0;
    return Math.max(0, count(now) - count(before)) / seconds;
  };
  return {
    url,
    ready: now.ready,
    browsers,
    queue,
    reserved_jobs: settlement.pending,
    oldest_reserved_seconds: Math.round(settlement.oldest_pending_ms / 1_000),
    webhooks,
    completed_per_second: round(grown('completed')),
    failed_per_second: round(grown('failed')),
    memory_mb: Math.round((now.samples.one('process_resident_memory_bytes') ?? 0) / 1e6),
    stages: stageTimes(now.samples, before?.samples ?? null),
  };
}

function textOf(view: View): string {
  const { queue, webhooks } = view;
  const state = view.ready ? 'ready' : queue.paused ? 'the queue is paused' : 'not ready';
  return [
    `${view.url}   ${state}   ${view.browsers} browsers   ${view.memory_mb} MB`,
    '',
    `queue      ${queue.active} active, ${queue.prioritized} prioritized, ${queue.waiting} waiting, ${queue.delayed} delayed`,
    `captures   ${view.completed_per_second}/s completed, ${view.failed_per_second}/s failed; ${queue.completed} and ${queue.failed} in all`,
    `credits    reserved for ${view.reserved_jobs} jobs, the oldest for ${view.oldest_reserved_seconds} s`,
    `webhooks   ${webhooks.delivered} delivered, ${webhooks.failed} failed, ${webhooks.errors} attempts failed`,
    '',
    ...stageLines(view.stages),
  ].join('\n');
}

function stageLines(stages: readonly StageTimes[]): string[] {
  if (stages.length === 0) return ['no captures yet'];
  const line = (cells: string[]) => cells.map((cell, i) => (i === 0 ? cell.padEnd(11) : cell.padStart(10))).join('');
  return [
    line(['stage', 'captures', 'mean', 'p95']),
    ...stages.map((row) => line([row.stage, String(row.count), seconds(row.mean), `≤ ${seconds(row.p95)}`])),
  ];
}

function seconds(value: number): string {
  return value < 1 ? `${Math.round(value * 1_000)} ms` : `${round(value)} s`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

async function readServer(url: string, token: string | null): Promise<Reading> {
  const health = await fetchText(`${url}/v1/health`, null);
  const metrics = await fetchText(`${url}/metrics`, token);
  if (metrics.status !== 200) {
    throw new OperatorError(
      `${url}/metrics answers ${metrics.status}: run this on the server's machine, or set STILLFRAME_METRICS_TOKEN.`,
    );
  }
  return {
    at: Date.now(),
    ready: health.status === 200,
    health: parseHealth(url, health.text),
    samples: readSamples(metrics.text),
  };
}

function parseHealth(url: string, text: string): WireHealth {
  try {
    const { data } = JSON.parse(text) as { data?: WireHealth };
    if (data?.queue !== undefined) return data;
  } catch {
    // The error below reports it.
  }
  throw new OperatorError(`${url} is not a stillframe server.`);
}

async function fetchText(url: string, token: string | null): Promise<{ status: number; text: string }> {
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(ANSWER_MS), redirect: 'error' });
    const text = await response.text();
    return { status: response.status, text: text.slice(0, ANSWER_BYTES) };
  } catch (error) {
    const reason = ((error as Error).cause as Error | undefined)?.message ?? (error as Error).message;
    throw new OperatorError(`${url} does not answer (${reason}): is the server running, on this address?`);
  }
}

export function readSamples(text: string): Samples {
  const samples = text.split('\n').flatMap((line) => readSample(line) ?? []);
  const of = (name: string) => samples.filter((sample) => sample.name === name);
  return {
    one: (name, labels = {}) =>
      of(name).find((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))?.value ??
      null,
    values: (name, label) => [...new Set(of(name).flatMap(({ labels }) => labels[label] ?? []))],
  };
}

/** Computes the times of captures by stage, between two readings or since the start, slowest first. */
export function stageTimes(now: Samples, before: Samples | null): StageTimes[] {
  const grown = (name: string, labels: Record<string, string>) =>
    (now.one(name, labels) ?? 0) - (before?.one(name, labels) ?? 0);
  const bounds = now.values(`${STAGES}_bucket`, 'le');
  return now
    .values(`${STAGES}_count`, 'stage')
    .map((stage): StageTimes => {
      const count = grown(`${STAGES}_count`, { stage });
      const bucket = bounds.find((le) => grown(`${STAGES}_bucket`, { stage, le }) >= count * 0.95);
      return {
        stage,
        count,
        mean: grown(`${STAGES}_sum`, { stage }) / Math.max(1, count),
        p95: Number(bucket?.replace('+Inf', 'Infinity') ?? 0),
      };
    })
    .filter(({ count }) => count > 0)
    .sort((one, other) => other.mean - one.mean);
}

function readSample(line: string): Sample | null {
  const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) return null;
  const pairs = [...labels.matchAll(/(?<!\w)(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text]);
  return { name, labels: Object.fromEntries(pairs), value: Number(value) };
}
