import { CONSOLE_MAX_ITEMS, FACT_TEXT_MAX_CHARS, FACT_URL_MAX_CHARS } from '../../contract/limits.js';
import type { PageFacts } from '../../contract/page-facts.js';
import { within } from '../deadlines.js';
import type { OpenPage } from './open-page.js';
import { plainUrl } from './request-log.js';

/**
 * The errors that a document has logged or thrown so far. The browser keeps them, and replays them when the Runtime domain is enabled.
 * @returns null if the page does not answer in time
 */
export async function readConsoleErrors(
  { session: { cdp }, deadlines }: Pick<OpenPage, 'session' | 'deadlines'>,
  ms: number,
): Promise<PageFacts['console_errors'] | null> {
  const found: PageFacts['console_errors'] = [];
  const add = (error: PageFacts['console_errors'][number]) => {
    if (found.length < CONSOLE_MAX_ITEMS) found.push(error);
  };
  const onCall: Parameters<typeof cdp.on<'Runtime.consoleAPICalled'>>[1] = ({ type, args, stackTrace }) => {
    if (type === 'error' || type === 'assert') add({ text: textOf(args), ...placeOf(stackTrace?.callFrames[0]) });
  };
  const onThrown: Parameters<typeof cdp.on<'Runtime.exceptionThrown'>>[1] = ({ exceptionDetails: details }) => {
    const text =
      (details.exception?.description ?? valueText(details.exception) ?? '').split('\n', 1)[0] || details.text;
    add({
      text: cut(text),
      uncaught: true,
      ...placeOf({ ...details, url: details.url ?? details.stackTrace?.callFrames[0]?.url ?? '' }),
    });
  };
  cdp.on('Runtime.consoleAPICalled', onCall);
  cdp.on('Runtime.exceptionThrown', onThrown);
  try {
    await within(cdp.send('Runtime.enable'), { ms });
  } catch {
    deadlines.signal.throwIfAborted();
    return null;
  } finally {
    cdp.off('Runtime.consoleAPICalled', onCall);
    cdp.off('Runtime.exceptionThrown', onThrown);
    void cdp.send('Runtime.disable').catch(() => undefined);
  }
  return found;
}

interface Remote {
  type?: string;
  value?: unknown;
  description?: string;
}

interface Place {
  url: string;
  lineNumber: number;
}

function textOf(args: readonly Remote[]): string {
  return cut(
    args
      .slice(0, 10)
      .map((one) => valueText(one) ?? one.description?.split('\n', 1)[0] ?? one.type ?? '')
      .join(' '),
  );
}

function valueText(remote: Remote | undefined): string | null {
  if (remote?.value === undefined || remote.value === null || typeof remote.value === 'object') return null;
  return String(remote.value).slice(0, FACT_URL_MAX_CHARS);
}

function placeOf(place: Place | undefined) {
  const url = place === undefined || !/^https?:/.test(place.url) ? '' : plainUrl(place.url);
  return place === undefined || url === '' ? {} : { url, line: Math.max(0, Math.trunc(place.lineNumber)) + 1 };
}

/** The browser's own messages repeat addresses with all that is in them. */
function cut(text: string): string {
  const plain = text.slice(0, FACT_URL_MAX_CHARS).replaceAll(/\bhttps?:\/\/[^\s"'<>`]+/gi, plainUrl);
  return plain.slice(0, FACT_TEXT_MAX_CHARS).replace(/[\ud800-\udbff]$/, '');
}
