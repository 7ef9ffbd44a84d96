import { InvalidArgumentError } from 'commander';
import { CREDITS_PATTERN } from '../contract/pricing.js';

/** Reads an argument that is a number of monthly credits, or `none` for no limit. */
export function credits(value: string): number | 'none' {
  if (value === 'none') return value;
  if (!CREDITS_PATTERN.test(value)) throw new InvalidArgumentError('It must be a whole number of credits, or none.');
  return Number(value);
}
