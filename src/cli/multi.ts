import { mkdir, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { callersKey, runsInGitHubAction } from '../config.js';
import { addNetworkFlags, localNetworkOf, type NetworkFlags } from './allowed-here.js';
import { addCaptureFlags, readCaptureFlags } from './capture-flags.js';
import { addComparisonFlags } from './compare.js';
import type { Baseline } from './multi/compare-shots.js';
import type { ShotsReport } from './multi/shots-report.js';
import { failing, githubAnnotation, OperatorError, printLine, toErrorObject, UsageError } from './operator-error.js';
import { checkWritable, replaceFile } from './picture-file.js';
import { addSettings, CAPTURE_SETTINGS, readSettings } from './settings-flags.js';

interface MultiFlags extends NetworkFlags {
  clobber: boolean;
  report?: string;
  allowOutside?: boolean;
  outputDir?: string;
  server?: string;
  json?: boolean;
  baseline?: string;
  update?: boolean;
  reportDir: string;
  threshold: number;
  ignoreAntialiasing: boolean;
  failAbove: number;
}

const HELP = `
The file has a URL in each line, or is a list of shots, or has \`shots\`,
\`defaults\` for all of them, and \`server\`, a command that runs meanwhile. A shot
has \`url\`, \`file\` or \`html\`, \`output\`, \`retries\`, for errors that may go away,
and any field of a capture request:

  server: npm run preview
  defaults: { viewport: { width: 1200 }, storage_state: state.json }
  shots:
    - { url: "localhost:4173/", output: shots/home.png }
    - { url: "localhost:4173/prices", output: shots/prices.pdf }

Paths are relative to the working directory, and outputs to --output-dir.
Pictures without an \`output\` are named after their pages. Flags of capture
requests, such as --full-page, hold for all shots.

Examples:
  stillframe multi urls.txt --output-dir pictures --full-page
  stillframe multi shots.yml
  stillframe multi shots.yml --no-clobber --report report.json --concurrency 8
  stillframe multi shots.yml --baseline baseline --update
  stillframe multi shots.yml --baseline baseline`;

/** Adds `stillframe multi <file>`: many captures of a file, in one browser, without a server. */
export function addMultiCommand(program: Command): void {
  const multi = program
    .command('multi')
    .summary('capture many pages that a file lists')
    .description(
      'Capture many pages that a file lists, in YAML or with a URL in each line, in a browser that stays warm. Exits with 1 if one of them fails.',
    )
    .argument('<file>', 'list of pages, or - for standard input')
    .option('--output-dir <dir>', 'directory that outputs start from; index.html in it shows all pictures')
    .option('--no-clobber', 'keep outputs that exist and capture only the others, to go on after an interruption')
    .option('--report <file>', 'write a JSON report, with the result or the error of each shot')
    .option('--allow-outside', 'let relative outputs lead out of the working directory')
    .option('--json', 'print the report')
    .optionsGroup('Visual check:')
    .option(
      '--baseline <dir>',
      'compare each picture with that of an earlier run in this directory; exit with 1 if one has changed',
    )
    .option('--update', 'replace the pictures of the baseline instead')
    .option('--report-dir <dir>', 'directory of the report: index.html and junit.xml', 'visual-report')
    .addHelpText('after', HELP);
  addComparisonFlags(multi);
  addCaptureFlags(multi);
  addNetworkFlags(multi.optionsGroup('Network:'));
  multi.option('--server <url>', 'capture on this server, with the API key of STILLFRAME_KEY');
  addSettings(multi, [...CAPTURE_SETTINGS, 'concurrency']).action(
    async (file: string, flags: MultiFlags, command: Command) => {
      const printJson = (value: unknown) => flags.json && process.stdout.write(`${JSON.stringify(value)}\n`);
      try {
        const report = await run(file, flags, command);
        printJson(report);
        if (flags.report !== undefined) await writeReport(flags.report, report);
      } catch (error) {
        const report = { ok: false, error: toErrorObject(error) };
        if (runsInGitHubAction()) annotate(error, file);
        printJson(report);
        // A report of an earlier run must not be mistaken for this one's. The reason why it cannot be written was reported already.
        if (flags.report !== undefined) await writeReport(flags.report, report).catch(() => undefined);
        throw error;
      }
    },
  );
}

/** Annotates problems of the file at their lines, and other failures at the first line. */
function annotate(error: unknown, file: string): void {
  const { message, details } = toErrorObject(error);
  const issues = (details?.issues as { line?: number; message: string }[] | undefined) ?? [{ message }];
  for (const issue of issues) printLine(githubAnnotation({ file, line: issue.line ?? 1, message: issue.message }));
}

async function run(file: string, flags: MultiFlags, command: Command): Promise<ShotsReport> {
  const config = readSettings(command);
  if (flags.update && flags.baseline === undefined)
    throw new UsageError('--update needs --baseline with the directory that it updates.');
  if (flags.report !== undefined) await checkReport(flags.report);
  const fields = readCaptureFlags(command, config.proxyPassword);
  if (fields.html !== undefined) throw new UsageError('--html belongs to a single shot: write it into the file.');
  if (flags.server !== undefined) refuseOnServer(flags);
  const content = await readText(file);
  const root = resolve(flags.outputDir ?? '.');
  await mkdir(root, { recursive: true }).catch(failing(`${root} cannot be created`, UsageError));
  const [{ readShots }, { checkContactSheet }, { captureShots }, { describeReport }, { RunSignals }] =
    await Promise.all([
      import('./multi/read-shots.js'),
      import('./multi/contact-sheet.js'),
      import('./multi/capture-shots.js'),
      import('./multi/shots-report.js'),
      import('./run-signals.js'),
    ]);
  const shots = readShots(content, {
    file: file === '-' ? 'standard input' : file,
    root,
    outputDir: flags.outputDir ?? null,
    fields,
    onServer: flags.server !== undefined,
    allowOutside: flags.allowOutside === true,
    tolerate: config.tolerate,
    taken: [file, flags.report]
      .filter((path) => path !== undefined && path !== '-')
      .map((path) => resolve(String(path))),
  });
  const contactSheet = flags.outputDir === undefined ? null : checkContactSheet(flags.outputDir);
  using signals = new RunSignals();
  const report = await captureShots(shots, {
    config,
    file,
    publicOnly: flags.publicOnly === true,
    network: localNetworkOf(config, flags),
    keepExisting: !flags.clobber,
    annotates: runsInGitHubAction(),
    signal: signals.signal,
    baseline: baselineOf(flags),
    reportDir: flags.reportDir,
    root,
    contactSheet,
    server: flags.server === undefined ? null : { url: flags.server, key: callersKey() },
  });
  printLine(describeReport(report));
  if (!report.ok) process.exitCode = 1;
  if (signals.exitCode !== null) process.exitCode = signals.exitCode;
  return report;
}

/** @throws UsageError */
function refuseOnServer({ publicOnly, allowNetwork = [] }: MultiFlags): void {
  if (publicOnly === true || allowNetwork.length > 0)
    throw new UsageError('--public-only and --allow-network have no effect on a server: leave them out.');
  if (callersKey() === null) throw new OperatorError('A server needs an API key: set STILLFRAME_KEY.');
}

function baselineOf({ baseline, update, threshold, ignoreAntialiasing, failAbove }: MultiFlags): Baseline | null {
  if (baseline === undefined) return null;
  return { dir: resolve(baseline), updates: update === true, options: { threshold, ignoreAntialiasing }, failAbove };
}

async function readText(file: string): Promise<string> {
  const reading = file === '-' ? text(process.stdin) : readFile(file, 'utf8');
  return await reading.catch(failing(`${file} cannot be read`, UsageError));
}

/** Checks, before the captures, that the report can be written. */
async function checkReport(path: string): Promise<void> {
  try {
    await checkWritable(path, true);
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(error.message.replace(/^-o/, '--report')) : error;
  }
}

async function writeReport(path: string, value: unknown): Promise<void> {
  await replaceFile(path, `${JSON.stringify(value, null, 2)}\n`);
}
