#!/usr/bin/env node
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { applyMemorySettings } from './cli/apply-memory-settings.js';

applyMemorySettings([process.execPath, ...process.execArgv, ...process.argv.slice(1)]);
// Node 22 and newer keep compiled code here, and not in the temporary directory, where other users could put code for this program.
const { enableCompileCache } = module as { enableCompileCache?(directory: string): unknown };
enableCompileCache?.(join(homedir(), '.cache', 'stillframe', 'compiled'));
// Only now, so that a process that starts again has not loaded the whole program first.
const { runProgram } = await import('./cli/program.js');
await runProgram(process.argv);
