import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fitCosts, plan, processorMsOf } from './model.js';
import { POINTS } from './scale-points.js';

const costs = fitCosts(POINTS);

test.each(POINTS)('the model predicts the database time of $what with $nodes servers within 15 %', (point) => {
  expect(Math.abs(processorMsOf(costs, point) / point.processorMs - 1)).toBeLessThan(0.15);
});

test('the table of plans in the documentation is that of the model', () => {
  const page = readFileSync(new URL('../../docs/several-machines.md', import.meta.url), 'utf8');
  const rounded = (value: number, digits = 0) => Number(value.toFixed(digits)).toLocaleString('en-US');
  for (const nodes of [10, 100, 1_000]) {
    const { perSecond, databaseCores, walMbPerSecond, connections, lockShare, million } = plan(costs, nodes);
    const cells = [
      rounded(nodes),
      rounded(perSecond),
      rounded(databaseCores, 1),
      `${rounded(walMbPerSecond, 1)} MB/s`,
      rounded(connections),
      `${rounded(lockShare * 100)} %`,
      `$${(million.servers + million.database + million.storage).toFixed(2)}`,
    ];
    expect(page).toContain(`| ${cells.join(' | ')} |`);
  }
});
