#!/usr/bin/env node
import { setAllocator } from './cli/set-allocator.js';

setAllocator([process.execPath, ...process.execArgv, ...process.argv.slice(1)]);
// Only now, so that a process that starts again has not loaded the whole program first.
const { runProgram } = await import('./cli/program.js');
await runProgram(process.argv);
