import { expect, it, vi } from 'vitest';
import { createLog } from '../src/log.js';

const MB = 1024 * 1024;

/** The lines that are written to stderr by the log, which writes to the file descriptor. */
async function written(log: (log: ReturnType<typeof createLog>) => void): Promise<Record<string, unknown>[]> {
  const lines: string[] = [];
  const { default: fs } = await import('node:fs');
  const write = vi.spyOn(fs, 'writeSync').mockImplementation((_fd: number, text: unknown) => {
    lines.push(String(text));
    return Buffer.byteLength(String(text));
  });
  try {
    log(createLog({ level: 'debug', format: 'json' }));
  } finally {
    write.mockRestore();
  }
  return lines.map((line) => JSON.parse(line));
}

it.each<[string, (log: ReturnType<typeof createLog>, long: string) => void]>([
  ['a message', (log, long) => log.info(long)],
  ['an argument of a message', (log, long) => log.info('%s', long)],
  ['a field', (log, long) => log.info({ name: long }, 'x')],
  ['a nested field', (log, long) => log.info({ a: { b: [{ c: long }] } }, 'x')],
  ['an error', (log, long) => log.warn({ err: new Error(long) }, 'x')],
  ['the cause of an error', (log, long) => log.warn({ err: new Error('x', { cause: new Error(long) }) }, 'x')],
  [
    'a field of an error',
    (log, long) => log.warn({ err: Object.assign(new Error('x'), { details: { said: long } }) }, 'x'),
  ],
  ['an error alone', (log, long) => log.error(new Error(long))],
  ['a field of a child', (log, long) => log.child({ host: long }).info('x')],
])('cuts the strings of %s at 8 KB', async (_what, say) => {
  const [line] = await written((log) => say(log, '\u0001"é'.repeat(MB)));
  const text = JSON.stringify(line);
  expect(text).toMatch(/… \(\d+ characters\)/);
  expect(longest(line)).toBeLessThan(8_192 + 40);
  expect(longest(line)).toBeGreaterThan(8_000);
});

it('cuts many strings of one line at 64 KB together', async () => {
  const [line] = await written((log) =>
    log.info(Object.fromEntries(Array.from({ length: 500 }, (_, nth) => [`f${nth}`, 'x'.repeat(8_000)]))),
  );
  expect(JSON.stringify(line).length).toBeLessThan(64 * 1024 + 500 * 60);
});

it('keeps 256 entries of each object and list, and 256 characters of each name', async () => {
  const [line] = await written((log) =>
    log.info(
      {
        list: Array.from({ length: 100_000 }, (_, nth) => nth),
        names: { ['n'.repeat(100_000)]: 1 },
        many: Object.fromEntries(Array.from({ length: 10_000 }, (_, nth) => [nth, nth])),
      },
      'x',
    ),
  );
  expect(JSON.stringify(line).length).toBeLessThan(8_192);
  expect(line).toMatchObject({
    list: Array.from({ length: 256 }, (_, nth) => nth),
    names: { ['n'.repeat(256)]: 1 },
    msg: 'x',
  });
});

it('keeps a whole line within 64 KB, with its message and the fields that fit', async () => {
  const nested = Object.fromEntries(
    Array.from({ length: 200 }, (_, nth) => [nth, Array.from({ length: 200 }, () => nth)]),
  );
  const [line] = await written((log) =>
    log.warn({ job_id: 'job_1', nested, escaped: '\u0001'.repeat(50_000), code: 'x' }, '\u0001'.repeat(50_000)),
  );
  expect(JSON.stringify(line).length).toBeLessThanOrEqual(64 * 1024);
  expect(line).toMatchObject({
    level: 40,
    job_id: 'job_1',
    code: 'x',
    omitted_fields: 2,
    msg: expect.stringContaining('characters'),
  });
  expect(line).not.toHaveProperty('nested');
});

function longest(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return typeof value === 'object' && value !== null ? Math.max(0, ...Object.values(value).map(longest)) : 0;
}
