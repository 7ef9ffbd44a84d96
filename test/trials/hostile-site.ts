/**
 * The fixture site in a process of its own, which yields to all others: sites are elsewhere, and what they do takes nothing from the machine
 * that pictures them. Prints its origin; ends with its input.
 */
import { setPriority } from 'node:os';
import { startSite } from '../fixtures/site/site.js';

setPriority(10);
const site = await startSite({ host: '127.0.0.2' });
process.stdout.write(`${site.origin}\n`);
process.stdin.resume().once('end', () => process.exit(0));
