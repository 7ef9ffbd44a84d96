import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { runCommand } from '../../fixtures/run-command.js';
import { folderOfTest } from '../../fixtures/temporary-folder.js';
import { rememberBrowsers } from '../../render/install/any-browser.js';

let dir: string;
beforeEach(() => {
  dir = folderOfTest();
  rememberBrowsers(dir);
});

const read = (name: string) => readFileSync(join(dir, name), 'utf8');

/** Captures small pages, and compares the pictures with the baseline. */
async function checkShots(shots: string[], ...args: string[]) {
  const defaults = 'defaults: { timeout: 60000, viewport: { width: 320, height: 240, deviceScaleFactor: 1 } }';
  writeFileSync(join(dir, 'shots.yml'), [defaults, 'shots:', ...shots.map((shot) => `  - ${shot}`)].join('\n'));
  const run = await runCommand(['multi', 'shots.yml', '--baseline', 'baseline', '--json', ...args], { cwd: dir });
  return { ...run, report: JSON.parse(run.stdout) };
}

const KEPT = `{ html: '<body style="background:#fff">kept', output: shots/kept.png }`;

/** Checks two pictures and a PDF. */
function check(color: string, ...args: string[]) {
  const changing = `{ html: '<title>a < b</title><body style="background:${color}">changing', output: shots/changing.png }`;
  return checkShots([KEPT, changing, `{ html: paper, output: shots/paper.pdf }`], ...args);
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
  expect(readdirSync(join(dir, 'visual-report/pictures')).sort()).toEqual([
    '2-after.png',
    '2-before.png',
    '2-changes.webp',
  ]);
  expect(read('visual-report/index.html')).toMatch(/<img src="pictures\/2-before\.png" alt="Baseline">/);

  const allowed = await check('#060', '--fail-above', '1');
  expect(allowed).toMatchObject({ status: 0, report: { compared: { same: 2 } } });
});

it('`multi --baseline` has a failure in its report for each picture that could not be captured', async () => {
  const [picture, paper] = ['shots/lost.png', 'shots/lost.pdf'].map(
    (output) => `{ url: "http://127.0.0.1:2/", output: ${output} }`,
  );
  const run = await checkShots([KEPT, picture ?? '', paper ?? ''], '--update');
  expect(run).toMatchObject({
    status: 1,
    report: { ok: false, captured: 1, failed: 2, compared: { updated: 1, failed: 0 } },
  });
  const junit = read('visual-report/junit.xml');
  expect(junit).toContain('tests="2" failures="1"');
  expect(junit).toMatch(/name="shots\/lost\.png [^>]*>\n *<failure message="not captured">\w+: .*<\/failure>/);
  expect(read('visual-report/index.html')).toContain('<span class="not_captured">not captured</span> shots/lost.png');
});

it('`multi --update` needs --baseline', async () => {
  const run = await runCommand(['multi', 'shots.yml', '--update'], { cwd: dir });
  expect(run).toMatchObject({ status: 2, stderr: expect.stringContaining('--update needs --baseline') });
});

it('`multi` reports its captures also when the baseline or the report of the check cannot be written', async () => {
  writeFileSync(join(dir, 'file'), '');
  const updated = await checkShots([KEPT], '--update', '--baseline', 'file', '--report', 'report.json');
  const failed = {
    ok: false,
    status: 'captured',
    comparison: { status: 'failed', message: expect.stringContaining('cannot be written') },
  };
  expect(updated).toMatchObject({
    status: 1,
    report: { ok: false, captured: 1, compared: { failed: 1 }, shots: [failed] },
  });
  expect(updated.stderr).toMatch(/^shots\/kept\.png: failed\. The baseline .* cannot be written: .*$/m);
  expect(updated.stderr).not.toContain('    at ');
  expect(JSON.parse(read('report.json'))).toEqual(updated.report);

  const unreported = await checkShots([KEPT], '--update', '--report-dir', 'file', '--report', 'report.json');
  const error = { message: expect.stringContaining('The report cannot be written to file') };
  expect(unreported).toMatchObject({ status: 1, report: { ok: false, captured: 1, compared: { updated: 1 }, error } });
  expect(unreported.stderr).not.toContain('    at ');
  expect(JSON.parse(read('report.json'))).toEqual(unreported.report);
});

it.each([
  [['OUT/one/a.png', 'OUT/two/a.png'], 'baseline', 'OUT/one/a.png and OUT/two/a.png would share the baseline'],
  [['a.png'], 'link', 'the baseline of a.png would be that picture itself'],
  [['shots/b.png', 'b.png'], 'shots', 'the baseline of b.png would be the output of another shot, shots/b.png'],
])(
  '`multi` refuses for the outputs %j the baseline %s, before it captures anything',
  async (outputs, baseline, words) => {
    const elsewhere = folderOfTest();
    for (const name of ['one', 'two']) mkdirSync(join(elsewhere, name));
    symlinkSync('.', join(dir, 'link'));
    const paths = outputs.map((output) => output.replace('OUT', elsewhere));
    const run = await checkShots(
      paths.map((path) => `{ html: x, output: ${path} }`),
      '--baseline',
      baseline,
      '--update',
    );
    expect(run).toMatchObject({ status: 2, report: { ok: false, error: { code: 'invalid_request' } } });
    expect(run.stderr).toContain(words.replaceAll('OUT', elsewhere));
    for (const path of paths) expect(existsSync(resolve(dir, path))).toBe(false);
  },
);

it('`multi` refuses a report that would replace the directory of a picture', async () => {
  const run = await checkShots([`{ html: x, output: pictures/a.png }`], '--report-dir', '.');
  expect(run).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('--report-dir: pictures/a.png or its baseline is in '),
  });
});
