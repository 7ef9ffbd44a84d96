import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { buildProgram } from '../fixtures/build-program.js';

export async function startElsewhere(): Promise<AsyncDisposable & { origin: string }> {
  const program = await buildProgram(new URL('hostile-site.ts', import.meta.url));
  const child = spawn(process.execPath, [program.file], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const ready = once(child.stdout, 'data') as Promise<[Buffer]>;
  const failed = exited.then(([code]) => Promise.reject(new Error(`the hostile site ended (${code})`)));
  failed.catch(() => {});
  const [said] = await Promise.race([ready, failed]);
  return {
    origin: String(said).trim(),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exited;
      await program[Symbol.asyncDispose]();
    },
  };
}
