/** The values that a template writes: each is a mark in the text that the engine makes, until its place is known. */
import { randomInt } from 'node:crypto';

/** Noncharacters of Unicode. A mark cannot be guessed, so that no value can contain one. */
const OPEN = '\uFDD0';
const CLOSE = '\uFDD1';
const MARK = /\uFDD0(\d{14})\.(\d{1,7})\uFDD1/;
const VALUES_MAX = 100_000;

/** A text is a sequence of what the template says, and of values. */
export type TextPart = { text: string } | { value: unknown };

export class MarkedValues {
  readonly #values: unknown[] = [];
  readonly #nonce = String(randomInt(1e13, 9e13));
  readonly #texts = new Map<number, string>();

  /** @param maxChars of a text with its values */
  constructor(private readonly maxChars: number) {}

  /** @returns the mark of a value */
  mark(value: unknown): string {
    if (this.#values.length === VALUES_MAX) throw new TooLarge();
    return `${OPEN}${this.#nonce}.${this.#values.push(value) - 1}${CLOSE}`;
  }

  isIn(text: string): boolean {
    return text.includes(OPEN);
  }

  /** Splits a text at its marks. What a filter has left of a cut mark is dropped. */
  partsOf(text: string): TextPart[] {
    const pieces = text.split(MARK);
    const parts: TextPart[] = [];
    for (let at = 0; at < pieces.length; at += 3) {
      parts.push({ text: (pieces[at] ?? '').replaceAll(/[\uFDD0\uFDD1]/g, '') });
      const index = Number(pieces[at + 2]);
      if (pieces[at + 1] === this.#nonce && index < this.#values.length) parts.push({ value: this.#valueOf(index) });
    }
    return parts;
  }

  /** The text with its values, unescaped. */
  plain(text: string): string {
    const whole = this.partsOf(text).map((part) => ('text' in part ? part.text : stringOf(part.value)));
    if (whole.reduce((sum, { length }) => sum + length, 0) > this.maxChars) throw new TooLarge();
    return whole.join('');
  }

  /** A text that was captured has marks of values before it. Each is read once, since captured texts may contain each other. */
  #valueOf(index: number): unknown {
    const value = this.#values[index];
    if (typeof value !== 'string' || !this.isIn(value)) return value;
    const known = this.#texts.get(index) ?? this.plain(value);
    this.#texts.set(index, known);
    return known;
  }
}

/** The document is larger than it may be. */
export class TooLarge extends Error {}

/** The text of a value, as Liquid writes it. */
export function stringOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
