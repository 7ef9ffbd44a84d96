import { type CaptureOptions, defaultOptions, shownUrl } from '../../contract/capture-request.js';
import { isLinkField } from '../../contract/render-link.js';

const LONGEST_CHARS = 500;

/** The options that differ from the defaults; of private ones, only that they are set. */
export function givenOptions(options: CaptureOptions): { name: string; text: string }[] {
  const defaults = { ...defaultOptions() } as Record<string, unknown>;
  const given = Object.entries(options).filter(([name, value]) => name !== 'url' && !isEqual(value, defaults[name]));
  return [
    { name: 'url', text: shownUrl(options) },
    ...given.map(([name, value]) => {
      const wire = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return { name: wire, text: isLinkField(wire) ? text.slice(0, LONGEST_CHARS) : 'set, not shown' };
    }),
  ];
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
