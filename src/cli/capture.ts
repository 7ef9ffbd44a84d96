import { type Command, Option } from 'commander';
import { callersKey } from '../config.js';
import { isObject } from '../contract/field-rules.js';
import { asksForSeveral } from '../contract/page-loads.js';
import { printedOnPaper } from '../contract/pdf-schema.js';
import { addNetworkFlags, localNetworkOf, type NetworkFlags } from './allowed-here.js';
import { addCaptureFlags, parseRequest, readCaptureFlags } from './capture-flags.js';
import { captureOnServer, describePicture } from './capture-on-server.js';
import {
  type Captured,
  describeCapture,
  describeExtraction,
  describeInspection,
  toJsonReport,
} from './capture-report.js';
import { type CaptureTarget, readTarget } from './capture-target.js';
import { LOCAL_PAGE } from './capture-target-page.js';
import { printable, printLine, toErrorObject, UsageError } from './operator-error.js';
import { checkWritable, defaultName, pathOfHtml, readFormat, withFormat } from './picture-file.js';
import { type CommandCapture, readStdin, runCapture } from './run-capture.js';
import { addSettings, CAPTURE_SETTINGS, readSettings } from './settings-flags.js';

interface CaptureFlags extends NetworkFlags {
  output?: string;
  force?: boolean;
  format?: string;
  html?: string;
  json?: boolean;
  debug?: string;
  server?: string;
  uploadUrl?: string;
}

const EXAMPLES = `
Examples:
  stillframe capture example.com
  stillframe capture example.com -o example.png --full-page
  stillframe capture localhost:8765 --device pixel_8
  stillframe capture site/index.html -o index.pdf
  generate-report | stillframe capture - -o - > report.png`;

/** Adds `stillframe capture <url>`: one capture without a server, on the user's own machine. */
export function addCaptureCommand(program: Command): void {
  const capture = program
    .command('capture')
    .summary('capture one page without a server')
    .description(
      'Capture one page without a server. Private addresses are allowed, since the capture runs on your own machine. A local page can read the page files (HTML, CSS, scripts, images, fonts, JSON, …) in its own directory and below, and no other files. It can show images, styles, scripts, fonts and media of public addresses until it reads a file by script or in a frame; for more, see --allow-network.',
    )
    .argument(
      '[url]',
      'URL (a host without a scheme gets https, this machine http), HTML file, or - for HTML on standard input',
    )
    .optionsGroup('Output:')
    .addOption(
      new Option(
        '-o, --output <file>',
        'output file, whose extension sets the format; - for standard output (default: named after the host and path)',
      ),
    )
    .option('--force', 'overwrite an existing file')
    .option('--json', 'print the result of the capture, or its error, as JSON (with -o -: on standard error)')
    .option(
      '--debug <dir>',
      'write the timeline of the capture, the roles of pinned elements and each band of the picture into a directory',
    )
    .addHelpText('after', EXAMPLES);
  addCaptureFlags(capture);
  addNetworkFlags(capture.optionsGroup('Network:'));
  capture.option(
    '--server <url>',
    'capture on this server, with the API key of STILLFRAME_KEY; a local page is sent with the files that it refers to',
  );
  capture.option('--upload-url <url>', 'with --server: presigned URL to which the server also uploads the picture');
  addSettings(capture, CAPTURE_SETTINGS).action(
    async (url: string | undefined, flags: CaptureFlags, command: Command) => {
      const printJson = (value: unknown) =>
        (flags.output === '-' ? process.stderr : process.stdout).write(`${JSON.stringify(value)}\n`);
      try {
        if (flags.uploadUrl !== undefined && flags.server === undefined)
          throw new UsageError('--upload-url needs --server: without a server, -o writes the picture to a file.');
        if (flags.server !== undefined) return await runOnServer(flags.server, { url, flags, command, printJson });
        const captured = await runCapture((await readCommand(url, flags, command)).capture);
        if (flags.json) printJson(toJsonReport(captured));
        else report(captured);
      } catch (error) {
        if (flags.json) printJson({ ok: false, error: toErrorObject(error) });
        throw error;
      }
    },
  );
}

interface ServerRun {
  url: string | undefined;
  flags: CaptureFlags;
  command: Command;
  printJson(value: unknown): void;
}

async function runOnServer(server: string, { url, flags, command, printJson }: ServerRun): Promise<void> {
  if (flags.debug !== undefined || flags.publicOnly === true || (flags.allowNetwork ?? []).length > 0)
    throw new UsageError('--debug, --public-only and --allow-network have no effect on a server: leave them out.');
  const { capture, body } = await readCommand(url, flags, command);
  const { target, file, force } = capture;
  if (asksForSeveral(capture.options))
    throw new UsageError('Several pictures are not taken from a server: leave --server out, or use the client.');
  const { url: _placeholder, ...fields } = body;
  const upload = flags.uploadUrl === undefined ? {} : { upload: { url: flags.uploadUrl } };
  const picture = await captureOnServer({
    server,
    key: callersKey(),
    target,
    body: { ...fields, ...upload },
    file,
    force,
    readStdin,
  });
  const { cdn_url: _where, ...data } = picture;
  if (flags.json) printJson({ ok: true, file, ...data });
  else printLine(printable(describePicture(file, picture)));
}

interface ParsedCommand {
  capture: CommandCapture;
  /** The request that the flags stand for. */
  body: Record<string, unknown>;
}

async function readCommand(text: string | undefined, flags: CaptureFlags, command: Command): Promise<ParsedCommand> {
  const config = readSettings(command);
  const target = targetOf(text, flags, command);
  const format = readFormat(flags.output, flags.format);
  const request = {
    ...readCaptureFlags(command, config.proxyPassword),
    ...(target.kind === 'html' ? {} : { url: target.kind === 'url' ? target.url : LOCAL_PAGE }),
  };
  const body = printedOnPaper(withFormat(request, format));
  const isTemplate = body.template !== undefined;
  if (isTemplate && flags.server === undefined)
    throw new UsageError(
      '--template needs --server: templates are kept by a server. `stillframe templates preview` shows one without.',
    );
  const options = parseRequest(body, { template: isTemplate ? 'elsewhere' : null });
  const force = flags.force === true;
  const file = flags.output === '-' ? null : (flags.output ?? defaultName(target, options.url, options.format));
  if (file !== null) {
    await checkWritable(file, force);
    if (options.saveHtml && flags.server === undefined) await checkWritable(pathOfHtml(file), force);
  } else if (options.saveHtml) throw new UsageError('The HTML is written beside the picture. Name a file with -o.');
  else if (asksForSeveral(options))
    throw new UsageError('Several pictures are not written to standard output. Name a file with -o.');
  else if (process.stdout.isTTY)
    throw new UsageError('The picture is not written to a terminal. Name a file with -o, or pipe the output.');
  const capture: CommandCapture = {
    config,
    target,
    options,
    file,
    force,
    publicOnly: flags.publicOnly === true,
    network: localNetworkOf(config, flags),
    debug: flags.debug ?? null,
  };
  return { capture, body };
}

function targetOf(text: string | undefined, { html }: CaptureFlags, command: Command): CaptureTarget {
  if (text === undefined && html === undefined && hasOwnTarget(command)) return { kind: 'html' };
  if (html === undefined) return readTarget(text ?? command.error("error: missing required argument 'url'"));
  if (text === undefined) return { kind: 'html' };
  throw new UsageError('Both a URL and --html are given: leave one of them out.');
}

/** Whether the documents of a PDF, or a template, are given, which need no other target. */
function hasOwnTarget(command: Command): boolean {
  const { pdf, template } = readCaptureFlags(command, null);
  return template !== undefined || (isObject(pdf) && pdf.pages !== undefined);
}

/** Prints the other results after the picture has been written. Remarks go to standard error. */
function report(captured: Captured): void {
  const { inspection, extraction } = captured.data;
  printLine(printable(describeCapture(captured)));
  const output = captured.file === null ? process.stderr : process.stdout;
  if (extraction !== undefined) output.write(describeExtraction(extraction));
  if (inspection !== null) output.write(describeInspection(inspection));
}
