import { chmodSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pino } from 'pino';
import { afterAll, describe, expect, it } from 'vitest';
import { reportFonts } from '../../src/cli/serve.js';
import { startCollector } from '../fixtures/otlp-collector.js';
import { runCommand } from '../fixtures/run-command.js';
import { runProgram } from '../fixtures/run-program.js';
import { folderOfFile } from '../fixtures/temporary-folder.js';
import { rememberBrowsers } from '../render/install/any-browser.js';

const PATH = process.env.PATH;

const dir = folderOfFile();
const fcList = join(dir, 'fc-list');
writeFileSync(fcList, "#!/bin/sh\necho 'en|ru|el|ar|he|hi|bn|ta|te|und-zsye'\n");
chmodSync(fcList, 0o755);
rememberBrowsers(dir);
process.env.PATH = `${dir}${delimiter}${PATH}`;

afterAll(() => {
  process.env.PATH = PATH;
});

describe('on a machine without fonts for some scripts', () => {
  it('doctor names them and the packages to install, without colors in a pipe under CI', async () => {
    const { stdout } = await runProgram(['doctor'], { cwd: dir, env: { CI: 'true' } });
    expect(stdout).toMatch(/^warn {2}Fonts +none for Chinese, Japanese, Korean, Thai: .+\n +→ .+noto/im);
    expect(stdout).toMatch(/^(ok|warn) +Chromium +\d+\./m);
    expect(stdout).not.toContain('\u001b');
  });

  it('the start reports them in one line', async () => {
    const lines: string[] = [];
    await reportFonts({ dataDir: dir }, pino({ level: 'info' }, { write: (line) => lines.push(line) }));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '{}').msg).toMatch(/^No fonts for Chinese, Japanese, Korean, Thai: .+noto/i);
  });
});

describe('traces', () => {
  const doctor = async (env: Record<string, string>) => {
    // Without a browser to start.
    const { stdout } = await runCommand(['doctor', '--json'], {
      cwd: dir,
      env: { STILLFRAME_CHROMIUM: '/nonexistent', ...env },
    });
    return (JSON.parse(stdout) as { check: string; state: string; found: string }[]).filter(
      ({ check }) => check === 'Traces',
    );
  };

  it('are sent as a test if they are configured', async () => {
    let status = 200;
    await using collector = await startCollector({ answer: () => status });
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_HEADERS: 'x-key=1' };
    expect(await doctor({})).toEqual([]);
    expect(await doctor(env)).toMatchObject([{ state: 'ok' }]);
    expect(collector.spans).toEqual([]);
    expect(collector.requests[0]?.headers).toMatchObject({ 'x-key': '1' });
    status = 401;
    expect(await doctor(env)).toMatchObject([{ state: 'warn', found: expect.stringContaining('401') }]);
    expect(await doctor({ ...env, OTEL_TRACES_SAMPLER: 'most' })).toMatchObject([
      { state: 'fail', found: expect.stringMatching(/^OTEL_TRACES_SAMPLER/) },
    ]);
  });
});
