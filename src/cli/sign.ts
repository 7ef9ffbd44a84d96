import { type Command, InvalidArgumentError, Option } from 'commander';
import { CaptureError } from '../contract/capture-error.js';
import { isId } from '../contract/ids.js';
import { printedOnPaper } from '../contract/pdf-schema.js';
import {
  bodyOf,
  canonicalQuery,
  pairsOf,
  type QueryPair,
  RENDER_LINK_PATH,
  signQuery,
} from '../contract/render-link.js';
import { addCaptureFlags, describeFlags, parseRequest, readCaptureFlags } from './capture-flags.js';
import { OperatorError, UsageError } from './operator-error.js';
import { serverOf } from './running-server.js';
import { addSettings } from './settings-flags.js';
import { print, withStore } from './with-store.js';

interface SignOptions {
  key: string;
  expiresIn: number;
  json?: boolean;
}

const SECONDS_PER_UNIT: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Adds `stillframe sign <url>`: a signed link to the picture, for `<img src>` and Open Graph tags. */
export function addSignCommand(program: Command): void {
  const sign = program
    .command('sign')
    .description('make a signed link to a picture (GET /v1/render)')
    .argument('[url]', 'URL to capture; not with --template')
    .requiredOption('--key <id>', 'id of the API key that the captures are charged to')
    .addOption(
      new Option('--expires-in <time>', 'how long the link is valid, such as 12h or 30d')
        .argParser(duration)
        .default(365 * 86_400, '365d'),
    )
    .option('--json', 'print {url, expires}')
    .addHelpText(
      'after',
      '\nExample:\n  stillframe sign https://example.com --key key_01K9Z8Y7X6W5V4T3S2R1Q0P9N8 --expires-in 30d --full-page',
    );
  addCaptureFlags(sign, true);
  addSettings(sign, ['dataDir', 'baseUrl', 'host', 'port']).action(
    (url: string | undefined, options: SignOptions, command: Command) =>
      withStore(command, async (store, config) => {
        if (!isId('key', options.key))
          throw new OperatorError(`"${options.key}" is not the id of a key. See: stillframe keys list`);
        const [secret] = await store.signingSecrets(options.key, Date.now());
        if (secret === undefined) {
          throw new OperatorError(
            `The key has no signing secret. Make one with: stillframe keys signing-secret ${options.key}`,
          );
        }
        const expires = Math.floor(Date.now() / 1000) + options.expiresIn;
        const body = { ...(url === undefined ? {} : { url }), ...readCaptureFlags(command, null, true) };
        const pairs = linkPairs(printedOnPaper(body));
        pairs.push(['key', options.key], ['expires', String(expires)]);
        const link = `${serverOf(command, config).base_url}${RENDER_LINK_PATH}?${canonicalQuery(pairs)}&signature=${signQuery(pairs, secret)}`;
        print(options.json, { url: link, expires }, () => link);
      }),
  );
}

/**
 * Rejects at once the requests that the server would reject when the link is opened.
 * @throws UsageError
 */
function linkPairs(body: Record<string, unknown>): QueryPair[] {
  const pairs = pairsFrom(body);
  const { url } = parseRequest(bodyOf(pairs).body, { template: 'elsewhere' });
  return pairs.map(([name, value]) => [name, name === 'url' ? url : value]);
}

function pairsFrom(body: Record<string, unknown>): QueryPair[] {
  try {
    return pairsOf(body);
  } catch (error) {
    throw error instanceof CaptureError ? new UsageError(describeFlags(error)) : error;
  }
}

function duration(text: string): number {
  const [, amount = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const perUnit = SECONDS_PER_UNIT[unit];
  if (perUnit === undefined) throw new InvalidArgumentError('It must be a number and a unit: 90s, 30m, 12h, 365d.');
  return Number(amount) * perUnit;
}
