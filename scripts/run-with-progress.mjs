/** Runs a command that is silent for minutes, and says meanwhile how long it has run. Plain Node: the package has it for its install script. */
import { spawn } from 'node:child_process';

const TERMINAL_TICK_MS = 1_000;
const LOG_TICK_MS = 15_000;
const OUTPUT_KEPT_CHARS = 8_192;

/**
 * @param {string} command
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions & {what: string, out?: import('node:tty').WriteStream}} options
 *   what it does, and where its progress goes (default: standard error)
 * @returns {Promise<{status: number | null, output: string}>} null: it could not be started; and the end of its output
 */
export async function runWithProgress(command, args, { what, out = process.stderr, ...options }) {
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
  const timer = setInterval(
    () => out.write(out.isTTY ? `\r\u001b[2K${line()}` : `${line()}\n`),
    out.isTTY ? TERMINAL_TICK_MS : LOG_TICK_MS,
  );
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
