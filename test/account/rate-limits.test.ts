import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RateLimits, TokenBuckets } from '../../src/account/rate-limits.js';

function aClock(start = 1_000_000) {
  const clock = { now: start, read: () => clock.now };
  return clock;
}

test('a full bucket allows exactly its burst at once, and then exactly its rate', () => {
  const clock = aClock();
  const buckets = new TokenBuckets({ perMinute: 120, burst: 30 }, clock.read);
  const taken = Array.from({ length: 31 }, () => buckets.take('key'));
  expect(taken.filter((verdict) => verdict.allowed)).toHaveLength(30);
  expect(taken[0]).toEqual({ allowed: true, limit: 120, remaining: 29, resetSeconds: 1, retryAfterSeconds: 0 });
  expect(taken[30]).toEqual({ allowed: false, limit: 120, remaining: 0, resetSeconds: 15, retryAfterSeconds: 1 });
  clock.now += 499;
  expect(buckets.take('key').allowed).toBe(false);
  clock.now += 1;
  expect(buckets.take('key').allowed).toBe(true);
  expect(buckets.take('key').allowed).toBe(false);
  clock.now += 60_000;
  expect(Array.from({ length: 60 }, () => buckets.take('key')).filter((verdict) => verdict.allowed)).toHaveLength(30);
});

test('the limit allows what a token bucket allows, over any pattern of requests', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 600 }), fc.integer({ min: 1, max: 20 }), (waits, perMinute, burst) => {
      const clock = aClock();
      const buckets = new TokenBuckets({ perMinute, burst }, clock.read);
      let tokens = burst;
      for (const wait of waits) {
        clock.now += wait;
        tokens = Math.min(burst, tokens + (wait * perMinute) / 60_000);
        const enough = tokens >= 1 - 1e-6;
        expect(buckets.peek('key').allowed).toBe(enough);
        expect(buckets.take('key').allowed).toBe(enough);
        if (enough) tokens -= 1;
      }
    }),
    { numRuns: 200 },
  );
});

test('a clock that is set back costs one full bucket at most', () => {
  const clock = aClock(1e12);
  const buckets = new TokenBuckets({ perMinute: 60, burst: 10 }, clock.read);
  for (let i = 0; i < 10; i++) buckets.take('key');
  clock.now -= 3_600_000;
  expect(buckets.take('key')).toMatchObject({ allowed: false, resetSeconds: 10, retryAfterSeconds: 1 });
  clock.now += 1_000;
  expect(buckets.take('key').allowed).toBe(true);
});

test('memory is bounded, since full buckets and the oldest surplus ones are dropped', () => {
  const clock = aClock();
  const buckets = new TokenBuckets({ perMinute: 60, burst: 5 }, clock.read);
  for (let i = 0; i < 120_000; i++) buckets.take(`address ${i}`);
  expect(buckets.size).toBe(100_000);
  clock.now += 60_000;
  buckets.take('one');
  expect(buckets.size).toBe(1);
});

test('submissions, reads, links and failures of one subject do not share a bucket; 0 switches a limit off', () => {
  const once = { perMinute: 1, burst: 1 };
  const limits = new RateLimits({ submissions: once, reads: { perMinute: 0, burst: 1 } }, aClock().read);
  expect([limits.links.take('x').allowed, limits.links.take('x').allowed]).toEqual([true, false]);
  expect(limits.submissions.take('x').allowed).toBe(true);
  expect(limits.submissions.take('x').allowed).toBe(false);
  for (let i = 0; i < 1_000; i++) expect(limits.reads.take('x')).toMatchObject({ allowed: true, limit: 0 });
  const failures = Array.from({ length: 31 }, () => limits.failures.take('x').allowed);
  expect(failures.filter(Boolean)).toHaveLength(30);
});

test('three servers grant a third each, and the last one grants all when two of them end', () => {
  const clock = aClock();
  const rules = { perMinute: 120, burst: 30 };
  const limits = new RateLimits({ submissions: rules, reads: rules }, clock.read);
  const takeAll = () =>
    Array.from({ length: 40 }, () => limits.submissions.take('key')).filter(({ allowed }) => allowed).length;
  limits.shareAmong(3);
  expect(limits.submissions.peek('key')).toMatchObject({ limit: 120, remaining: 10 });
  expect(takeAll()).toBe(10);
  expect(limits.links.peek('key')).toMatchObject({ limit: 120, remaining: 10 });
  clock.now += 60_000;
  limits.shareAmong(1);
  expect(takeAll()).toBe(30);
});
