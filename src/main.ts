#!/usr/bin/env node
import { applyMemorySettings } from './cli/apply-memory-settings.js';

applyMemorySettings([process.execPath, ...process.execArgv, ...process.argv.slice(1)]);
// Only now, so that a process that starts again has not loaded the whole program first.
const { runProgram } = await import('./cli/program.js');
await runProgram(process.argv);
