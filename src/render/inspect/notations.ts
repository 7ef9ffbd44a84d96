/** Numbers and dates as pages write them, in any common notation. */

/** The zeros of the digits that text may have besides those of ASCII; full-width ones are normalized before. */
const ZEROS = [0x660, 0x6f0, 0x966];
const THOUSANDS = /^(?:k|tsd)$/;
const MILLIONS = /^(?:m|mio|mln|million)$/;
const DIGITS = /^(?:\d[\d.,'’٬٫]*|\.\d+)/;
/** A group of thousands after a space. */
const NEXT_GROUP = /^[ \u00a0\u202f\u2009]\d{3}(?!\d)[.,]?(?:(?<=[.,])\d{1,9})?/;
/** A sign and a currency, which may stand before a number in either order. */
const BEFORE = /(?:^|[^\p{L}\p{N}])([-−–]?)\s?((?:\p{Sc}|[A-Z]{3}|[A-Z]{1,2}\$)?)\s?([-−–]?)$/u;
const AFTER =
  /^(e[+-]?\d{1,3})?(?:(bn|[kKMB])|\s?([kKM]|Md)(?=\s?\p{Sc})|\s?([Tt]sd|[Mm]io|[Mm]ln|[Mm]rd|[Mm]illion|[Mm]illiard)(?:s|en?)?\.?)?(?![\p{L}\p{N}])(\s?(?:\p{Sc}|[A-Z]{3}(?!\p{L})|(?:kr|zł|Kč|Ft)(?!\p{L})))?(?!\d)/u;
/** The longest sign and currency with their spaces. */
const BEFORE_CHARS = 8;

/** Codes are told from other words in capitals, such as USB. */
const CURRENCIES = new Set(Intl.supportedValuesOf('currency'));

/**
 * The first amount of money in a text, or else its first number.
 * @param language decides whether 1.234 has three decimals or a thousand; money never has three decimals
 * @returns null if there is none, or one that can be read in several ways
 */
export function readNumber(text: string, language = ''): number | null {
  const plain = withAsciiDigits(text);
  let first: number | null | undefined;
  for (let at = nextNumber(plain, 0), next = at; at !== -1; at = nextNumber(plain, next)) {
    const digits = digitsAt(plain.slice(at));
    next = at + digits.length;
    const [, sign, before = '', innerSign] = BEFORE.exec(plain.slice(Math.max(0, at - BEFORE_CHARS), at)) ?? [];
    const rest = plain.slice(next);
    const [, exponent = '', short, money, word, unit = ''] = AFTER.exec(rest) ?? [];
    const isPrice = [before, unit.trim()].some((one) => (/^[A-Z]{3}$/.test(one) ? CURRENCIES.has(one) : one !== ''));
    if (first !== undefined && !isPrice) continue;
    const value = plainNumber(digits, { isMoney: before !== '' || unit !== '', language });
    // Accountants write what is owed in parentheses.
    const isOwed = first === undefined && plain.trim().startsWith('(') && /^[^\d(]{0,8}\)/.test(rest);
    const minus = sign || innerSign || isOwed ? '-' : '';
    const number =
      value === null ? Number.NaN : Number(`${minus}${value}${exponent}`) * scaleOf(short ?? money ?? word);
    const read = Number.isFinite(number) ? Number(number.toPrecision(15)) : null;
    if (isPrice) return read;
    first = read;
  }
  return first ?? null;
}

function nextNumber(text: string, from: number): number {
  const at = text.slice(from).search(/\.?\d/);
  return at === -1 ? -1 : from + at;
}

function scaleOf(name: string | undefined): number {
  if (name === undefined) return 1;
  const scale = name.toLowerCase();
  if (THOUSANDS.test(scale)) return 1e3;
  return MILLIONS.test(scale) ? 1e6 : 1e9;
}

/** The digits that a text begins with, and the separators between them. */
function digitsAt(text: string): string {
  let digits = DIGITS.exec(text)?.[0] ?? '';
  for (let group = /^\d{1,3}$/.test(digits) ? NEXT_GROUP.exec(text.slice(digits.length)) : null; group !== null; ) {
    digits += group[0];
    group = /[.,]/.test(group[0]) ? null : NEXT_GROUP.exec(text.slice(digits.length));
  }
  return digits.replace(/(?<![.,'’٬٫])[.,'’٬٫]+$/, '');
}

/** The number as JavaScript writes it. */
function plainNumber(digits: string, context: { isMoney: boolean; language: string }): string | null {
  const text = digits.replace(/[\s'’٬]/g, '').replace('٫', '.');
  const [dots, commas] = [text.split('.').length - 1, text.split(',').length - 1];
  if (dots > 0 && commas > 0) {
    const decimal = text.lastIndexOf('.') > text.lastIndexOf(',') ? '.' : ',';
    const group = decimal === '.' ? ',' : '.';
    const [whole = '', fraction = '', ...more] = text.split(decimal);
    return more.length > 0 || fraction.includes(group) || !isGrouped(whole.split(group))
      ? null
      : `${whole.replaceAll(group, '')}.${fraction}`;
  }
  const mark = dots > 0 ? '.' : ',';
  const parts = text.split(mark);
  const [whole = '', fraction] = parts;
  if (fraction === undefined) return text;
  if (parts.length > 2) return isGrouped(parts) ? parts.join('') : null;
  const mayGroup = fraction.length === 3 && /^[1-9]\d{0,2}$/.test(whole) && !/[\s'’٬]/.test(digits);
  return mayGroup && (context.isMoney || mark !== decimalMarkOf(context.language))
    ? whole + fraction
    : `${whole}.${fraction}`;
}

/** Groups of three, or of two before the last, as in India. */
function isGrouped([first = '', ...others]: readonly string[]): boolean {
  return (
    /^\d{1,3}$/.test(first) &&
    others.every((group, at) => group.length === 3 || (group.length === 2 && at < others.length - 1))
  );
}

/** A dot where no language is known. */
function decimalMarkOf(language: string): string {
  const parts = intl(language, (locale) => new Intl.NumberFormat(locale).formatToParts(1.5));
  return parts?.find(({ type }) => type === 'decimal')?.value ?? '.';
}

function withAsciiDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0;
    const zero = [...ZEROS, 0xff10].find((one) => code >= one && code < one + 10);
    return zero === undefined ? digit : String(code - zero);
  });
}

const ISO =
  /(?<!\d)(\d{4})-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}(?:\.\d{1,9})?))?[^\S\n]?(Z|[+-]\d{2}:?\d{2})?)?)?(?![\d-])/i;
const YEAR_FIRST = /(?<!\d)(\d{4})[^\S\n]?[./年년][^\S\n]?(\d{1,2})[^\S\n]?[./月월][^\S\n]?(\d{1,2})(?!\d)/;
const BY_NUMBERS = /(?<![\d.])(\d{1,2})[^\S\n]?([./-])[^\S\n]?(\d{1,2})[^\S\n]?\2[^\S\n]?(\d{4})(?!\d)/;
const DAY_FIRST =
  /(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|[.º])?[^\S\n](?:(?:de|of|d')[^\S\n]?)?(\p{L}{3,15})[.,]{0,2}[^\S\n](?:(?:de|del)[^\S\n])?(\d{4})(?!\d)/iu;
const MONTH_OF_YEAR = /(?<!\p{L})(\p{L}{3,15})[.,]{0,2}[^\S\n](?:(?:de|del)[^\S\n])?(\d{4})(?!\d)/iu;
const MONTH_BY_NUMBER = /(?<![\d./-])(\d{1,2})\/(\d{4})(?![\d/])/;
/** A time that follows a date. */
const TIME =
  /^[^\S\n]{0,2}[,|·–-]?[^\S\n]{0,2}(?:(?:at|um|à|kl\.?)[^\S\n])?(\d{1,2})[:h](\d{2})(?::(\d{2}))?(?!\d)(?:[^\S\n]?([ap])\.?m\b\.?)?(?:[^\S\n]?(Z\b|GMT|UTC|[+-]\d{2}:?\d{2}(?!\d))(?!\p{L}))?/iu;
const MONTH_FIRST = /(?<!\p{L})(\p{L}{3,15})\.?[^\S\n](\d{1,2})(?:st|nd|rd|th)?,?[^\S\n](\d{4})(?!\d)/iu;

/**
 * The first date of a text in ISO 8601: a day, a month or a year, or a moment with its time.
 * @param language tells the names of months, and whether 3/4/2026 is in March or in April
 * @returns null if there is none, or one that can be read in several ways
 */
export function readDate(written: string, language = ''): string | null {
  const text = withAsciiDigits(written);
  if (/^\d{4}$/.test(text.trim())) return text.trim();
  const iso = ISO.exec(text);
  if (iso !== null) return isoDate(iso);
  const early = YEAR_FIRST.exec(text);
  if (early !== null) return withTime(dayOf(early[1], early[2], early[3]), early);
  const numbers = BY_NUMBERS.exec(text);
  if (numbers !== null) return withTime(dayByNumbers(numbers, language), numbers);
  const day = DAY_FIRST.exec(text);
  if (day !== null) return withTime(dayOf(day[3], monthNamed(day[2] ?? '', language), day[1]), day);
  const month = MONTH_FIRST.exec(text);
  if (month !== null) return withTime(dayOf(month[3], monthNamed(month[1] ?? '', language), month[2]), month);
  const [, number, itsYear] = MONTH_BY_NUMBER.exec(text) ?? [];
  if (number !== undefined) return monthOf(itsYear, number);
  const [, name = '', year] = MONTH_OF_YEAR.exec(text) ?? [];
  return name === '' ? null : monthOf(year, monthNamed(name, language));
}

function monthOf(year: string | undefined, month: string | number | null | undefined): string | null {
  return dayOf(year, month, '1')?.slice(0, 'YYYY-MM'.length) ?? null;
}

/** A day with the time that follows it in the text, if there is one. */
function withTime(day: string | null, { 0: { length }, index, input }: RegExpExecArray): string | null {
  const [, hours = '', minutes = '', seconds, half, zone = ''] = TIME.exec(input.slice(index + length)) ?? [];
  const isTwelve = half !== undefined;
  const most = isTwelve ? 12 : 23;
  if (day === null || hours === '' || Number(hours) > most || (isTwelve && Number(hours) === 0)) return day;
  if (Number(minutes) > 59 || Number(seconds ?? 0) > 59) return day;
  const hour = isTwelve ? (Number(hours) % 12) + (half.toLowerCase() === 'p' ? 12 : 0) : Number(hours);
  const offset = /^[a-z]/i.test(zone) ? 'Z' : offsetOf(zone);
  return `${day}T${String(hour).padStart(2, '0')}:${minutes}${seconds === undefined ? '' : `:${seconds}`}${offset}`;
}

function offsetOf(zone: string): string {
  return zone.toUpperCase().replace(/^([+-]\d{2}):?(\d{2})$/, '$1:$2');
}

function isoDate([, year, month, day, hours, minutes, seconds, zone]: readonly (string | undefined)[]): string | null {
  if (day === undefined) return monthOf(year, month);
  const date = dayOf(year, month, day);
  if (date === null || hours === undefined) return date;
  if (Number(hours) > 24 || Number(minutes) > 59 || Number(seconds ?? 0) >= 61) return date;
  return `${date}T${hours}:${minutes}${seconds === undefined ? '' : `:${seconds}`}${offsetOf(zone ?? '')}`;
}

function dayByNumbers([, one, mark, other, year]: readonly (string | undefined)[], language: string): string | null {
  const [first, second] = [Number(one), Number(other)];
  if (first > 12 || second > 12) return first > 12 ? dayOf(year, other, one) : dayOf(year, one, other);
  if (first === second || mark === '.') return dayOf(year, other, one);
  const parts = intl(language, (locale) => new Intl.DateTimeFormat(locale).formatToParts(0));
  const leading = parts?.find(({ type }) => type === 'day' || type === 'month')?.type;
  if (leading === undefined) return null;
  return leading === 'day' ? dayOf(year, other, one) : dayOf(year, one, other);
}

function dayOf(year = '', month: string | number | null = null, day = ''): string | null {
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  const isReal = month !== null && date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
  const two = (part: number | string) => String(part).padStart(2, '0');
  return isReal ? `${year}-${two(Number(month))}-${two(Number(day))}` : null;
}

/** The number of the month whose name, in this language or in English, begins so; null if none or several do. */
function monthNamed(name: string, language: string): number | null {
  const wanted = name.toLowerCase();
  for (const locale of [language, 'en']) {
    const months = Array.from({ length: 12 }, (_, at) => at + 1);
    const named = months.filter((month) => namesOf(month, locale).some((one) => one.startsWith(wanted)));
    if (named.length === 1) return named[0] ?? null;
  }
  return null;
}

function namesOf(month: number, language: string): string[] {
  const date = Date.UTC(2026, month - 1, 15);
  const named = (format: Intl.DateTimeFormatOptions) =>
    intl(language, (locale) =>
      new Intl.DateTimeFormat(locale, { timeZone: 'UTC', ...format }).formatToParts(date),
    )?.find(({ type }) => type === 'month')?.value;
  // Some languages inflect the name beside a day.
  return [named({ month: 'long' }), named({ month: 'long', day: 'numeric' }), named({ month: 'short' })].flatMap(
    (one) => one?.toLowerCase() ?? [],
  );
}

/** Formats for a language; undefined if it is unknown. */
function intl<Parts>(language: string, format: (locale: string) => Parts): Parts | undefined {
  try {
    return language === '' || Intl.NumberFormat.supportedLocalesOf(language).length === 0
      ? undefined
      : format(language);
  } catch {
    return undefined;
  }
}
