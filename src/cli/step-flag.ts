import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';

/** The member that the argument of an action stands for in the short form. */
const SHORT: Readonly<Record<string, string>> = {
  click: 'selector',
  hover: 'selector',
  check: 'selector',
  scroll_to: 'selector',
  wait_for: 'selector',
  press: 'key',
  evaluate: 'script',
  go_to: 'url',
};

/**
 * Reads one `--step`: `action=argument`, JSON, or a JSON file as `@FILE`, which may hold several.
 * @returns the steps, which the contract checks
 */
export function readStep(value: string, previous: unknown[] = []): unknown[] {
  if (/^\s*[[{]/.test(value) || value.startsWith('@')) return [...previous, ...[jsonOf(value)].flat()];
  const [, action = '', argument = ''] = /^(\w+)=(.*)$/s.exec(value) ?? [];
  const member = SHORT[action];
  if (member === undefined)
    throw new InvalidArgumentError(`It must be ACTION=ARGUMENT with ${Object.keys(SHORT).join(', ')}, or JSON, or a JSON file as @FILE.`);
  const isTime = action === 'wait_for' && /^\d{1,6}$/.test(argument);
  return [...previous, isTime ? { action, ms: Number(argument) } : { action, [member]: argument }];
}

/** The text is not repeated in a message, since it may hold a secret. */
function jsonOf(value: string): unknown {
  try {
    return JSON.parse(value.startsWith('@') ? readFileSync(value.slice(1), 'utf8') : value);
  } catch (error) {
    const cause = error instanceof SyntaxError ? 'It must be valid JSON' : `${value} cannot be read`;
    throw new InvalidArgumentError(`${cause}. Give ACTION=ARGUMENT, JSON, or a JSON file as @FILE.`);
  }
}
