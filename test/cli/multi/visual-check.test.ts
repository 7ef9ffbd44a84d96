import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommand } from '../../fixtures/run-command.js';
import { rememberBrowsers } from '../../render/install/any-browser.js';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'stillframe-visual-'));
  rememberBrowsers(dir);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const read = (name: string) => readFileSync(join(dir, name), 'utf8');

/** Captures two small pages and a PDF, and compares the pictures with the baseline. */
async function check(colour: string, ...args: string[]) {
  const shots = [
    `{ html: '<body style="background:#fff">kept', output: shots/kept.png }`,
    `{ html: '<title>a < b</title><body style="background:${colour}">changing', output: shots/changing.png }`,
    `{ html: paper, output: shots/paper.pdf }`,
  ];
  writeFileSync(
    join(dir, 'shots.yml'),
    `defaults: { timeout: 60000, viewport: { width: 320, height: 240, deviceScaleFactor: 1 } }\nshots:\n${shots.map((shot) => `  - ${shot}\n`).join('')}`,
  );
  const args2 = ['multi', 'shots.yml', '--baseline', 'baseline', '--json', ...args];
  const run = await runCommand(args2, { cwd: dir });
  return { ...run, report: JSON.parse(run.stdout) };
}

it('`multi --baseline` fails without a baseline, takes one with --update, and fails for a shot that has changed', async () => {
  const first = await check('#fff');
  expect(first.status, first.stderr).toBe(1);
  expect(first.report).toMatchObject({ ok: false, compared: { new: 2, same: 0 } });
  expect(read('visual-report/junit.xml')).toContain('failures="2"');
  expect(existsSync(join(dir, 'baseline'))).toBe(false);

  const updated = await check('#fff', '--update');
  expect(updated).toMatchObject({ status: 0, report: { ok: true, compared: { updated: 2 } } });
  expect(readdirSync(join(dir, 'baseline/shots')).sort()).toEqual(['changing.png', 'kept.png']);

  const same = await check('#fff');
  expect(same).toMatchObject({ status: 0, report: { ok: true, compared: { same: 2, changed: 0 } } });

  const changed = await check('#060');
  expect(changed.status).toBe(1);
  expect(changed.report).toMatchObject({ ok: false, captured: 3, failed: 0, compared: { same: 1, changed: 1 } });
  expect(changed.report.shots).toMatchObject([
    { ok: true, comparison: { status: 'same', share: 0 } },
    { ok: false, comparison: { status: 'changed', share: expect.closeTo(1, 1), regions: [expect.anything()] } },
    { ok: true, format: 'pdf' },
  ]);
  expect(changed.report.shots[2]).not.toHaveProperty('comparison');
  expect(changed.stderr).toContain('See visual-report/index.html.');

  const junit = read('visual-report/junit.xml');
  expect(junit).toContain('tests="2" failures="1"');
  expect(junit).toMatch(/<failure message="9\d\.\d\d % changed">/);
  expect(readdirSync(join(dir, 'visual-report/pictures')).sort()).toEqual(['2-after.png', '2-before.png', '2-changes.webp']);
  expect(read('visual-report/index.html')).toMatch(/<img src="pictures\/2-before\.png" alt="Baseline">/);

  const allowed = await check('#060', '--fail-above', '1');
  expect(allowed).toMatchObject({ status: 0, report: { compared: { same: 2 } } });
});

it('`multi --update` needs --baseline', async () => {
  const run = await runCommand(['multi', 'shots.yml', '--update'], { cwd: dir });
  expect(run).toMatchObject({ status: 2, stderr: expect.stringContaining('--update needs --baseline') });
});
