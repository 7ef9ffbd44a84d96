import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fontAdvice } from '../../src/cli/font-advice.js';
import { DOCUMENTS, ROOT } from '../fixtures/documents.js';
import { folderOfTest, writeFiles } from '../fixtures/temporary-folder.js';

const APT = '/usr/bin/apt-get';
/** As built by default: without the version that an argument may name. */
const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').replace(/\$\{\w+:\+[^}]*\}/g, '');
const ciFiles = ['github', 'gitlab'].map((name) =>
  readFileSync(join(ROOT, `examples/ci/${name}-visual-check.yaml`), 'utf8'),
);
const sources = [
  dockerfile,
  ...ciFiles,
  ...DOCUMENTS.map(({ text }) => text),
  fontAdvice((path) => path === APT, true),
];
const packages = sources
  .flatMap((text) =>
    [...text.matchAll(/apt-get install ([^`|&>\n]*)/g)].flatMap(([, words = '']) => words.trim().split(/\s+/)),
  )
  .filter((word) => /^\w/.test(word));

const codename = /^FROM node:\d+-(\w+)-slim$/m.exec(dockerfile)?.[1];
const isSameSystem =
  existsSync(APT) && readFileSync('/etc/os-release', 'utf8').includes(`VERSION_CODENAME=${codename}\n`);

it.skipIf(!isSameSystem)(
  'the archive of Debian has all packages that the Dockerfile and the documents install',
  (test) => {
    const folder = folderOfTest();
    // An empty system with its own lists of packages: it needs neither root nor what is installed here.
    writeFiles(folder, { status: '', 'lists/partial/.keep': '', 'cache/archives/partial/.keep': '' });
    const places = { 'Dir::State::Lists': 'lists', 'Dir::State::Status': 'status', 'Dir::Cache': 'cache' };
    const settings = [
      ...Object.entries(places).map(([name, path]) => `${name}=${join(folder, path)}`),
      'APT::Sandbox::User=',
      'Acquire::http::Timeout=20',
    ].flatMap((setting) => ['-o', setting]);
    const apt = (...args: string[]) => spawnSync(APT, ['-qq', ...settings, ...args], { encoding: 'utf8' });
    apt('update');
    if (apt('--dry-run', 'install', 'apt').status !== 0) return test.skip("Debian's archive cannot be reached.");
    expect(packages).toEqual(expect.arrayContaining(['tini', 'chromium-headless-shell']));
    const { stdout, stderr } = apt('--dry-run', '--no-install-recommends', 'install', ...new Set(packages));
    expect(stderr).toBe('');
    for (const name of packages) expect(stdout).toContain(`Inst ${name} `);
  },
);
