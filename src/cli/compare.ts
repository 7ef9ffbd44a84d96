import { type Command, InvalidArgumentError } from 'commander';
import type { Box, Comparison, ComparisonOptions } from '../contract/comparison.js';
import { addNetworkFlags, localNetworkOf, type NetworkFlags } from './allowed-here.js';
import { addCaptureFlags, parseRequest, readCaptureFlags } from './capture-flags.js';
import { readTarget } from './capture-target.js';
import { LOCAL_PAGE } from './capture-target-page.js';
import { toErrorObject, UsageError } from './operator-error.js';
import { checkWritable, formatOfName, readFileOf, writePicture } from './picture-file.js';
import { addSettings, CAPTURE_SETTINGS, readSettings } from './settings-flags.js';

interface CompareFlags extends NetworkFlags {
  threshold: number;
  ignoreAntialiasing: boolean;
  maskRegion: Box[];
  failAbove: number;
  sideBySide?: boolean;
  output?: string;
  force?: boolean;
  json?: boolean;
}

const EXAMPLES = `
Examples:
  stillframe compare before.png after.png
  stillframe compare home.png example.com --full-page -o changes.webp
  stillframe compare home.png localhost:4173 --fail-above 0.001 --mask-region 0,0,1280,60`;

/** Adds `stillframe compare <before> <after>`: what has changed between two pictures or pages, without a server. */
export function addCompareCommand(program: Command): void {
  const compare = program
    .command('compare')
    .summary('compare two pictures, or a picture with a page')
    .description(
      'Compare two pictures, or a picture with a page, which is captured as png. Exits with 1 if a larger share of the pixels has changed than --fail-above allows.',
    )
    .argument('<before>', 'picture file, or a URL or HTML file to capture')
    .argument('<after>', 'the same')
    .optionsGroup('Comparison:')
    .option('-o, --output <file>', 'write a picture of the differences (webp)')
    .option('--force', 'overwrite an existing file')
    .option(
      '--side-by-side',
      'draw both pictures with the changed regions outlined, not the later one with changed pixels in red',
    )
    .option('--json', 'print the comparison, or its error, as JSON');
  addComparisonFlags(compare).option(
    '--mask-region <x,y,width,height>',
    'area in px that is not compared; may be repeated',
    (text: string, before: Box[]) => [...before, readBox(text)],
    [] as Box[],
  );
  compare.addHelpText('after', EXAMPLES);
  addCaptureFlags(compare);
  addNetworkFlags(compare.optionsGroup('Network:'));
  addSettings(compare, CAPTURE_SETTINGS).action(
    async (before: string, after: string, flags: CompareFlags, command: Command) => {
      const printJson = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);
      try {
        const comparison = await run({ before, after }, flags, command);
        const passed = comparison.share <= flags.failAbove;
        if (flags.json) printJson({ ok: true, passed, ...comparison });
        else process.stdout.write(`${describeComparison(comparison)}\n`);
        if (!passed) process.exitCode = 1;
      } catch (error) {
        if (flags.json) printJson({ ok: false, error: toErrorObject(error) });
        throw error;
      }
    },
  );
}

/** Adds the flags that say when pictures are considered to differ. */
export function addComparisonFlags(command: Command): Command {
  return command
    .option('--threshold <0-1>', 'how different the colors of a pixel must be', readShare, 0.1)
    .option('--no-ignore-antialiasing', 'count pixels that differ only by antialiasing')
    .option('--fail-above <0-1>', 'share of changed pixels that is allowed', readShare, 0);
}

/** Describes a comparison in a line, and the largest changed regions in one more line each. */
export function describeComparison({ same, share, pixels, regions, before, after }: Comparison): string {
  if (same) return 'The pictures are the same.';
  const size = ({ width, height }: { width: number; height: number }) => `${width}×${height} px`;
  const resized = size(before) === size(after) ? '' : `, from ${size(before)} to ${size(after)}`;
  const listed = regions
    .slice(0, REGIONS_SHOWN)
    .map(({ x, y, width, height }) => `  ${width}×${height} px at ${x},${y}`);
  const more = regions.length > REGIONS_SHOWN ? [`  and ${regions.length - REGIONS_SHOWN} more regions`] : [];
  return [`${percentOf(share)} of the pixels have changed (${pixels})${resized}:`, ...listed, ...more].join('\n');
}

/** A share as a percentage that is not 0 for any change. */
export function percentOf(share: number): string {
  return share > 0 && share < 0.0001 ? '< 0.01 %' : `${(share * 100).toFixed(2)} %`;
}

const REGIONS_SHOWN = 5;

async function run(
  sides: { before: string; after: string },
  flags: CompareFlags,
  command: Command,
): Promise<Comparison> {
  if (flags.output !== undefined) await checkOutput(flags.output, flags.force === true);
  const before = await readPicture(sides.before, flags, command);
  const after = await readPicture(sides.after, flags, command);
  const { comparePictures } = await import('../compare/compare-pictures.js');
  const { picture, ...comparison } = await comparePictures(before, after, comparisonOptions(flags));
  if (picture !== null && flags.output !== undefined) await writePicture(flags.output, picture, flags.force === true);
  return comparison;
}

function comparisonOptions({
  threshold,
  ignoreAntialiasing,
  maskRegion,
  output,
  sideBySide,
}: CompareFlags): ComparisonOptions {
  const picture = output === undefined ? 'none' : sideBySide ? 'side_by_side' : 'overlay';
  return { threshold, ignoreAntialiasing, mask: maskRegion, picture };
}

async function checkOutput(output: string, force: boolean): Promise<void> {
  if (formatOfName(output) !== 'webp')
    throw new UsageError(`-o is "${output}": the picture of the differences is a .webp file.`);
  await checkWritable(output, force);
}

/** Reads a picture file, or captures a page. */
async function readPicture(text: string, flags: CompareFlags, command: Command): Promise<Buffer> {
  if (/\.(png|jpe?g|webp|avif|bmp|gif)$/i.test(text) && !/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    return await readFileOf(text);
  }
  const target = readTarget(text);
  const config = readSettings(command);
  const body = { format: 'png', ...readCaptureFlags(command, config.proxyPassword) };
  if ('animate' in body) throw new UsageError('--animate-* cannot be used here: animated pictures are not compared.');
  if (body.format === 'pdf' || body.format === 'bmp')
    throw new UsageError('--format must be png, jpeg, webp or avif: PDFs and BMPs are not compared.');
  const url = target.kind === 'url' ? target.url : LOCAL_PAGE;
  const { renderTarget } = await import('./run-capture.js');
  const { content } = await renderTarget({
    config,
    target,
    file: null,
    force: false,
    debug: null,
    options: parseRequest({ ...body, url }),
    publicOnly: flags.publicOnly === true,
    network: localNetworkOf(config, flags),
  });
  return Buffer.from(content);
}

function readShare(text: string): number {
  const share = Number(text);
  if (text.trim() === '' || !(share >= 0 && share <= 1))
    throw new InvalidArgumentError('It must be a number from 0 to 1.');
  return share;
}

function readBox(text: string): Box {
  const [x, y, width, height, ...more] = text.split(',').map(Number);
  const isBox =
    [x, y, width, height].every((part) => Number.isInteger(part) && (part as number) >= 0) && more.length === 0;
  if (!isBox || width === 0 || height === 0)
    throw new InvalidArgumentError('It must be x,y,width,height in whole px, such as 0,0,300,60.');
  return { x, y, width, height } as Box;
}
