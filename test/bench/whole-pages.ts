import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { startBareLoop } from './bare-loop.js';
import { type Figure, ratio } from './figure.js';
import { inTurns } from './loops.js';
import { BENCH_PAGES, INVOICE } from './pages.js';
import { captured, startServer } from './server.js';
import { startSiteThread } from './site-thread.js';

const PAIRS = 8;
const TEMPLATES = { 'admin-lte': '3.2.0', 'paper-kit-2': '2.1.0', 'now-ui-kit': '1.3.0' };
const TEMPLATES_DIR = resolve(import.meta.dirname, '../../node_modules/.cache/stillframe-bench');

/** Full pages and PDFs against what the bare browser makes of the same pages, among them three template sites of npm. */
export async function benchWholePages(): Promise<Figure[]> {
  const pages = { ...BENCH_PAGES, '/invoice': { type: 'text/html', body: INVOICE } };
  await using site = await startSiteThread('127.0.0.2', pages, installTemplates());
  // The sites name other hosts, which must fail at once.
  await using server = await startServer({ STILLFRAME_CONCURRENCY: '4', STILLFRAME_DNS_SERVERS: '127.0.0.1:1' });
  await using bare = await startBareLoop(server.dataDir);
  const viewport = { width: 1280, height: 720, deviceScaleFactor: 1 };
  const goals = { '/bench/article': ['≤ 1.1', '≤ 1.2'], '/invoice': ['≤ 1.1', '≤ 1.15'] } as Record<
    string,
    [string, string]
  >;
  const figures: Figure[] = [];
  for (const path of ['/bench/article', '/invoice', ...Object.keys(TEMPLATES).map((name) => `/${name}/index.html`)]) {
    const url = `${site.origin}${path}`;
    const [full, paper] = goals[path] ?? ['≤ 1.3', '≤ 1.5'];
    const ms = await inTurns(
      {
        bareFull: () => bare.captureFullPage(url),
        full: () => captured(server, { url, format: 'png', full_page: true, viewport }),
        barePdf: () => bare.print(url),
        pdf: () => captured(server, { url, format: 'pdf', pdf: { paper: 'a4' } }),
      },
      PAIRS,
    );
    figures.push([`${path}, full page, ÷ bare fullPage`, ratio(ms.full, ms.bareFull), full]);
    figures.push([`${path}, PDF on A4, ÷ bare page.pdf`, ratio(ms.pdf, ms.barePdf), paper]);
  }
  return figures;
}

/** Installs the template sites once. @returns their directories by name */
function installTemplates(): Record<string, string> {
  mkdirSync(TEMPLATES_DIR, { recursive: true });
  const directories = Object.fromEntries(
    Object.keys(TEMPLATES).map((name) => [name, join(TEMPLATES_DIR, 'node_modules', name)]),
  );
  // admin-lte has the scripts and styles of its pages only after its own install script has copied them.
  const adminLte = directories['admin-lte'] ?? '';
  if (Object.values(directories).every((directory) => existsSync(directory)) && existsSync(join(adminLte, 'plugins')))
    return directories;
  const packages = Object.entries(TEMPLATES).map(([name, version]) => `${name}@${version}`);
  execFileSync('npm', ['install', '--prefix', TEMPLATES_DIR, '--ignore-scripts', '--no-save', ...packages], {
    stdio: 'inherit',
  });
  execFileSync('node', ['build/npm/Publish.js'], { cwd: adminLte, stdio: 'inherit' });
  return directories;
}
