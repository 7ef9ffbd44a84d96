import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { WireHealth } from '../../src/contract/health.js';
import { Metrics } from '../../src/service/metrics.js';

const DEPLOY = resolve(import.meta.dirname, '../../deploy');
const read = (name: string) => readFileSync(join(DEPLOY, name), 'utf8');

const dashboard = JSON.parse(read('grafana-dashboard.json')) as {
  panels: { title: string; targets: { expr: string }[] }[];
};
const alerts = parse(read('alerts.yaml')) as {
  groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[];
};
const expressions: [string, string][] = [
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }): [string, string] => [title, expr])),
  ...alerts.groups.flatMap(({ rules }) => rules.map(({ alert, expr }): [string, string] => [alert, expr])),
];

const HEALTH: WireHealth = {
  redis: 'ready',
  database: 'ready',
  storage: 'ready',
  worker_ready: true,
  ready_workers: 1,
  sandboxed: true,
  queue: {
    waiting: 1,
    active: 1,
    prioritized: 1,
    delayed: 1,
    completed: 1,
    failed: 1,
    paused: false,
    total_pending: 4,
  },
  settlement: { pending: 1, settled: 1, released: 1, oldest_pending_ms: 1 },
  webhooks: { delivered: 1, failed: 1, errors: 1, active: true },
};

let text = '';

beforeAll(async () => {
  const metrics = new Metrics();
  metrics.countJob('completed');
  metrics.countJob('failed');
  metrics.countStages({ navigate: 1 });
  metrics.countAnswer({ method: 'GET', route: '/v1/jobs', status: 200, ms: 1 });
  text = await metrics.text({ ready: true, data: HEALTH });
});

describe('the dashboard and the alert rules', () => {
  it.each(expressions)('%s asks for metrics and labels that the server has: %s', (_, expression) => {
    const asked = [...expression.matchAll(/((?:stillframe|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)];
    expect(asked.length).toBeGreaterThan(0);
    for (const [, name = '', labels = ''] of asked) {
      const samples = text.split('\n').filter((line) => new RegExp(`^${name}[{ ]`).test(line));
      expect(samples, name).not.toEqual([]);
      for (const [, label, equals, value = ''] of labels.matchAll(/(\w+)(=~|=)"([^"]*)"/g)) {
        // Prometheus adds the job; the status is asked for by its class.
        if (label === 'job' || label === 'status') continue;
        for (const wanted of equals === '=' ? [value] : value.split('|')) {
          expect(
            samples.some((line) => line.includes(`${label}="${wanted}"`)),
            `${name} ${label}="${wanted}"`,
          ).toBe(true);
        }
      }
    }
  });
});
