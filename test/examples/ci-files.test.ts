import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { packageVersion } from '../../src/package-files.js';
import { ROOT } from '../fixtures/documents.js';
import { listen } from '../fixtures/listen.js';
import { runCommand } from '../fixtures/run-command.js';
import { folderOfTest, writeFiles } from '../fixtures/temporary-folder.js';
import { rememberBrowsers } from '../render/install/any-browser.js';

const CI = join(ROOT, 'examples/ci');

/** The command lines of a CI file that start stillframe: first the check, then the one that takes the baseline. */
function commandsOf(file: string): string[][] {
  const lines: string[] = [];
  JSON.stringify(parse(readFileSync(join(CI, file), 'utf8')), (_, value) => {
    if (typeof value === 'string' && value.startsWith('npx ')) lines.push(value);
    return value;
  });
  return lines.map((line) => line.split(' '));
}

it.each(readdirSync(CI))(
  '%s takes a baseline, passes while a page is as it was, and fails when it has changed',
  async (file) => {
    let color = 'green';
    const server = createServer((_, response) =>
      response.setHeader('content-type', 'text/html').end(`<body style="background:${color}"><h1>Home`),
    );
    const site = await listen(server);
    onTestFinished(() => site[Symbol.asyncDispose]());
    const cwd = folderOfTest();
    rememberBrowsers(cwd);
    const shot = {
      url: site.origin,
      output: 'shots/home.png',
      viewport: { width: 320, height: 240, deviceScaleFactor: 1 },
      timeout: 60_000,
    };
    writeFiles(cwd, { 'shots.yml': JSON.stringify([shot]) });
    const [check = [], update = []] = commandsOf(file);
    const run = async ([npx, yes, program, ...words]: string[]) => {
      expect([npx, yes, program]).toEqual(['npx', '--yes', `stillframe@${packageVersion()}`]);
      return (await runCommand(words, { cwd })).status;
    };
    expect([await run(check), await run(update), await run(check)]).toEqual([1, 0, 0]);
    color = 'red';
    expect(await run(check)).toBe(1);
    for (const path of ['baseline/shots/home.png', 'visual-report/index.html', 'visual-report/junit.xml']) {
      expect(existsSync(join(cwd, path)), path).toBe(true);
    }
  },
);
