import { chmodSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { COMMAND_NAMES, startByNpm, withOwnCommand } from '../../src/cli/own-command.js';
import { makeProgram } from '../../src/cli/program.js';
import { ROOT } from '../fixtures/documents.js';
import { folderOfTest, writeFiles } from '../fixtures/temporary-folder.js';

const PROGRAM = join(ROOT, 'dist/main.js');
const LIST = 'See: stillframe keys list';

beforeEach(() => {
  vi.stubEnv('npm_lifecycle_script', undefined);
  vi.stubEnv('npm_config_package', undefined);
  vi.stubEnv('PATH', '/usr/bin');
  vi.spyOn(process, 'argv', 'get').mockReturnValue([process.execPath, PROGRAM]);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

it('knows all commands of the program', async () => {
  const names = (await makeProgram(undefined)).commands.map((command) => command.name());
  expect([...COMMAND_NAMES].sort()).toEqual(names.filter((name) => name !== 'help').sort());
});

it('a command line is `npx stillframe` in a clone, and names the program elsewhere', () => {
  expect(withOwnCommand(LIST)).toBe('See: npx stillframe keys list');
  vi.spyOn(process, 'cwd').mockReturnValue('/');
  expect(withOwnCommand(LIST)).toBe(`See: node ${PROGRAM} keys list`);
  expect(withOwnCommand('The stillframe server runs. See `stillframe.db`, and the stillframe keysmith.')).toContain(
    'The stillframe server',
  );
});

it('a command line is `stillframe` where a shell finds this program by that name, and no other one', () => {
  const [own, other] = [folderOfTest(), folderOfTest()];
  symlinkSync(PROGRAM, join(own, 'stillframe'));
  writeFiles(other, { stillframe: '#!/bin/sh\n' });
  chmodSync(join(other, 'stillframe'), 0o755);
  vi.stubEnv('PATH', `${other}:${own}`);
  expect(withOwnCommand(LIST)).toBe(LIST);
  vi.stubEnv('PATH', other);
  expect(withOwnCommand(LIST)).toContain('npx stillframe');
});

it.each([
  ["'stillframe'", null, 'npx stillframe'],
  ['stillframe serve --port 4000', null, 'npx stillframe'],
  ['"stillframe"', '/tmp/a b/stillframe.tgz', "npx --package='/tmp/a b/stillframe.tgz' stillframe"],
  ['exec env A=1 node scripts/start.mjs', null, 'npx stillframe'],
])('a command line is as npx was called: %s', (script, named, command) => {
  vi.stubEnv('npm_lifecycle_script', script);
  if (named !== null) vi.stubEnv('npm_config_package', named);
  expect(startByNpm()).not.toBeNull();
  expect(withOwnCommand(LIST)).toBe(`See: ${command} keys list`);
});

it.each(['stillframe serve &', 'nohup stillframe', 'stillframe serve; true', 'node server.mjs', 'vitest run'])(
  'npm has not started this program with the script %s',
  (script) => {
    vi.stubEnv('npm_lifecycle_script', script);
    expect(startByNpm()).toBeNull();
  },
);
