import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { STORE_FILES } from '../../src/package-files.js';
import { buildProgram } from '../fixtures/build-program.js';
import { type Figure, quantile } from './figure.js';
import type { DiskLoad } from './slow-disk-load.js';

const RUNS = 3;
const SYNC_MS = 20;
/** Both calls that bring a file to the disk, made slow for the whole process. */
const SHIM = ['fsync', 'fdatasync']
  .map(
    (name) => `int ${name}(int file) {
  static int (*next)(int);
  if (!next) next = dlsym(RTLD_NEXT, "${name}");
  usleep(${SYNC_MS * 1_000});
  return next(file);
}`,
  )
  .join('\n');

/** What the store's disk syncs cost the event loop and the rate, on this disk and on a slow one. Needs a C compiler. */
export async function benchSlowDisk(): Promise<Figure[]> {
  const dir = mkdtempSync(join(tmpdir(), 'stillframe-slow-disk-'));
  try {
    const shim = join(dir, 'slow-sync.so');
    writeFileSync(join(dir, 'slow-sync.c'), `#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <unistd.h>\n${SHIM}\n`);
    execFileSync('cc', ['-shared', '-fPIC', '-o', shim, join(dir, 'slow-sync.c'), '-ldl'], { stdio: 'inherit' });
    await using program = await buildProgram(new URL('slow-disk-load.ts', import.meta.url));
    const command = [program.file, STORE_FILES.migrationsDir, STORE_FILES.checkpointThread.href];
    const measure = (env: NodeJS.ProcessEnv) =>
      Array.from({ length: RUNS }, () => {
        const printed = execFileSync(process.execPath, command, { encoding: 'utf8', env: { ...process.env, ...env } });
        return JSON.parse(printed) as DiskLoad;
      });
    return [...figures(`slow disk (${SYNC_MS} ms)`, measure({ LD_PRELOAD: shim })), ...figures('this disk', measure({}))];
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function figures(disk: string, runs: readonly DiskLoad[]): Figure[] {
  const median = (of: (run: DiskLoad) => number) => quantile(runs.map(of), 0.5);
  return [
    {
      what: `${disk}, 100 submissions a second, loop delay p99`,
      value: `${median((run) => run.delayP99).toFixed(1)} ms`,
      goal: disk.startsWith('slow') ? '≤ 10' : '',
    },
    { what: `${disk}, a submission's answer, p50`, value: `${median((run) => run.answerP50).toFixed(1)} ms`, goal: '' },
    { what: `${disk}, accepted by 32 at once`, value: `${median((run) => run.rate32).toFixed(0)} /s`, goal: '' },
    { what: `${disk}, accepted by 256 at once`, value: `${median((run) => run.rate256).toFixed(0)} /s`, goal: '' },
  ];
}
