import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import type { OpenPage } from './open-page.js';

type SelectorOptions = Pick<CaptureOptions, 'selector' | 'waitForSelector' | 'hideSelectors' | 'removeSelectors'>;

interface Field {
  path: string;
  selector: string;
}

/**
 * Validates the request's selectors in the browser. Must be called while the page is still empty; takes a round trip only if
 * there are selectors.
 * @throws CaptureError invalid_request that lists each invalid one, such as `hide_selectors.0`, with the browser's message
 */
export async function checkSelectors(page: Pick<OpenPage, 'session' | 'deadlines'>, options: SelectorOptions): Promise<void> {
  const fields = fieldsOf(options);
  if (fields.length === 0) return;
  const asked = page.session.world.call(
    'element.selectorProblems',
    fields.map(({ selector }) => selector),
  );
  const problems = await page.deadlines.orEnd(asked);
  const issues = fields.flatMap(({ path }, index) => (problems[index] ? [{ path, message: problems[index] }] : []));
  const [first] = issues;
  if (first === undefined) return;
  throw new CaptureError({ code: 'invalid_request', message: `\`${first.path}\`: ${first.message}`, details: { issues } });
}

function fieldsOf(options: SelectorOptions): Field[] {
  const list = (name: string, selectors: string[]) => selectors.map((selector, index) => ({ path: `${name}.${index}`, selector }));
  return [
    ...(options.waitForSelector === null ? [] : [{ path: 'wait_for_selector', selector: options.waitForSelector }]),
    ...(options.selector === null ? [] : [{ path: 'selector', selector: options.selector }]),
    ...list('hide_selectors', options.hideSelectors),
    ...list('remove_selectors', options.removeSelectors),
  ];
}
