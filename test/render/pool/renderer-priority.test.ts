import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { getPriority } from 'node:os';
import { afterEach, expect, it } from 'vitest';
import { RendererPriority } from '../../../src/render/launch/process-priority.js';
import { type BrowserProcess, readProcess } from '../../../src/render/launch/process-table.js';

const children: ChildProcess[] = [];
const own = getPriority();
/** So much nicer than we are, as far as that goes. */
const more = (niceness: number) => Math.min(own + niceness, 19);
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A process that waits, after its main thread has used CPU time. */
async function aProcess(role: string, name = 'waits'): Promise<BrowserProcess> {
  const source = `
    process.title = '${name}';
    while (process.cpuUsage().user < 50_000);
    console.log(1);
    setInterval(() => {}, 1000);
  `;
  const child = spawn(process.execPath, ['-e', source], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  if (child.stdout !== null) await once(child.stdout, 'data');
  const entry = readProcess(child.pid ?? 0);
  if (entry === null) throw new Error('the process has ended');
  return { ...entry, role };
}

it('only a renderer that runs for long gets an ever lower priority', async () => {
  const [greedy, modest, other] = await Promise.all(['renderer', 'renderer', 'gpu-process'].map((role) => aProcess(role)));
  if (greedy === undefined || modest === undefined || other === undefined) throw new Error('no processes');
  const priority = new RendererPriority(null);
  const look = (ticks: number) => {
    priority.update([
      { ...greedy, cpuTicks: ticks },
      { ...modest, cpuTicks: 35 },
      { ...other, cpuTicks: 900 },
    ]);
    return [greedy, modest, other].map(({ pid }) => getPriority(pid));
  };
  expect(look(39)).toEqual([own, own, own]);
  expect(look(41)).toEqual([more(13), own, own]);
  expect(look(101)).toEqual([19, own, own]);
});
