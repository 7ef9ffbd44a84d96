/** Runs a command that is silent for minutes, and says meanwhile how long it has run. Plain Node: the package has it for its install script. */
import { spawn } from 'node:child_process';

/** On a terminal, and elsewhere, where each is a line of its own. */
const TICKS_MS = { terminal: 1_000, log: 15_000 };
const OUTPUT_KEPT_CHARS = 8_192;

/** @returns the exit code, null if the command could not be started or was ended by a signal, and the end of its output */
export async function runWithProgress(command, args, { what, out = process.stderr, everyMs, ...options }) {
  const began = Date.now();
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let doing = what;
  const onOutput = (chunk) => {
    output = (output + chunk).slice(-OUTPUT_KEPT_CHARS);
    // node-gyp says so before it calls a compiler.
    if (/\bgyp info|\bnode-gyp\b/.test(output)) doing = `${what}: compiling`;
  };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', onOutput);
  const line = () => `${doing} … ${Math.round((Date.now() - began) / 1_000)} s`;
  const show = () => out.write(out.isTTY ? `\r\u001b[2K${line()}` : `${line()}\n`);
  const timer = setInterval(show, everyMs ?? (out.isTTY ? TICKS_MS.terminal : TICKS_MS.log));
  const status = await new Promise((ended) => {
    child.once('error', (error) => {
      output += error.message;
      ended(null);
    });
    child.once('close', ended);
  });
  clearInterval(timer);
  if (out.isTTY) out.write('\r\u001b[2K');
  return { status, output };
}
