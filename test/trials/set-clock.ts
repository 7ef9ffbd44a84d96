/**
 * Loaded before the server by trial "clocks": at the start and at SIGUSR2 its clock jumps to what the file
 * `TRIAL_CLOCK` says, in ms from the true time.
 */
import { existsSync, readFileSync } from 'node:fs';

const file = process.env.TRIAL_CLOCK ?? '';
const now = Date.now;
let offset = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
Date.now = () => now() + offset;
process.on('SIGUSR2', () => {
  offset = Number(readFileSync(file, 'utf8'));
  process.stderr.write(`the clock is at ${offset}\n`);
});
