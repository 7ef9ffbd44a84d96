/** Writes dist/docs/openapi.json: a server reads it, since building it would stop all its other work for as long as it takes. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { API } from '../src/http/app.js';
import { builtFile, packageVersion } from '../src/package-files.js';
import { describeInterface } from './openapi.js';

mkdirSync(builtFile('docs/'), { recursive: true });
writeFileSync(
  builtFile('docs/openapi.json'),
  JSON.stringify(describeInterface(API, packageVersion(), 'http://127.0.0.1:3000')),
);
