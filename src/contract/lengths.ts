/** CSS lengths of `pdf`, as Playwright accepts them: a number is CSS px. */

export const CSS_PX_PER_INCH = 96;
const UNITS_PER_INCH: Record<string, number> = { px: CSS_PX_PER_INCH, in: 1, cm: 2.54, mm: 25.4, pt: 72 };

/** @returns inches; null if it is not a length of 0 or more */
export function lengthToInches(length: number | string): number | null {
  if (typeof length === 'number') return Number.isFinite(length) && length >= 0 ? length / CSS_PX_PER_INCH : null;
  const [, amount = '', unit = 'px'] = /^(\d{1,6}(?:\.\d{1,6})?|\.\d{1,6})(px|in|cm|mm|pt)?$/.exec(length.trim().toLowerCase()) ?? [];
  const perInch = UNITS_PER_INCH[unit];
  return amount === '' || perInch === undefined ? null : Number(amount) / perInch;
}
