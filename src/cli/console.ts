import type { Command } from 'commander';
import { issueConsoleLink, LINK_MINUTES, SESSION_HOURS } from '../account/console-access.js';
import type { ServerFacts } from '../service/server-file.js';
import { OperatorError, printLine } from './operator-error.js';
import { serverOf } from './running-server.js';
import { addSettings } from './settings-flags.js';
import { print, withStore } from './with-store.js';

const ANSWER_MS = 2_000;

interface ConsoleOptions {
  endSessions?: boolean;
  json?: boolean;
}

/** Adds `stillframe console`: a link that opens the console of a running server once. It works on the same data directory or database. */
export function addConsoleCommand(program: Command): void {
  const command = program
    .command('console')
    .description(
      `print a link that opens the console of a running server; it works once, within ${LINK_MINUTES} minutes`,
    )
    .option('--end-sessions', 'end all sessions and invalidate all links, instead of making a link')
    .option('--json', 'print {url, expires_at}')
    .addHelpText('after', '\nExample:\n  stillframe console');
  addSettings(command, ['host', 'port', 'baseUrl', 'dataDir', 'console']).action(
    (options: ConsoleOptions, own: Command) =>
      withStore(own, async (store, config) => {
        if (options.endSessions) {
          const ended = await store.endConsoleAccess();
          return print(options.json, { ended }, () => `Ended ${ended} ${ended === 1 ? 'session' : 'sessions'}.`);
        }
        const server = serverOf(own, config);
        if (server.console === 'off') throw new OperatorError('The console is switched off by STILLFRAME_CONSOLE.');
        const { secret, expiresAt } = await issueConsoleLink(store, store.now());
        const url = `${consoleBase(server)}/console/enter?token=${secret}`;
        print(options.json, { url, expires_at: expiresAt }, () => url);
        if (!(await answers(server.url))) {
          printLine(`No server answers at ${server.url}. Start it there, or name its address with --host and --port.`);
        }
        if (!options.json) {
          printLine(
            `The link works once, within ${LINK_MINUTES} minutes, and opens the console for ${SESSION_HOURS} hours.`,
          );
        }
      }),
  );
}

async function answers(server: string): Promise<boolean> {
  const answer = await fetch(`${server}/livez`, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => null);
  return answer?.ok === true;
}

/**
 * Returns the address at which this machine's user reaches the console. If it is for loopback only, that is the server itself, whatever its
 * public address is.
 */
function consoleBase({ url, base_url: baseUrl, console: access }: ServerFacts): string {
  return access === 'on' ? baseUrl : url;
}
