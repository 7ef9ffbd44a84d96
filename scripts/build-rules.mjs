/**
 * Makes what the bundle needs for blocking, at build time:
 *   rules.json                the built-in rules: third-party-web (MIT) and our own knowledge of vendors
 *   list-thread.mjs           the worker that parses fetched lists
 *   consent-page.js           the script that answers consent banners, with autoconsent (MPL-2.0) in it
 *   consent-page.LICENSE.txt  autoconsent's licence
 * Usage: node scripts/build-rules.mjs [output directory, default dist]
 */
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENGINE_VERSION, FiltersEngine } from '@ghostery/adblocker';
import { build } from 'esbuild';
import { LEFT_ALONE, OWN, RATHER_TRACKERS } from './build-rules.vendors.mjs';
import { bundleForPage } from './built-modules.mjs';

const require = createRequire(import.meta.url);
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const ENGINE_OPTIONS = require('../src/render/lists/engine-options.json');

/** The switch of each category of third-party-web; others are not blocked. */
const SWITCH_OF = {
  ad: 'ads',
  analytics: 'trackers',
  'tag-manager': 'trackers',
  'customer-success': 'chats',
  'consent-provider': 'cookies',
};

/** Hosts that many customers of a cloud share, or that name one bucket of an unnamed one. */
const SHARED_HOSTING =
  /(^|\.)(cloudfront\.net|azurewebsites\.net|azureedge\.net|windows\.net|amazonaws\.com|cdn77\.org|b-cdn\.net|leasewebcdn\.com|cdnetworks\.net|alphacdn\.net|edgecastdns\.net|insnw\.net|mncdn\.com|msedge\.net|fastestcdn\.net|llnwd\.net|cloudfunctions\.net|cloudfront\.ne)$/;

/** @returns {{hosts: Record<string, string[]>, rules: Record<string, string[]>}} */
export function builtInRules() {
  const hosts = { ads: new Set(), trackers: new Set(), chats: new Set(), cookies: new Set(), popups: new Set() };
  const rules = { ads: [], trackers: [], chats: [], cookies: [], popups: [] };
  const owner = new Map();
  for (const [category, entries] of Object.entries(OWN)) {
    for (const entry of entries) {
      if (!isHost(entry)) rules[category].push(entry);
      else if (!owner.has(entry)) owner.set(entry, category);
    }
  }
  for (const { categories, domains } of require('third-party-web/nostats-subset').entities) {
    const category = SWITCH_OF[categories[0]];
    if (category === undefined) continue;
    for (const domain of domains) {
      const host = domain.replace(/^\*\./, '').toLowerCase();
      if (LEFT_ALONE.has(host) || SHARED_HOSTING.test(host) || owner.has(host) || !isHost(host)) continue;
      owner.set(host, category === 'ads' && RATHER_TRACKERS.has(host) ? 'trackers' : category);
    }
  }
  for (const [host, category] of owner) {
    const above = ownerAbove(host, owner);
    if (above === category) continue;
    hosts[category].add(host);
    if (above !== undefined) rules[above].push(`@@||${host}^`);
  }
  return { hosts: Object.fromEntries(Object.entries(hosts).map(([name, set]) => [name, [...set].sort()])), rules };
}

function isHost(entry) {
  return /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(entry);
}

/** The switch of the nearest host above that has one. */
function ownerAbove(host, owner) {
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
    const above = owner.get(host.slice(dot + 1));
    if (above !== undefined) return above;
  }
  return undefined;
}

/** Engines are parsed here, so that a start only loads them; their options are those of src/render/lists/engines.ts. */
function withEngines(builtIn) {
  const engines = {};
  for (const category of Object.keys(builtIn.hosts)) {
    const text = [...builtIn.hosts[category].map((host) => `||${host}^$third-party`), ...builtIn.rules[category]].join(
      '\n',
    );
    const engine = FiltersEngine.parse(text, ENGINE_OPTIONS);
    engines[category] = Buffer.from(engine.serialize()).toString('base64');
  }
  const digest = createHash('sha256').update(JSON.stringify(builtIn)).digest('hex').slice(0, 16);
  return { engineVersion: ENGINE_VERSION, digest, ...builtIn, engines };
}

async function bundleListThread(outfile) {
  await build({
    entryPoints: [join(root, 'src/render/lists/list-thread.ts')],
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: ['@ghostery/adblocker'],
    outfile,
  });
}

const ASSETS = ['rules.json', 'list-thread.mjs', 'consent-page.js', 'consent-page.LICENSE.txt'];

/** Writes all files, each atomically. */
export async function writeBlockingAssets(directory) {
  await mkdir(directory, { recursive: true });
  const passing = (name) => join(directory, `.${process.pid}.${name}`);
  await writeFile(passing('rules.json'), JSON.stringify(withEngines(builtInRules())));
  await Promise.all([
    bundleListThread(passing('list-thread.mjs')),
    bundleForPage(join(root, 'src/render/in-page/consent/platforms.ts')).then((script) =>
      writeFile(passing('consent-page.js'), script),
    ),
  ]);
  await copyFile(join(root, 'node_modules/@duckduckgo/autoconsent/LICENSE'), passing('consent-page.LICENSE.txt'));
  for (const name of ASSETS) await rename(passing(name), join(directory, name));
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const directory = resolve(process.argv[2] ?? join(root, 'dist'));
  await writeBlockingAssets(directory);
  const { hosts, rules } = JSON.parse(await readFile(join(directory, 'rules.json'), 'utf8'));
  for (const name of Object.keys(hosts))
    console.log(`${name}: ${hosts[name].length} hosts, ${rules[name].length} rules`);
}
