import { writeFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import type { Config } from '../config.js';
import { parseSubmission } from '../contract/submission.js';
import { createLog } from '../log.js';
import { addCaptureFlags, readCaptureFlags } from './capture-flags.js';
import { OperatorError } from './operator-error.js';
import { addSettings, readSettings } from './settings-flags.js';

interface CaptureCommandOptions {
  output?: string;
  publicOnly?: boolean;
  json?: boolean;
}

const SETTINGS_USED: (keyof Config)[] = [
  'dataDir',
  'chromium',
  'browserInstall',
  'sandbox',
  'dnsServers',
  'allowDestinations',
  'lists',
  'listUrls',
];

/** `stillframe capture <url>`: one capture without a server, on the user's own machine. */
export function addCaptureCommand(program: Command): void {
  const capture = program
    .command('capture')
    .description('one capture without a server (private destinations are allowed: it is your own machine)')
    .argument('<url>', 'what to capture; a bare hostname gets https')
    .addOption(new Option('-o, --output <file>', 'where the picture goes; - for standard output (default: named after the host)'))
    .option('--public-only', 'refuse private destinations, as the server does')
    .option('--json', 'print what is known of the capture')
    .addHelpText('after', '\nExample:\n  stillframe capture example.com -o example.png --format png --full-page');
  addCaptureFlags(capture);
  addSettings(capture, SETTINGS_USED).action(async (url: string, options: CaptureCommandOptions, command: Command) => {
    const config = readSettings(command);
    const body = { url, ...readCaptureFlags(command, config.proxyPassword) };
    const submission = parseSubmission(body, { forceAsync: false, webhookAllow: [] });
    const target = options.output ?? defaultName(submission.options.url, submission.options.format);
    if (target === '-' && process.stdout.isTTY)
      throw new OperatorError('The picture would go to the terminal. Name a file with -o, or pipe it.');
    const { captureOnce } = await import('./capture-once.js');
    const rendering = await captureOnce(config, submission.options, {
      publicOnly: options.publicOnly === true,
      log: createLog({ level: 'warn', format: config.logFormat }),
      say: (line) => process.stderr.write(`${line}\n`),
    });
    if (target === '-') process.stdout.write(rendering.content);
    else await writeFile(target, rendering.content);
    report(options, target, rendering);
  });
}

function report(
  options: CaptureCommandOptions,
  target: string,
  rendering: { width: number; height: number; content: Uint8Array; finalUrl: string; format: string },
): void {
  const facts = {
    file: target === '-' ? null : target,
    final_url: rendering.finalUrl,
    format: rendering.format,
    width: rendering.width,
    height: rendering.height,
    bytes: rendering.content.length,
  };
  if (options.json && target !== '-') process.stdout.write(`${JSON.stringify(facts)}\n`);
  else process.stderr.write(`${target === '-' ? 'standard output' : target}: ${facts.width}×${facts.height}, ${facts.bytes} bytes\n`);
}

function defaultName(url: string, format: string): string {
  return `${new URL(url).hostname.replace(/[^A-Za-z0-9.-]/g, '_')}.${format}`;
}
