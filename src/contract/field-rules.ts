/** Rules for single fields that the schema library does not have, and the two spellings of their names. */
import { z } from 'zod';

/** A string of limited length. Further checks of a longer one are skipped, so that none of them sees more than `maxChars`. */
export function limited(maxChars: number) {
  return z.string().max(maxChars, { abort: true });
}

export function hasLineBreak(text: string): boolean {
  return /[\r\n\0]/.test(text);
}

/** BCP 47 as the browser accepts it: a two- or three-letter language first. */
export function isLocale(text: string): boolean {
  if (!/^[A-Za-z]{2,3}(?:-|$)/.test(text)) return false;
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}

/** An IANA name. Intl also accepts offsets (`+01:00`), but browsers do not. */
export function isTimezone(text: string): boolean {
  if (!/^[A-Za-z]/.test(text)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

/** In the case that the browser requires: `europe/berlin` becomes `Europe/Berlin`. @param text isTimezone() */
export function canonicalTimezone(text: string): string {
  return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone;
}

/** Headers of one connection (RFC 9110, 7.6.1), and those for its proxy. */
export const HOP_BY_HOP_HEADERS = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
] as const;
/** The connection sets them. */
const REFUSED_HEADERS = new Set<string>([...HOP_BY_HOP_HEADERS, 'host', 'content-length']);

/** @returns the problem with a header name, or null */
export function forbiddenHeader(name: string): string | null {
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) return 'is not a valid header name';
  if (REFUSED_HEADERS.has(name.toLowerCase())) return 'cannot be set: the connection controls it';
  return null;
}

/** Reads a number, true, false, or a list whose entries are separated by commas, as forms and flags write them. */
export function numberOrList(text: string): number | boolean | string[] {
  if (/^(true|false)$/.test(text.trim())) return text.trim() === 'true';
  return /^\d{1,15}$/.test(text.trim()) ? Number(text) : text.split(',').map((entry) => entry.trim());
}

export function hasControlCharacter(text: string): boolean {
  return /[\u0000-\u001f\u007f]/.test(text);
}

/** The value of a field `format`: `jpg` is another name of jpeg. */
export function plainFormat<Value>(format: Value): Value | 'jpeg' {
  return format === 'jpg' ? 'jpeg' : format;
}

/** Whether a value of JSON is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Headers with their names in lower case; of two names that differ in case only, the later one's value counts. */
export function lowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** `full_page` becomes `fullPage`. */
export function camelName(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** An object's members under names in camelCase, with null for those that may be missing. */
export type CamelNames<Fields> = {
  [Name in keyof Fields & string as CamelName<Name>]-?: undefined extends Fields[Name]
    ? Exclude<Fields[Name], undefined> | null
    : Fields[Name];
};

type CamelName<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelName<Tail>>}`
  : Name;

/** An object with its names in snake_case: `finalUrl` becomes `final_url`. */
export function snakeNames<Fields extends object>(fields: Fields): SnakeNames<Fields> {
  const pairs = Object.entries(fields).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  return Object.fromEntries(pairs) as SnakeNames<Fields>;
}

type SnakeNames<Fields> = { [Name in keyof Fields & string as SnakeName<Name>]: Fields[Name] };

type SnakeName<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeName<Rest>}`
  : '';

const TEMPLATE_NAME = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;
const TEMPLATE_REFERENCE = /^([a-z0-9-]{1,64})(?:@([1-9]\d{0,5}))?$/;

export interface TemplateReference {
  name: string;
  /** Null for the newest. */
  version: number | null;
}

/** Reads `og-card` or `og-card@3`. @returns null for anything else */
export function readTemplateReference(value: unknown): TemplateReference | null {
  const [, name = '', version] = (typeof value === 'string' && TEMPLATE_REFERENCE.exec(value)) || [];
  return TEMPLATE_NAME.test(name) ? { name, version: version === undefined ? null : Number(version) } : null;
}
