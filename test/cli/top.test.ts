import { expect, test } from 'vitest';
import { readSamples, stageTimes } from '../../src/cli/top.js';
import { runCommand } from '../fixtures/run-command.js';
import { startService } from '../fixtures/start-service.js';

const BUCKETS = (fast: number, all: number) => `
stillframe_capture_stage_seconds_bucket{le="0.1",stage="navigate"} ${fast}
stillframe_capture_stage_seconds_bucket{le="0.5",stage="navigate"} ${all}
stillframe_capture_stage_seconds_bucket{le="+Inf",stage="navigate"} ${all}
stillframe_capture_stage_seconds_sum{stage="navigate"} ${all * 0.2}
stillframe_capture_stage_seconds_count{stage="navigate"} ${all}
`;

test('stages are counted between two readings, or since the start', () => {
  const [before, now] = [readSamples(BUCKETS(10, 10)), readSamples(BUCKETS(11, 30))];
  expect(stageTimes(now, null)).toEqual([{ stage: 'navigate', count: 30, mean: 0.2, p95: 0.5 }]);
  expect(stageTimes(now, before)).toEqual([{ stage: 'navigate', count: 20, mean: 0.2, p95: 0.5 }]);
  expect(stageTimes(before, before)).toEqual([]);
});

test('a running server is shown, and a missing one is reported with advice', async () => {
  await using service = await startService();
  const json = await runCommand(['top', '--once', '--json', '--url', service.url], { cwd: '.' });
  expect([json.status, JSON.parse(json.stdout)]).toMatchObject([
    0,
    { url: service.url, queue: { completed: 0 }, failed_per_second: 0, stages: [] },
  ]);
  const text = await runCommand(['top', '--once', '--url', `${service.url}/`], { cwd: '.' });
  expect(text.stdout).toContain('queue      0 active');
  expect(text.stdout).toContain('no captures yet');
  const none = await runCommand(['top', '--once', '--url', 'http://127.0.0.1:1'], { cwd: '.' });
  expect([none.status, none.stdout]).toEqual([1, '']);
  expect(none.stderr).toMatch(
    /^stillframe: http:\/\/127\.0\.0\.1:1\/v1\/health does not answer \(.+\): is the server running/,
  );
});
