/** Loaded before the server by trials "troubles" and "clocks": at SIGUSR2 its clock jumps to what the file `TRIAL_CLOCK` says, in ms from the true time. */
import { readFileSync } from 'node:fs';

const now = Date.now;
let offset = 0;
Date.now = () => now() + offset;
process.on('SIGUSR2', () => {
  offset = Number(readFileSync(process.env.TRIAL_CLOCK ?? '', 'utf8'));
  process.stderr.write(`the clock is at ${offset}\n`);
});
