/** Values of the fields of Gotenberg, which are texts, and its errors for them, since clients may match these. */
import { z } from 'zod';
import { readRequestJson } from '../../contract/request-json.js';

export const boolean = parsed(
  (text) =>
    /^(1|t|T|TRUE|true|True)$/.test(text) ? true : /^(0|f|F|FALSE|false|False)$/.test(text) ? false : undefined,
  goSyntax('ParseBool'),
);
export const number = parsed(
  (text) => (/^[+-]?(\d{1,9}(\.\d{0,15})?|\.\d{1,15})(e[+-]?\d{1,2})?$/i.test(text) ? Number(text) : undefined),
  goSyntax('ParseFloat'),
);
export const whole = parsed((text) => (/^[+-]?\d{1,9}$/.test(text) ? Number(text) : undefined), goSyntax('Atoi'));
export const texts = z.record(z.string(), z.string());

export const INVALID = 'is invalid (';
const SHOWN_CHARS = 200;

export function excerpt(text: string): string {
  return text.slice(0, SHOWN_CHARS);
}

/** The text is Gotenberg's, since clients may match it. */
export function invalid(text: string, reason: string): string {
  return `${INVALID}got '${excerpt(text)}', resulting to ${reason})`;
}

/** The error of a function of Go's strconv. */
export function goSyntax(name: string): (text: string) => string {
  return (text) => `strconv.${name}: parsing ${JSON.stringify(text)}: invalid syntax`;
}

/** @param reason why a text is not valid, for the first 200 characters of it */
export function parsed<Value>(
  parse: (text: string) => Value | undefined,
  reason: (text: string) => string,
): z.ZodType<Value> {
  return z.string().transform((text, context) => {
    const value = parse(text.trim());
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: invalid(text, reason(excerpt(text))) });
    return z.NEVER;
  });
}

export function oneOf(values: readonly string[], reason: string): z.ZodType<string> {
  return parsed(
    (text) => values.find((value) => value === text),
    () => reason,
  );
}

/**
 * @param name of the field
 * @param expected what is wrong with a JSON value that the schema does not take
 */
export function json<Value>(
  name: string,
  schema: z.ZodType<Value>,
  expected: (value: unknown) => string,
): z.ZodType<Value> {
  return z.string().transform((text, context) => {
    let reason: string;
    try {
      const value = readRequestJson(Buffer.from(text));
      const { data, success } = schema.safeParse(value);
      if (success) return data;
      reason = expected(value);
    } catch {
      reason = `unmarshal ${name}: ${jsonProblem(text)}`;
    }
    context.addIssue({ code: 'custom', message: invalid(text, reason) });
    return z.NEVER;
  });
}

const LITERALS: Record<string, string> = { t: 'true', f: 'false', n: 'null' };

/** The error of Go's JSON parser at the beginning of a text. */
function jsonProblem(json: string): string {
  const text = json.trimStart();
  const [first = ''] = text;
  const literal = LITERALS[first];
  if (literal !== undefined) {
    const at = [...literal].findIndex((character, index) => text[index] !== character);
    if (at > 0 && at < text.length)
      return `invalid character '${text[at]}' in literal ${literal} (expecting '${literal[at]}')`;
  }
  if (first !== '' && literal === undefined && !/[[{"\d-]/.test(first))
    return `invalid character '${first}' looking for beginning of value`;
  return 'the text is not valid JSON';
}
