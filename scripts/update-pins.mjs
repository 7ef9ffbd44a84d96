/**
 * Writes src/render/pinned-packages.json: which npm packages may be installed at run time, in which version, with which sha512.
 *
 * Usage: node scripts/update-pins.mjs [CHROMIUM_VERSION] [LISTS_VERSION]   (the pinned browser and the newest lists when absent)
 * Look at the difference before you commit it, and try the new browser: stillframe browser install --data-dir <an empty directory>
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FILE = fileURLToPath(new URL('../src/render/pinned-packages.json', import.meta.url));
const [CHROMIUM, LISTS] = ['@sparticuz/chromium', '@adguard/dnr-rulesets'];

const pinned = JSON.parse(readFileSync(FILE, 'utf8'));
const [version = pinned.chromium.packages[''].dependencies[CHROMIUM], listsVersion = 'latest'] = process.argv.slice(2);
const pins = { chromium: lockOf(CHROMIUM, version), lists: pinOf(LISTS, listsVersion) };
writeFileSync(FILE, `${JSON.stringify(pins, null, 2)}\n`);

/** The files that npm would install for this package, as a lock file without addresses: any registry may serve content with the right sha512. */
function lockOf(name, version) {
  const dir = mkdtempSync(join(tmpdir(), 'pins-'));
  try {
    const manifest = { name: 'chromium', private: true, dependencies: { [name]: version } };
    writeFileSync(join(dir, 'package.json'), JSON.stringify(manifest));
    npm(['install', '--package-lock-only', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], dir);
    const lock = JSON.parse(readFileSync(join(dir, 'package-lock.json'), 'utf8'));
    for (const entry of Object.values(lock.packages))
      for (const field of ['resolved', 'funding', 'license']) delete entry[field];
    return lock;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function pinOf(name, version) {
  const found = JSON.parse(npm(['view', `${name}@${version}`, 'version', 'dist.integrity', '--json'], tmpdir()));
  return { name, version: found.version, integrity: found['dist.integrity'] };
}

function npm(args, cwd) {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}
